#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;

TEST(FromIndexable, TheTypeOfTheResultGivesTheSpec) {
  EXPECT_EQ(
      Dataset::from_indexable(
          3, [](std::int64_t i) { return std::tuple(i, std::string("x")); })
          .element_spec()
          .to_string(),
      "(int64, string)");
  const Dataset untyped = Dataset::from_indexable(
      3, [](std::int64_t i) { return Element(Tensor::scalar(i)); });
  EXPECT_FALSE(untyped.element_spec().known());
  EXPECT_THAT(drain(untyped), ElementsAre("0", "1", "2"));
}

TEST(FromIndexable, CallsOncePerElement) {
  auto calls = std::make_shared<std::vector<std::atomic<int>>>(200);
  const Dataset ds = Dataset::from_indexable(200, [calls](std::int64_t i) {
    ++(*calls)[static_cast<std::size_t>(i)];
    return i;
  });
  for (const auto& n : *calls) EXPECT_EQ(n, 0);  // building calls nothing
  EXPECT_EQ(drain(ds).size(), 200u);
  for (const auto& n : *calls) EXPECT_EQ(n, 1);
  EXPECT_EQ(ds.at(7).to_string(), "7");
  EXPECT_EQ((*calls)[7], 2);
}

TEST(FromIndexable, ErrorsAndExceptionsTakeTheirElementsPlace) {
  const Dataset ds =
      Dataset::from_indexable(5,
                              [](std::int64_t i) -> StatusOr<std::int64_t> {
                                if (i == 1) return absl::NotFoundError("gone");
                                if (i == 3) throw std::runtime_error("bang");
                                return i * 10;
                              },
                              {.name = "files"});
  EXPECT_THAT(drain(ds),
              ElementsAre("0", "!from_indexable#0:files: element 1: gone", "20",
                          "!from_indexable#0:files: element 3: the function "
                          "threw: bang",
                          "40"));
  EXPECT_EQ(error_of([&] { ds.at(1); }),
            "from_indexable#0:files: element 1: gone");
}

TEST(FromIndexable, AnElementThatDoesNotFitIsAnError) {
  const Dataset ds = Dataset::from_indexable(
      3,
      [](std::int64_t i) {
        return i == 1 ? Element(Tensor::scalar(1.0f))
                      : Element(Tensor::scalar(i));
      },
      {.output_signature = Spec::scalar<std::int64_t>()});
  EXPECT_THAT(drain(ds), ElementsAre("0",
                                     "!from_indexable#0: element 1: expected "
                                     "int64, got float32",
                                     "2"));
  EXPECT_THAT(
      drain(Dataset::from_indexable(1, [](std::int64_t) { return Element(); })),
      ElementsAre("!from_indexable#0: element 0: the source gave an "
                  "empty element"));
}

TEST(FromIndexable, BlockingCallsRunSideBySide) {
  const auto start = std::chrono::steady_clock::now();
  const Dataset ds = Dataset::from_indexable(60, [](std::int64_t i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return i;
  });
  EXPECT_EQ(drain(ds).size(), 60u);
  // One after the other they take 1.2 s.
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(900));
}

TEST(FromIndexable, RefusesBadArguments) {
  const auto identity = [](std::int64_t i) { return i; };
  EXPECT_EQ(error_of([&] { Dataset::from_indexable(-5, identity); }),
            "from_indexable: size must be >= 0, or Cardinality::kInfinite, got "
            "-5");
  EXPECT_THAT(drain(Dataset::from_indexable(0, identity)), ElementsAre());
  const Dataset endless =
      Dataset::from_indexable(Cardinality::kInfinite, identity);
  EXPECT_TRUE(endless.cardinality().is_infinite());
  EXPECT_EQ(endless.at(1'000'000'000'000).to_string(), "1000000000000");
}

}  // namespace
}  // namespace penstock::testing
