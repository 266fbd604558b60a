#include "penstock/base/ref.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace penstock {
namespace {

struct Counted : RefCounted<Counted> {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

struct Derived final : RefCounted<Derived> {
  explicit Derived(bool* destroyed) : destroyed(destroyed) {}
  void destroy() {
    *destroyed = true;
    delete this;
  }
  bool* destroyed;
};

TEST(Ref, DestroysWithTheLastReference) {
  int alive = 0;
  {
    Ref<Counted> a = make_ref<Counted>(&alive);
    EXPECT_TRUE(a->unique());
    Ref<Counted> b = a;
    EXPECT_FALSE(a->unique());
    EXPECT_EQ(a, b);
    a.reset();
    EXPECT_FALSE(a);
    EXPECT_EQ(alive, 1);
    EXPECT_TRUE(b->unique());
  }
  EXPECT_EQ(alive, 0);
}

TEST(Ref, AssigningReleasesTheOldObject) {
  int first = 0;
  int second = 0;
  Ref<Counted> a = make_ref<Counted>(&first);
  Ref<Counted> b = make_ref<Counted>(&second);
  a = b;
  EXPECT_EQ(first, 0);
  a = std::move(b);
  EXPECT_EQ(second, 1);
  EXPECT_FALSE(b);
  Ref<Counted>& self = a;
  a = self;
  EXPECT_EQ(second, 1);
  a = nullptr;
  EXPECT_EQ(second, 0);
}

TEST(Ref, AdoptShareAndDetachKeepTheCount) {
  int alive = 0;
  auto* raw = new Counted(&alive);
  Ref<Counted> adopted = Ref<Counted>::adopt(raw);
  EXPECT_TRUE(raw->unique());
  Ref<Counted> shared = Ref<Counted>::share(raw);
  EXPECT_FALSE(raw->unique());
  Counted* detached = shared.detach();
  EXPECT_FALSE(shared);
  adopted.reset();
  EXPECT_EQ(alive, 1);
  detached->release();
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(Ref<Counted>::share(nullptr));
}

TEST(Ref, ConvertsToConstWithoutANewReference) {
  int alive = 0;
  Ref<const Counted> c = make_ref<Counted>(&alive);
  EXPECT_TRUE(c->unique());
  c.reset();
  EXPECT_EQ(alive, 0);
}

TEST(Ref, UsesTheTypesOwnDestroy) {
  bool destroyed = false;
  make_ref<Derived>(&destroyed).reset();
  EXPECT_TRUE(destroyed);
}

TEST(Ref, CountsAcrossThreads) {
  int alive = 0;
  {
    Ref<Counted> shared = make_ref<Counted>(&alive);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([shared] {
        std::vector<Ref<Counted>> copies;
        for (int i = 0; i < 10'000; ++i) {
          copies.push_back(shared);
          if (i % 3 == 0) copies.clear();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_TRUE(shared->unique());
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace penstock
