#include "penstock/memory/literal.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace penstock {
namespace {

Tensor whole(std::int64_t value) { return Tensor::scalar(value); }

TEST(Literal, WholeNumbersBecomeWhatHoldsThem) {
  EXPECT_EQ(*literal_as(whole(255), DType::kUInt8),
            Tensor::scalar<std::uint8_t>(255));
  EXPECT_EQ(*literal_as(whole(-128), DType::kInt8),
            Tensor::scalar<std::int8_t>(-128));
  EXPECT_EQ(*literal_as(whole(-1), DType::kFloat32), Tensor::scalar(-1.0F));
  EXPECT_EQ(*literal_as(whole(2), DType::kFloat16),
            Tensor::scalar(to_float16(2.0F)));
  const auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(*literal_as(Tensor::scalar(most), DType::kUInt64),
            Tensor::scalar(most));
  EXPECT_FALSE(literal_as(Tensor::scalar(most), DType::kInt64));
  EXPECT_FALSE(literal_as(whole(256), DType::kUInt8));
  EXPECT_FALSE(literal_as(whole(-1), DType::kUInt64));
  EXPECT_FALSE(literal_as(whole(1), DType::kBool));
  EXPECT_FALSE(literal_as(whole(1), DType::kString));
}

TEST(Literal, FloatingNumbersStayFloating) {
  EXPECT_EQ(*literal_as(Tensor::scalar(0.1), DType::kFloat32),
            Tensor::scalar(0.1F));
  EXPECT_EQ(*literal_as(Tensor::scalar(0.5F), DType::kFloat64),
            Tensor::scalar(0.5));
  EXPECT_FALSE(literal_as(Tensor::scalar(1.0), DType::kInt64));
}

TEST(Literal, OthersAreWhatTheyAre) {
  EXPECT_EQ(*literal_as(Tensor::string("x"), DType::kString),
            Tensor::string("x"));
  EXPECT_FALSE(literal_as(Tensor::string("1"), DType::kInt64));
  EXPECT_FALSE(literal_as(Tensor::scalar(true), DType::kInt64));
  EXPECT_FALSE(literal_as(Tensor::from({std::int64_t{1}}), DType::kInt32));
  EXPECT_FALSE(literal_as(Tensor(), DType::kInt32));
}

}  // namespace
}  // namespace penstock
