#include "tests/support/example.h"

namespace penstock::testing {
namespace {

class Words final : public RandomAccessSource {
 public:
  std::int64_t size() const override { return 26; }
  StatusOr<Element> read(std::int64_t i) const override {
    if (i == 13) return absl::DataLossError("letter 13 is smudged");
    return Element(Tensor::string(std::string(static_cast<std::size_t>(i % 5),
                                              'a' + static_cast<char>(i))));
  }
  Spec element_spec() const override {
    return Spec::tensor(DType::kString, PartialShape(Shape{}));
  }
};

/// 0, 1, 2, ...; every 4th fails and is passed; saves only at multiples of
/// `stride` (0: never).
class Stream final : public SequentialSource {
 public:
  Stream(std::int64_t stop, std::int64_t stride)
      : stop_(stop), stride_(stride) {}

  StatusOr<std::optional<Element>> next() override {
    if (at_ == stop_) return std::nullopt;
    const std::int64_t n = at_++;
    if (n % 4 == 3) return element_error(absl::DataLossError("bad record"));
    return Element(Tensor::scalar(n));
  }
  std::optional<std::string> save() const override {
    if (stride_ == 0 || at_ % stride_ != 0) return std::nullopt;
    return std::to_string(at_);
  }
  Status restore(std::string_view state) override {
    at_ = std::stoll(std::string(state));
    return absl::OkStatus();
  }

 private:
  std::int64_t stop_;
  std::int64_t stride_;
  std::int64_t at_ = 0;
};

auto streams(std::int64_t stop, std::int64_t stride) {
  return [stop, stride] { return std::make_unique<Stream>(stop, stride); };
}

std::vector<Element> stream_model(std::int64_t stop) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < stop; ++i) {
    if (i % 4 != 3) out.push_back(i);
  }
  return scalars(out);
}

PENSTOCK_EXAMPLES(
    from_source,
    {
        {.name = "by index, with an error",
         .make =
             [] { return Dataset::from_source(std::make_shared<Words>()); }},
        {.name = "by index, behind a window and a filter",
         .make =
             [] {
               return Dataset::from_source(std::make_shared<Words>())
                   .shuffle(5, 2)
                   .filter([](std::string_view s) { return !s.empty(); });
             }},
        {.name = "in order, saved everywhere",
         .make =
             [] {
               return Dataset::from_source(streams(30, 1)).ignore_errors();
             },
         .model = [] { return stream_model(30); }},
        {.name = "in order, saved at some places",
         .make =
             [] {
               return Dataset::from_source(
                          streams(30, 7),
                          {.output_signature = Spec::scalar<std::int64_t>(),
                           .cardinality = Cardinality(30)})
                   .ignore_errors();
             },
         .model = [] { return stream_model(30); }},
        {.name = "in order, with errors, batched",
         .make = [] { return Dataset::from_source(streams(30, 0)).batch(3); }},
    });

}  // namespace
}  // namespace penstock::testing
