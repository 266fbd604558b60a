// A source of one's own, read by index, and a checkpoint in mid-epoch.
//
// The source makes small "recordings" from their number. Because it is indexed,
// the whole pipeline is: the global shuffle needs no memory, the saved state is
// a few dozen bytes, and a restored iterator goes on exactly where the first
// one was.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace ps = penstock;

namespace {

class Recordings final : public ps::RandomAccessSource {
 public:
  explicit Recordings(std::int64_t count) : count_(count) {}

  std::int64_t size() const override { return count_; }
  ps::StatusOr<ps::Element> read(std::int64_t i) const override {
    std::vector<float> wave(kSamples);
    for (std::size_t t = 0; t < wave.size(); ++t) {
      wave[t] = std::sin(static_cast<float>(t) * 0.01f *
                         static_cast<float>(1 + i % 7));
    }
    return ps::Element::dict({{"wave", ps::Tensor::from(wave)},
                              {"label", ps::Tensor::scalar(i % 7)}});
  }
  ps::Spec element_spec() const override {
    return ps::Spec::dict(
        {{"wave",
          ps::Spec::tensor(ps::DType::kFloat32,
                           ps::Shape{static_cast<std::int64_t>(kSamples)})},
         {"label", ps::Spec::scalar<std::int64_t>()}});
  }
  std::string identity() const override {
    return "recordings:" + std::to_string(count_);
  }

 private:
  static constexpr std::size_t kSamples = 400;
  std::int64_t count_;
};

ps::Dataset pipeline() {
  return ps::Dataset::from_source(std::make_shared<const Recordings>(10'000))
      .shuffle(ps::kGlobal, /*seed=*/7)
      .batch(64, {.drop_remainder = true});
}

std::int64_t checksum(const ps::Element& batch) {
  std::int64_t sum = 0;
  for (const std::int64_t label : batch["label"].as<std::int64_t>()) {
    sum = sum * 31 + label;
  }
  return sum;
}

}  // namespace

int main() {
  std::printf("%s\n", pipeline().explain().c_str());

  // Train for 40 batches and save.
  ps::Iterator first = pipeline().iterator();
  for (int i = 0; i < 40; ++i) first.next();
  const std::string checkpoint = first.state_dict();
  std::printf("checkpoint after 40 batches: %zu bytes\n", checkpoint.size());

  // What the first one would have given from here on ...
  std::vector<std::int64_t> expected;
  while (const auto batch = first.next()) expected.push_back(checksum(*batch));

  // ... is what another process gives that starts from the checkpoint.
  ps::Iterator second = pipeline().iterator(checkpoint);
  std::vector<std::int64_t> resumed;
  while (const auto batch = second.next()) resumed.push_back(checksum(*batch));

  std::printf("resumed: %zu batches, %s\n", resumed.size(),
              resumed == expected ? "the same" : "DIFFERENT");
  return resumed == expected && !resumed.empty() ? 0 : 1;
}
