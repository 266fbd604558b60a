#include "penstock/memory/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace penstock {
namespace {

/// The pool is shared by the process: starts from nothing idle and puts the
/// limit back.
class BufferPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { BufferPool::trim(); }
  void TearDown() override {
    BufferPool::set_idle_limit(std::size_t{512} << 20);
    BufferPool::trim();
  }
};

bool aligned(const Ref<Buffer>& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer->data()) %
             Buffer::kAlignment ==
         0;
}

TEST(Buffer, IsAlignedAndPaddedForEverySize) {
  for (const std::size_t size :
       {0, 1, 63, 64, 65, 4031, 4032, 4095, 4096, 4097, 5000, 5120, 5121, 65536,
        100'000, 2'097'151, 2'097'152, 2'097'153, 5'000'000}) {
    const Ref<Buffer> buffer = Buffer::allocate(size);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->size(), size);
    EXPECT_TRUE(aligned(buffer)) << size;
    EXPECT_EQ(buffer->capacity() % Buffer::kAlignment, 0u) << size;
    EXPECT_GE(buffer->capacity(), size);
    if (size >= Buffer::kPooledBytes) {
      // A class wastes at most a quarter (and what padding takes).
      EXPECT_LE(buffer->capacity(), (size + 64) * 5 / 4 + 64) << size;
    }
    EXPECT_TRUE(buffer->writable());
    std::memset(buffer->data(), 0xab, buffer->capacity());
  }
}

TEST(Buffer, AnImpossibleSizeGivesNull) {
  EXPECT_FALSE(Buffer::allocate(std::numeric_limits<std::size_t>::max()));
  EXPECT_FALSE(Buffer::allocate(std::size_t{1} << 60));
  EXPECT_FALSE(Buffer::allocate(std::size_t{1} << 50));
  // More than any machine has that runs this, and addresses enough for it.
  EXPECT_FALSE(Buffer::allocate(std::size_t{1} << 46));
}

TEST(Buffer, ExternalMemoryIsReleasedOnceAndLast) {
  int released = 0;
  const char data[] = "outside";
  Ref<Buffer> a = Buffer::external(data, 7, [&] { ++released; });
  EXPECT_FALSE(a->writable());
  EXPECT_EQ(a->capacity(), 0u);
  EXPECT_EQ(static_cast<const void*>(a->data()), data);
  Ref<Buffer> b = a;
  a.reset();
  EXPECT_EQ(released, 0);
  b.reset();
  EXPECT_EQ(released, 1);
  Buffer::external(data, 7, nullptr).reset();  // nothing to call is fine
}

TEST_F(BufferPoolTest, RecyclesMemoryOfAClass) {
  Ref<Buffer> first = Buffer::allocate(100'000);
  const std::byte* const data = first->data();
  const std::size_t capacity = first->capacity();
  first.reset();
  EXPECT_EQ(BufferPool::idle_bytes(), capacity);
  Ref<Buffer> again = Buffer::allocate(99'000);  // the same class
  EXPECT_EQ(again->data(), data);
  EXPECT_EQ(again->size(), 99'000u);
  EXPECT_EQ(BufferPool::idle_bytes(), 0u);
  Ref<Buffer> other = Buffer::allocate(200'000);
  EXPECT_NE(other->data(), data);
}

TEST_F(BufferPoolTest, SmallBuffersDoNotLieIdle) {
  Buffer::allocate(100).reset();
  EXPECT_EQ(BufferPool::idle_bytes(), 0u);
}

TEST_F(BufferPoolTest, CountsLiveBytes) {
  const std::size_t before = BufferPool::live_bytes();
  Ref<Buffer> small = Buffer::allocate(100);
  Ref<Buffer> large = Buffer::allocate(3'000'000);
  EXPECT_EQ(BufferPool::live_bytes(),
            before + small->capacity() + large->capacity());
  small.reset();
  large.reset();
  EXPECT_EQ(BufferPool::live_bytes(), before);
}

TEST_F(BufferPoolTest, NeverKeepsMoreThanTheIdleLimit) {
  constexpr std::size_t kLimit = 1'000'000;
  BufferPool::set_idle_limit(kLimit);
  std::vector<Ref<Buffer>> buffers;
  for (int i = 0; i < 40; ++i) buffers.push_back(Buffer::allocate(65'536));
  buffers.clear();
  EXPECT_LE(BufferPool::idle_bytes(), kLimit);
  EXPECT_GE(BufferPool::idle_bytes(), kLimit - 65'536);
  Buffer::allocate(4'000'000).reset();  // larger than the limit by itself
  EXPECT_LE(BufferPool::idle_bytes(), kLimit);
}

TEST_F(BufferPoolTest, WhatIsInUseStaysBeforeWhatWasLeftBehind) {
  BufferPool::set_idle_limit(10'000'000);
  {
    std::vector<Ref<Buffer>> left;
    for (int i = 0; i < 80; ++i) left.push_back(Buffer::allocate(100'000));
  }
  ASSERT_GT(BufferPool::idle_bytes(), 8'000'000u);
  // A pipeline with large buffers follows: two at a time, which fit the limit.
  for (int i = 0; i < 20; ++i) {
    const Ref<Buffer> a = Buffer::allocate(3'000'000);
    const Ref<Buffer> b = Buffer::allocate(3'000'000);
  }
  EXPECT_LE(BufferPool::idle_bytes(), 10'000'000u);
  const std::size_t idle = BufferPool::idle_bytes();
  const Ref<Buffer> a = Buffer::allocate(3'000'000);
  const Ref<Buffer> b = Buffer::allocate(3'000'000);
  EXPECT_EQ(BufferPool::idle_bytes(), idle - a->capacity() - b->capacity());
}

TEST_F(BufferPoolTest, ALowerLimitTakesEffectAtOnce) {
  for (int i = 0; i < 3; ++i) {
    const Ref<Buffer> a = Buffer::allocate(1'000'000);
    const Ref<Buffer> b = Buffer::allocate(1'000'000);
  }
  ASSERT_GT(BufferPool::idle_bytes(), 1'000'000u);
  BufferPool::set_idle_limit(100'000);
  EXPECT_LE(BufferPool::idle_bytes(), 100'000u);
}

TEST_F(BufferPoolTest, TrimGivesEverythingBack) {
  Buffer::allocate(10'000).reset();
  Buffer::allocate(10'000'000).reset();
  EXPECT_GT(BufferPool::idle_bytes(), 10'000'000u);
  BufferPool::trim();
  EXPECT_EQ(BufferPool::idle_bytes(), 0u);
}

TEST_F(BufferPoolTest, ThreadsMayFreeWhatOthersAllocated) {
  const std::size_t live = BufferPool::live_bytes();
  std::vector<Ref<Buffer>> made(400);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&made, t] {
      for (std::size_t i = static_cast<std::size_t>(t); i < 400; i += 4) {
        made[i] = Buffer::allocate(4096 * (1 + i % 5));
        std::memset(made[i]->data(), t, made[i]->size());
      }
    });
  }
  for (std::thread& t : threads) t.join();
  threads.clear();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&made, t] {
      for (std::size_t i = static_cast<std::size_t>(t) * 100;
           i < static_cast<std::size_t>(t + 1) * 100; ++i) {
        EXPECT_EQ(made[i]->data()[made[i]->size() - 1],
                  static_cast<std::byte>(i % 4));
        made[i].reset();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(BufferPool::live_bytes(), live);
}

}  // namespace
}  // namespace penstock
