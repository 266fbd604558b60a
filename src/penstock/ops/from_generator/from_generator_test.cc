#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

auto counting(std::int64_t stop) {
  return [stop] {
    return [stop, i = std::int64_t{0}]() mutable {
      return i < stop ? std::optional(i++) : std::nullopt;
    };
  };
}

TEST(FromGenerator, TheTypeOfTheElementsGivesTheSpec) {
  const Dataset ds = Dataset::from_generator(counting(3));
  EXPECT_EQ(ds.element_spec(), Spec::scalar<std::int64_t>());
  EXPECT_TRUE(ds.cardinality().is_unknown());
  EXPECT_THAT(drain(ds), ElementsAre("0", "1", "2"));
  EXPECT_THAT(drain(ds), ElementsAre("0", "1", "2"));  // a new one each time
}

TEST(FromGenerator, TakesUntypedAndMoveOnlyGenerators) {
  using Generator = std::function<StatusOr<std::optional<Element>>()>;
  const Dataset untyped = Dataset::from_generator([]() -> Generator {
    return [i = 0]() mutable -> StatusOr<std::optional<Element>> {
      if (i == 2) return std::nullopt;
      return Element(Tensor::scalar(i++));
    };
  });
  EXPECT_FALSE(untyped.element_spec().known());
  EXPECT_THAT(drain(untyped), ElementsAre("0", "1"));
  const Dataset move_only = Dataset::from_generator([] {
    return [left = std::make_unique<int>(2)]() -> std::optional<std::string> {
      if ((*left)-- == 0) return std::nullopt;
      return "word";
    };
  });
  EXPECT_THAT(drain(move_only), ElementsAre("'word'", "'word'"));
}

TEST(FromGenerator, IsNotTouchedBeforeTheFirstElementIsAskedFor) {
  auto made = std::make_shared<std::atomic<int>>(0);
  const Dataset ds = Dataset::from_generator([made] {
                       ++*made;
                       return counting(5)();
                     }).prefetch(0);
  EXPECT_THAT(ds.explain(), HasSubstr("reads from the start"));
  Iterator it = ds.iterator();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(*made, 0);
  it.next();
  EXPECT_EQ(*made, 1);
  drain(it);
  EXPECT_EQ(*made, 1);
}

TEST(FromGenerator, PrefetchBoundsTheCalls) {
  auto calls = std::make_shared<std::atomic<int>>(0);
  const auto make = [calls] {
    return [calls, i = 0]() mutable {
      ++*calls;
      return std::optional(i++);
    };
  };
  Iterator none = Dataset::from_generator(make).prefetch(0).iterator();
  for (int i = 1; i <= 4; ++i) {
    none.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(*calls, i);
  }
  *calls = 0;
  Iterator three = Dataset::from_generator(make).prefetch(3).iterator();
  three.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(*calls, 4);
}

TEST(FromGenerator, AnElementThatDoesNotFitRaisesOnceAndItGoesOn) {
  const Dataset ds = Dataset::from_generator(
      [] {
        return [i = 0]() mutable -> std::optional<Element> {
          switch (i++) {
            case 0:
              return Tensor::from({1.0f, 2.0f});
            case 1:
              return Tensor::from({1.0f, 2.0f, 3.0f});
            case 2:
              return Tensor::from({1, 2});
            case 3:
              return Element::tuple({Tensor::from({1.0f, 2.0f})});
            case 4:
              return Element();
            case 5:
              return Tensor::from({3.0f, 4.0f});
            default:
              return std::nullopt;
          }
        };
      },
      {.output_signature = Spec::tensor(DType::kFloat32, Shape{2}),
       .name = "pairs"});
  EXPECT_THAT(
      drain(ds),
      ElementsAre("[1, 2]",
                  "!from_generator#0:pairs: element 1: expected float32(2,), "
                  "got float32(3,)",
                  "!from_generator#0:pairs: element 2: expected float32(2,), "
                  "got int32(2,)",
                  "!from_generator#0:pairs: element 3: expected structure "
                  "float32(2,), got (float32(2,),)",
                  "!from_generator#0:pairs: element 4: the source gave an "
                  "empty element",
                  "[3, 4]"));
}

TEST(FromGenerator, AnExceptionIsDeliveredOnceThenTheEnd) {
  const Dataset ds = Dataset::from_generator([] {
    return [i = 0]() mutable {
      if (i == 2) throw std::runtime_error("torn");
      return std::optional(i++);
    };
  });
  const std::string error =
      "!from_generator#0: element 2: the function threw: torn";
  EXPECT_THAT(drain(ds), ElementsAre("0", "1", error));
  Iterator it = ds.iterator();
  it.next();
  it.next();
  try {
    it.next();
    FAIL();
  } catch (const Error& e) {
    EXPECT_THROW(std::rethrow_exception(e.cause()), std::runtime_error);
  }
  EXPECT_EQ(it.next(), std::nullopt);
  EXPECT_EQ(it.next(), std::nullopt);  // the end is sticky
  EXPECT_EQ(ds.iterator(it.state_dict()).next(), std::nullopt);
  // Skipping errors neither loops nor hangs.
  EXPECT_THAT(drain(ds.ignore_errors()), ElementsAre("0", "1"));
}

TEST(FromGenerator, AStatusEndsItUnlessItIsOfOneElement) {
  const auto with = [](Status error) {
    return Dataset::from_generator([error] {
      return [error, i = 0]() mutable -> StatusOr<std::optional<int>> {
        if (i == 4) return std::nullopt;
        if (i++ == 1) return error;
        return i - 1;
      };
    });
  };
  EXPECT_THAT(drain(with(absl::DataLossError("bad"))),
              ElementsAre("0", "!from_generator#0: element 1: bad"));
  EXPECT_THAT(drain(with(element_error(absl::DataLossError("bad")))),
              ElementsAre("0", "!from_generator#0: element 1: bad", "2", "3"));
}

TEST(FromGenerator, AFactoryThatFailsIsOneErrorThenTheEnd) {
  const Dataset throws =
      Dataset::from_generator([]() -> std::function<std::optional<int>()> {
        throw std::runtime_error("no file");
      });
  EXPECT_THAT(drain(throws),
              ElementsAre("!from_generator#0: element 0: the function threw: "
                          "no file"));
  const Dataset fails = Dataset::from_generator(
      []() -> StatusOr<std::function<std::optional<int>()>> {
        return absl::NotFoundError("no file");
      });
  EXPECT_THAT(drain(fails),
              ElementsAre("!from_generator#0: element 0: no file"));
  // Seen once, it is not shown again by a restored iterator.
  Iterator it = fails.iterator();
  EXPECT_FALSE(it.try_next().ok());
  Iterator restored = fails.iterator(it.state_dict());
  EXPECT_THAT(drain(restored), ElementsAre());
}

TEST(FromGenerator, AFactoryThatFailsAfterARestoreIsNotLost) {
  auto broken = std::make_shared<std::atomic<bool>>(false);
  const Dataset ds =
      Dataset::from_generator(
          [broken]() -> StatusOr<std::function<std::optional<int>()>> {
            if (*broken) return absl::NotFoundError("gone");
            return [i = 0]() mutable { return std::optional(i++); };
          })
          .filter([](int x) { return x % 2 == 0; });
  for (const int seen : {0, 1, 2, 5}) {
    *broken = false;
    Iterator it = ds.iterator();
    for (int i = 0; i < seen; ++i) it.next();
    const std::string state = it.state_dict();
    it.close();
    *broken = true;
    Iterator again = ds.iterator(state);
    EXPECT_THAT(drain(again), ElementsAre(HasSubstr("gone"))) << seen;
  }
}

TEST(FromGenerator, IsDestroyedWhenTheIteratorEnds) {
  auto token = std::make_shared<int>(0);
  const Dataset ds =
      Dataset::from_generator([weak = std::weak_ptr<int>(token)] {
        return [held = weak.lock(), i = 0]() mutable {
          return i < 3 ? std::optional(i++) : std::nullopt;
        };
      });
  {
    Iterator it = ds.iterator();
    EXPECT_EQ(drain(it).size(), 3u);
    EXPECT_EQ(token.use_count(), 1);  // though the iterator still lives
  }
  Iterator closed = ds.prefetch(0).iterator();
  closed.next();
  EXPECT_EQ(token.use_count(), 2);
  closed.close();
  EXPECT_EQ(token.use_count(), 1);
}

TEST(FromGenerator, ASlowOneDeliversPromptly) {
  using Clock = std::chrono::steady_clock;
  const Dataset ds = Dataset::from_generator([] {
    return [i = 0]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return i < 40 ? std::optional(i++) : std::nullopt;
    };
  });
  const auto start = Clock::now();
  Iterator it = ds.iterator();
  EXPECT_EQ(it.next()->to_string(), "0");
  EXPECT_EQ(it.next()->to_string(), "1");
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(400));
}

TEST(FromGenerator, CancelDoesNotWaitForTheEnd) {
  const Dataset ds = Dataset::from_generator([] {
    return [i = 0]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return std::optional(i++);
    };
  });
  Iterator it = ds.iterator();
  it.next();
  const auto start = std::chrono::steady_clock::now();
  it.close();
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(200));
}

TEST(FromGenerator, ContinuesFromAnyElement) {
  const Dataset ds = Dataset::from_generator(counting(300)).batch(7);
  const std::vector<std::string> all = drain(ds);
  for (std::size_t seen = 0; seen <= all.size(); seen += 5) {
    Iterator it = ds.iterator();
    for (std::size_t i = 0; i < seen; ++i) it.next();
    Iterator rest = ds.iterator(it.state_dict());
    EXPECT_EQ(drain(rest),
              std::vector<std::string>(
                  all.begin() + static_cast<std::ptrdiff_t>(seen), all.end()));
  }
}

TEST(FromGenerator, ARestoreOfOneThatChangedSaysSo) {
  auto stop = std::make_shared<std::int64_t>(100);
  const Dataset ds =
      Dataset::from_generator([stop] { return counting(*stop)(); });
  for (const int seen : {4, 5, 20, 50, 100}) {
    *stop = 100;
    Iterator it = ds.iterator();
    for (int i = 0; i < seen; ++i) it.next();
    const std::string state = it.state_dict();
    it.close();
    *stop = 3;
    Iterator again = ds.iterator(state);
    EXPECT_THAT(drain(again), ElementsAre(HasSubstr("cannot be restored")))
        << seen;
  }
}

TEST(FromGenerator, KeepsItsDeclaredCardinality) {
  const auto declared = [](Cardinality n) {
    return Dataset::from_generator(counting(5), {.cardinality = n});
  };
  EXPECT_EQ(declared(5).cardinality(), Cardinality(5));
  EXPECT_EQ(drain(declared(5)).size(), 5u);
  EXPECT_THAT(drain(declared(2)), ElementsAre("0", "1"));
  EXPECT_THAT(drain(declared(0)), ElementsAre());
  EXPECT_THAT(drain(declared(7)).back(),
              HasSubstr("element 5: ended after 5 elements, declared were 7"));
  EXPECT_EQ(drain(declared(7)).size(), 6u);
  EXPECT_THAT(drain(declared(Cardinality::infinite())).back(),
              HasSubstr("declared were infinite"));
  EXPECT_EQ(error_of([&] { declared(-7); }),
            "from_generator: cardinality must be >= 0, infinite or unknown, "
            "got -7");
}

TEST(FromGenerator, SeveralIteratorsReadOnTheirOwn) {
  const Dataset ds = Dataset::from_generator(counting(1000));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::int64_t expected = 0;
      for (const Element& e : ds) {
        if (e[0].value<std::int64_t>() != expected++) ++wrong;
      }
      if (expected != 1000) ++wrong;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace penstock::testing
