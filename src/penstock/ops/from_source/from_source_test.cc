#include <atomic>

#include "penstock/base/codec.h"
#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Counts {
  std::atomic<int> opened{0};
  std::atomic<int> reads{0};
  std::atomic<int> restored{0};
};

/// 0 .. stop - 1. Saves at multiples of `stride`; 0: never.
class Numbers final : public SequentialSource {
 public:
  Numbers(std::int64_t stop, std::int64_t stride,
          std::shared_ptr<Counts> counts)
      : stop_(stop), stride_(stride), counts_(std::move(counts)) {
    ++counts_->opened;
  }
  StatusOr<std::optional<Element>> next() override {
    if (at_ == stop_) return std::nullopt;
    ++counts_->reads;
    return Element(Tensor::scalar(at_++));
  }
  std::optional<std::string> save() const override {
    if (stride_ == 0 || at_ % stride_ != 0) return std::nullopt;
    Encoder out;
    out.i64(at_);
    return std::move(out).take();
  }
  Status restore(std::string_view state) override {
    ++counts_->restored;
    Decoder in(state);
    at_ = in.i64();
    return in.status("numbers");
  }

 private:
  std::int64_t stop_;
  std::int64_t stride_;
  std::int64_t at_ = 0;
  std::shared_ptr<Counts> counts_;
};

Dataset numbers(std::int64_t stop, std::int64_t stride,
                const std::shared_ptr<Counts>& counts) {
  return Dataset::from_source(
      [=] { return std::make_unique<Numbers>(stop, stride, counts); },
      {.output_signature = Spec::scalar<std::int64_t>()});
}

std::string state_after(const Dataset& ds, int elements) {
  Iterator it = ds.iterator();
  for (int i = 0; i < elements; ++i) it.next();
  return it.state_dict();
}

TEST(SequentialSource, IsReadInOrderAndOpenedOncePerIteration) {
  auto counts = std::make_shared<Counts>();
  const Dataset ds = numbers(1000, 1, counts);
  EXPECT_EQ(counts->opened, 0);
  EXPECT_EQ(drain(ds).size(), 1000u);
  EXPECT_EQ(drain(ds).back(), "999");
  EXPECT_EQ(counts->opened, 2);
  EXPECT_EQ(counts->reads, 2000);
  EXPECT_FALSE(ds.node()->indexed);
}

TEST(SequentialSource, ASavedCursorIsNotReadAgain) {
  auto counts = std::make_shared<Counts>();
  const Dataset ds = numbers(1'000'000, 1, counts);
  const Dataset one_by_one = ds.prefetch(0);
  const std::string state = state_after(one_by_one, 500);
  counts->reads = 0;
  Iterator it = one_by_one.iterator(state);
  EXPECT_EQ(it.next()->to_string(), "500");
  EXPECT_EQ(counts->restored, 1);
  EXPECT_LE(counts->reads, 2);
}

TEST(SequentialSource, RestoresFromTheLastPlaceThatCouldBeSaved) {
  auto counts = std::make_shared<Counts>();
  const Dataset ds = numbers(1000, 100, counts).prefetch(0);
  for (const int seen : {0, 1, 99, 100, 101, 250, 999, 1000}) {
    const std::string state = state_after(ds, seen);
    counts->reads = 0;
    Iterator it = ds.iterator(state);
    const std::optional<Element> next = it.next();
    ASSERT_EQ(next.has_value(), seen < 1000) << seen;
    if (next) {
      EXPECT_EQ(next->to_string(), std::to_string(seen));
    }
    EXPECT_LE(counts->reads, 102) << seen;
  }
}

TEST(SequentialSource, WithoutSaveItReadsForward) {
  auto counts = std::make_shared<Counts>();
  const Dataset ds = numbers(1000, 0, counts);
  const std::string state = state_after(ds, 321);
  Iterator it = ds.iterator(state);
  EXPECT_EQ(it.next()->to_string(), "321");
  EXPECT_EQ(counts->restored, 0);
  // A state taken right after a restore is as good.
  Iterator again = ds.iterator(ds.iterator(state).state_dict());
  EXPECT_EQ(again.next()->to_string(), "321");
}

TEST(SequentialSource, AFailingRestoreIsOneErrorThenTheEnd) {
  class Forgetful final : public SequentialSource {
   public:
    StatusOr<std::optional<Element>> next() override {
      return Element(Tensor::scalar(1));
    }
    std::optional<std::string> save() const override { return "here"; }
  };
  const Dataset ds = Dataset::from_source([] {
                       return std::make_unique<Forgetful>();
                     }).prefetch(0);
  Iterator it = ds.iterator(state_after(ds, 3));
  EXPECT_THAT(drain(it), ElementsAre(HasSubstr("has save() but no restore()")));
}

TEST(SequentialSource, ASaveThatThrowsCountsAsNone) {
  class Shy final : public SequentialSource {
   public:
    StatusOr<std::optional<Element>> next() override {
      if (at == 5) return std::nullopt;
      return Element(Tensor::scalar(at++));
    }
    std::optional<std::string> save() const override {
      throw std::runtime_error("not now");
    }
    int at = 0;
  };
  const Dataset ds =
      Dataset::from_source([] { return std::make_unique<Shy>(); });
  Iterator it = ds.iterator(state_after(ds, 3));
  EXPECT_THAT(drain(it), ElementsAre("3", "4"));
}

TEST(SequentialSource, ADamagedStateIsRefused) {
  auto counts = std::make_shared<Counts>();
  const Dataset ds = numbers(100, 1, counts);
  std::string state = state_after(ds, 10);
  for (const std::size_t cut : {state.size() - 1, state.size() / 2}) {
    EXPECT_NE(error_of([&] { ds.iterator(state.substr(0, cut)); }), "");
  }
}

TEST(SequentialSource, RefusesNull) {
  EXPECT_EQ(error_of([] { Dataset::from_source(SequentialFactory()); }),
            "from_source: fn must be callable, got none");
  EXPECT_EQ(error_of([] {
              Dataset::from_source(std::shared_ptr<const RandomAccessSource>());
            }),
            "from_source: source must not be null, got null");
  const Dataset gives_null =
      Dataset::from_source([] { return std::unique_ptr<SequentialSource>(); });
  EXPECT_THAT(drain(gives_null),
              ElementsAre("!from_source#0: element 0: the function gave a null "
                          "source"));
}

class Squares : public RandomAccessSource {
 public:
  explicit Squares(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  StatusOr<Element> read(std::int64_t i) const override {
    return Element(Tensor::scalar(i * i));
  }
  std::string identity() const override { return std::to_string(size_); }

 private:
  std::int64_t size_;
};

// A batch or a window of it would have read memory that is not there.
TEST(Sources, AnElementWithAnUndefinedTensorIsAnError) {
  const auto broken = [](std::int64_t i) -> Element {
    if (i != 1) return Tensor::scalar(i);
    return Element(Structure::leaf(), {Tensor()});
  };
  const Dataset by_index = Dataset::from_indexable(3, broken);
  const Dataset in_order = Dataset::from_generator([&] {
    return [&, i = std::int64_t{0}]() mutable -> std::optional<Element> {
      if (i == 3) return std::nullopt;
      return broken(i++);
    };
  });
  for (const Dataset& ds : {by_index, in_order}) {
    EXPECT_THAT(drain(ds),
                ElementsAre("0", HasSubstr("undefined tensor"), "2"));
    EXPECT_THAT(drain(ds.batch(3)), ElementsAre(HasSubstr("undefined tensor")));
  }
  const Dataset short_one = Dataset::from_indexable(1, [](std::int64_t) {
    return Element(Structure::leaves(2), {Tensor::scalar(1)});
  });
  EXPECT_THAT(drain(short_one), ElementsAre(HasSubstr("gave 1 tensors for")));
}

// Data that is missing must show, also where rows are passed over.
TEST(SequentialSource, AnErrorThatEndsItIsNotPassedOver) {
  const Dataset fails = Dataset::from_generator([] {
    return [i = std::int64_t{
                0}]() mutable -> StatusOr<std::optional<std::int64_t>> {
      if (i == 3) return absl::DataLossError("torn");
      return i++;
    };
  });
  EXPECT_THAT(drain(fails.skip(2)), ElementsAre("2", HasSubstr("torn")));
  EXPECT_THAT(drain(fails.skip(3)), ElementsAre(HasSubstr("torn")));
  EXPECT_THAT(drain(fails.skip(10)), ElementsAre(HasSubstr("torn")));
  EXPECT_THAT(drain(fails.shard(2, 0)),
              ElementsAre("0", "2", HasSubstr("torn")));
  EXPECT_THAT(drain(fails.shard(2, 1)), ElementsAre("1", HasSubstr("torn")));
  EXPECT_THAT(drain(fails.window(1, {.shift = 5})),
              ElementsAre(HasSubstr("dataset"), HasSubstr("torn")));
  EXPECT_THAT(drain(fails.take(2)), ElementsAre("0", "1"));
}

TEST(RandomAccessSource, IsIndexed) {
  const Dataset ds = Dataset::from_source(std::make_shared<Squares>(100));
  EXPECT_EQ(ds.cardinality(), Cardinality(100));
  EXPECT_EQ(ds.at(12).to_string(), "144");
  EXPECT_EQ(drain(ds).back(), "9801");
  EXPECT_EQ(drain(ds.shuffle(ShuffleOptions{.buffer_size = kGlobal, .seed = 1}))
                .size(),
            100u);
  Iterator it = ds.iterator(state_after(ds, 98));
  EXPECT_THAT(drain(it), ElementsAre("9604", "9801"));
  EXPECT_EQ(
      error_of([] { Dataset::from_source(std::make_shared<Squares>(-3)); }),
      "from_source: size must be >= 0, or Cardinality::kInfinite, got "
      "-3");
}

TEST(RandomAccessSource, OutlivesItsMakerAndDiesWithTheLastUser) {
  auto source = std::make_shared<Squares>(10);
  const std::weak_ptr<Squares> watch = source;
  auto ds = std::make_unique<Dataset>(Dataset::from_source(std::move(source)));
  Iterator it = ds->iterator();
  ds.reset();
  EXPECT_EQ(drain(it).size(), 10u);
  EXPECT_FALSE(watch.expired());
  it.close();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace penstock::testing
