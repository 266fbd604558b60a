#include "penstock/ops/content.h"

#include <algorithm>

#include "penstock/memory/spec.h"

namespace penstock::ops {
namespace {

constexpr std::size_t kSamples = 64;
constexpr std::size_t kSampleBytes = 64;

}  // namespace

void add_content(Fingerprint& fp, const Element& element, std::size_t& budget) {
  fp.add(Spec::of(element).to_string());
  const auto add = [&](const char* data, std::size_t size) {
    const std::size_t n = std::min(size, budget);
    budget -= n;
    fp.add(static_cast<std::uint64_t>(size));
    fp.add(static_cast<std::uint64_t>(crc32c({data, n})));
    if (n == size || size < kSampleBytes) return;
    // Of what is left, samples up to the end.
    for (std::size_t i = 1; i <= kSamples; ++i) {
      const std::size_t at = (size - kSampleBytes) / kSamples * i;
      const std::size_t from = i == kSamples ? size - kSampleBytes : at;
      fp.add(static_cast<std::uint64_t>(crc32c({data + from, kSampleBytes})));
    }
  };
  for (const Tensor& t : element.leaves()) {
    if (t.dtype() == DType::kString) {
      const std::int64_t n = t.num_elements();
      for (std::int64_t i = 0; i < n && budget > 0; ++i) {
        const std::string_view s = t.str(i);
        add(s.data(), s.size());
        budget -= std::min<std::size_t>(budget, 8);
      }
    } else if (t.dtype() != DType::kObject) {
      add(reinterpret_cast<const char*>(t.data()),
          static_cast<std::size_t>(t.byte_size()));
    }
  }
}

}  // namespace penstock::ops
