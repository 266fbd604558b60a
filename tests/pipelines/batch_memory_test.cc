// Batches are written once: a map's large results are made in their batch.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>

#include "penstock/penstock.h"

namespace penstock::testing {
namespace {

const Shape kImage{64, 64, 4};  // 64 KiB of floats
constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kBatches = 6;

/// Where each call wrote its picture.
class Places {
 public:
  Tensor write(std::int64_t x) {
    Tensor t = Tensor::allocate<float>(kImage).value();
    for (float& v : t.mutable_as<float>()) v = static_cast<float>(x);
    const std::lock_guard lock(mutex_);
    at_[x] = t.data();
    return t;
  }
  /// How many of the batch's rows lie where they were written.
  std::int64_t in_place(const Tensor& batch, std::int64_t first) const {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < batch.shape()[0]; ++i) {
      n += batch.row(i).data() == at_.at(first + i) ? 1 : 0;
    }
    return n;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, const std::byte*> at_;
};

void expect_values(const Tensor& batch, std::int64_t first) {
  for (std::int64_t i = 0; i < batch.shape()[0]; ++i) {
    const Tensor row = batch.row(i);
    for (const float v : row.as<float>()) {
      ASSERT_EQ(v, static_cast<float>(first + i));
    }
  }
}

TEST(BatchMemory, ADeclaredShapeIsWrittenInPlaceFromTheFirstBatchOn) {
  auto places = std::make_shared<Places>();
  const Dataset ds =
      Dataset::range(kBatch * kBatches)
          .map([places](std::int64_t x) { return places->write(x); },
               {.output_signature = Spec::tensor(DType::kFloat32, kImage)})
          .batch(kBatch);
  std::int64_t first = 0;
  for (const Element& batch : ds) {
    EXPECT_EQ(places->in_place(batch[0], first), kBatch);
    expect_values(batch[0], first);
    first += kBatch;
  }
  EXPECT_EQ(first, kBatch * kBatches);
}

TEST(BatchMemory, PicturesBesideLabelsAreWrittenInPlace) {
  auto places = std::make_shared<Places>();
  const Dataset ds = Dataset::range(kBatch * kBatches)
                         .map([places](std::int64_t x) {
                           return std::tuple(x, places->write(x));
                         })
                         .batch(kBatch);
  std::int64_t first = 0;
  std::int64_t in_place = 0;
  for (const Element& batch : ds) {
    in_place += places->in_place(batch[1], first);
    expect_values(batch[1], first);
    for (std::int64_t i = 0; i < kBatch; ++i) {
      EXPECT_EQ(batch[0].as<std::int64_t>()[static_cast<std::size_t>(i)],
                first + i);
    }
    first += kBatch;
  }
  // The shape is known when the first calls are back; they may be two batches.
  EXPECT_GE(in_place, kBatch * (kBatches - 2));
}

TEST(BatchMemory, ABatchThatCannotBeAllocatedAtOnceIsMadeOfWhatComes) {
  // Its bytes are beyond 64 bits.
  const Dataset ds =
      Dataset::range(20)
          .map([](std::int64_t x) { return Places().write(x); },
               {.output_signature = Spec::tensor(DType::kFloat32, kImage)})
          .batch(std::int64_t{1} << 50);
  Iterator it = ds.iterator();
  const auto batch = it.next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ((*batch)[0].shape()[0], 20);
  expect_values((*batch)[0], 0);
  EXPECT_FALSE(it.next().has_value());
}

TEST(BatchMemory, ADifferentShapeAmongThemIsAnErrorAndTheRestIsRight) {
  const Dataset ds =
      Dataset::range(kBatch * kBatches)
          .map([](std::int64_t x) {
            const Shape shape = x == 20 ? Shape{64, 64, 3} : kImage;
            Tensor t = Tensor::allocate<float>(shape).value();
            for (float& v : t.mutable_as<float>()) v = static_cast<float>(x);
            return std::tuple(t, x);
          })
          .batch(kBatch);
  Iterator it = ds.iterator();
  std::int64_t errors = 0;
  for (std::int64_t first = 0; first < kBatch * kBatches; first += kBatch) {
    const auto batch = it.try_next();
    if (!batch.ok()) {
      ++errors;
      EXPECT_EQ(first, 16);
      continue;
    }
    ASSERT_TRUE(batch->has_value());
    expect_values((**batch)[0], first);
  }
  EXPECT_EQ(errors, 1);
}

}  // namespace
}  // namespace penstock::testing
