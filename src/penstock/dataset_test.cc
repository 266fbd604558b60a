// The facade: overloads, and what it refuses.
#include "penstock/dataset.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include "penstock/penstock.h"

namespace penstock {
namespace {

template <class F>
std::optional<StatusCode> thrown_code(F call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(DatasetFacade, CacheTakesOptionsInBracesAndPaths) {
  const Dataset ds = Dataset::range(2);
  EXPECT_NE(ds.cache({.path = "x"}).explain().find("x"), std::string::npos);
  EXPECT_NE(ds.cache({.name = "kept"}).explain().find("kept"),
            std::string::npos);
  EXPECT_EQ(ds.cache("x").fingerprint(), ds.cache({.path = "x"}).fingerprint());
  EXPECT_EQ(ds.cache(std::string_view("x")).fingerprint(),
            ds.cache(std::string("x")).fingerprint());
}

TEST(DatasetFacade, AnIteratorThatWasMovedFromRefuses) {
  Iterator from = Dataset::range(2).iterator();
  Iterator to = std::move(from);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_EQ(thrown_code([&] { from.next(); }), StatusCode::kFailedPrecondition);
  EXPECT_EQ(thrown_code([&] { from.state_dict(); }),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(from.try_next().status().code(), StatusCode::kFailedPrecondition);
  from.cancel();
  from.close();
  EXPECT_TRUE(from.close(std::chrono::seconds(1)));
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(to.next().has_value());
}

TEST(DatasetFacade, CloseTakesTheLongestTimeout) {
  Iterator it = Dataset::range(1000)
                    .map([](std::int64_t x) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(5));
                      return x;
                    })
                    .iterator();
  it.next();
  EXPECT_TRUE(it.close(std::chrono::nanoseconds::max()));
}

TEST(DatasetFacade, AnIndexableHasTheCardinalityOfItsSize) {
  const auto fn = [](std::int64_t i) { return i; };
  EXPECT_EQ(Dataset::from_indexable(3, fn, {.cardinality = 3}).cardinality(),
            Cardinality(3));
  EXPECT_EQ(
      thrown_code([&] { Dataset::from_indexable(3, fn, {.cardinality = 2}); }),
      StatusCode::kInvalidArgument);
}

TEST(DatasetFacade, SaveNamesItselfOnce) {
  try {
    Dataset::range(1).save("");
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "save: path must not be empty, got ''");
  }
}

}  // namespace
}  // namespace penstock
