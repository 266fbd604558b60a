#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

using Int = std::int64_t;

std::pair<Int, Int> sum(Int state, Int x) { return {state + x, state + x}; }
const auto kSum = [](Int state, Int x) { return sum(state, x); };

TEST(Scan, HandsTheStateOn) {
  EXPECT_THAT(show(Dataset::range(5).scan(0, kSum)),
              ElementsAre("0", "1", "3", "6", "10"));
  EXPECT_THAT(show(testing::stream(3).scan(100, kSum)),
              ElementsAre("100", "101", "103"));
  EXPECT_THAT(show(Dataset::range(0).scan(0, kSum)), IsEmpty());
}

TEST(Scan, TypesGiveTheSpec) {
  const Dataset ds = Dataset::range(3).scan(
      0, [](Int s, Int x) { return std::make_pair(s, static_cast<float>(x)); });
  EXPECT_EQ(ds.element_spec(), Spec::scalar<float>());
  EXPECT_EQ(ds.cardinality().value(), 3);
}

TEST(Scan, TakesElementsWhole) {
  const Dataset ds = Dataset::range(4).scan(
      Element(Tensor::string("")),
      [](const Element& state,
         const Element& x) -> StatusOr<std::pair<Element, Element>> {
        const std::string next = std::string(state[0].str()) + x[0].to_string();
        return std::make_pair(Element(Tensor::string(next)), x);
      });
  EXPECT_FALSE(ds.element_spec().known());
  EXPECT_THAT(show(ds), ElementsAre("0", "1", "2", "3"));
}

TEST(Scan, TheStateMayChangeItsShapeButNotItsType) {
  const Dataset grows = Dataset::range(3).scan(
      Tensor::from<Int>(std::vector<Int>{}),
      [](const Element& s, const Element& x) {
        std::vector<Int> v(s[0].as<Int>().begin(), s[0].as<Int>().end());
        v.push_back(x[0].value<Int>());
        return std::make_pair(Element(Tensor::from(v)),
                              Element(Tensor::from(v)));
      });
  EXPECT_THAT(show(grows), ElementsAre("[0]", "[0, 1]", "[0, 1, 2]"));
  const Dataset turns = Dataset::range(2).scan(
      Element(Tensor::scalar<Int>(0)), [](const Element&, const Element& x) {
        return std::make_pair(Element(Tensor::scalar(1.0f)), x);
      });
  EXPECT_THAT(show(turns)[0],
              HasSubstr("the state was int64 at first, the function returned "
                        "float32"));
}

TEST(Scan, AnErrorLeavesTheStateAsItWas) {
  const auto at = [](Int bad) {
    return [bad](Int s, Int x) -> StatusOr<std::pair<Int, Int>> {
      if (x == bad) return absl::DataLossError("no");
      return sum(s, x);
    };
  };
  EXPECT_THAT(show(Dataset::range(4).scan(0, at(2))),
              ElementsAre("0", "1", "<scan#1: element 2: no>", "4"));
  EXPECT_THAT(show(testing::with_error(4, 2).scan(0, kSum)),
              ElementsAre("0", "1", "<map#1: element 2: bad element>", "4"));
  const Dataset throws = Dataset::range(3).scan(0, [](Int s, Int x) {
    if (x == 1) throw std::runtime_error("boom");
    return sum(s, x);
  });
  EXPECT_THAT(show(throws), ElementsAre("0", HasSubstr("boom"), "2"));
}

TEST(Scan, CallsOneAfterTheOther) {
  auto running = std::make_shared<std::atomic<int>>(0);
  auto most = std::make_shared<std::atomic<int>>(0);
  const Dataset ds = Dataset::range(200).scan(0, [=](Int s, Int x) {
    most->store(std::max(most->load(), ++*running));
    std::this_thread::yield();
    --*running;
    return sum(s, x);
  });
  EXPECT_EQ(ds.to_list().size(), 200u);
  EXPECT_EQ(most->load(), 1);
}

TEST(Scan, RefusesBadArguments) {
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::range(3).batch(2).scan(0, kSum);
                          }).message()),
              HasSubstr("scan: argument 1 of the function takes int64"));
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::range(3).enumerate().scan(0, kSum);
                          }).message()),
              HasSubstr("takes 1 arguments besides the state"));
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::range(3).scan(Tensor::string("x"),
                                                          kSum);
                          }).message()),
              HasSubstr("scan: argument 0 of the function takes int64"));
  EXPECT_THAT(std::string(build_status([] {
                            return Dataset::range(3).scan(Element(), kSum);
                          }).message()),
              HasSubstr("scan: initial_state must be a value"));
}

TEST(Scan, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(200).scan(7, kSum); }, 200);
  testing::expect_resumes_everywhere([] {
    return testing::stream(30)
        .scan(Tensor::string(""),
              [](std::string_view s, Int x) {
                const std::string next = std::string(s) + std::to_string(x);
                return std::make_pair(next, next);
              })
        .repeat(2);
  });
}

TEST(Scan, SaysThatItsStateHoldsAValue) {
  EXPECT_THAT(Dataset::range(3).scan(0, kSum).explain(),
              HasSubstr("its state holds the value"));
}

TEST(Reduce, FoldsEverythingIntoOne) {
  const auto add = [](Int s, Int x) { return s + x; };
  EXPECT_EQ(Dataset::range(101).reduce(0, add).to_string(), "5050");
  EXPECT_EQ(Dataset::range(0).reduce(7, add).to_string(), "7");
  const Element both = Dataset::range(4).enumerate(1).reduce(
      Element::tuple(
          {Element(Tensor::scalar<Int>(0)), Element(Tensor::scalar<Int>(0))}),
      [](const Element& s, const Element& x) {
        return Element::tuple(
            {Element(Tensor::scalar(s[0].value<Int>() + x[0].value<Int>())),
             Element(Tensor::scalar(s[1].value<Int>() + x[1].value<Int>()))});
      });
  EXPECT_EQ(both.to_string(), "(10, 6)");
}

Status reduce_status(const std::function<void()>& reduce) {
  try {
    reduce();
    return absl::OkStatus();
  } catch (const Error& e) {
    return e.status();
  }
}

TEST(Reduce, ThrowsForAnyError) {
  const auto add = [](Int s, Int x) { return s + x; };
  EXPECT_EQ(reduce_status([&] {
              testing::with_error(4, 2).reduce(0, add);
            }).message(),
            "map#1: element 2: bad element");
  EXPECT_EQ(reduce_status([] {
              Dataset::range(4).reduce(0, [](Int s, Int x) -> StatusOr<Int> {
                if (x == 2) return absl::DataLossError("no");
                return s;
              });
            }).message(),
            "reduce: element 2: no");
  EXPECT_THROW(Dataset::range(4).reduce(0,
                                        [](Int s, Int) -> Int {
                                          throw std::range_error("mine");
                                          return s;
                                        }),
               std::range_error);
  EXPECT_THAT(std::string(reduce_status([&] {
                            Dataset::range(4).batch(2).reduce(0, add);
                          }).message()),
              HasSubstr("reduce: argument 1 of the function takes int64"));
  EXPECT_THAT(std::string(reduce_status([] {
                            Dataset::range(4).reduce(
                                Element(Tensor::scalar<Int>(0)),
                                [](const Element&, const Element&) {
                                  return Element(Tensor::scalar(1.0));
                                });
                          }).message()),
              HasSubstr("the state was int64 at first"));
}

}  // namespace
}  // namespace penstock
