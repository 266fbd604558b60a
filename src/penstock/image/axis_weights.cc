#include "penstock/image/axis_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::image {
namespace {

// A range of inputs and their weights, before all get one length. The weights
// of all ranges lie in one array, so that making them allocates little.
struct Span {
  std::int64_t first = 0;
  std::size_t begin = 0;
  std::size_t count = 0;
};
using Weights = std::vector<float>;

float lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359F;
  if (x > radius) return 0;
  if (x <= 1e-3F) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) /
         (kPi * kPi * x * x);
}

struct Kernel {
  ResizeMethod method;

  float radius() const {
    switch (method) {
      case ResizeMethod::kLanczos3:
        return 3;
      case ResizeMethod::kLanczos5:
        return 5;
      case ResizeMethod::kGaussian:
        return 1.5F;
      case ResizeMethod::kBicubic:
      case ResizeMethod::kMitchellCubic:
        return 2;
      default:
        return 1;
    }
  }
  float at(float x) const {
    switch (method) {
      case ResizeMethod::kLanczos3:
        return lanczos(x, 3);
      case ResizeMethod::kLanczos5:
        return lanczos(x, 5);
      case ResizeMethod::kGaussian:
        // Three standard deviations reach the radius.
        return x >= 1.5F ? 0 : std::exp(-x * x / (2 * 0.5F * 0.5F));
      case ResizeMethod::kBicubic:
        if (x >= 2) return 0;
        if (x >= 1) return ((-0.5F * x + 2.5F) * x - 4) * x + 2;
        return (1.5F * x - 2.5F) * x * x + 1;
      case ResizeMethod::kMitchellCubic:
        if (x >= 2) return 0;
        if (x >= 1) {
          return ((-7.0F / 18 * x + 2) * x - 10.0F / 3) * x + 16.0F / 9;
        }
        return (7.0F / 6 * x - 2) * x * x + 8.0F / 9;
      default:
        return std::max(0.0F, 1 - x);
    }
  }
};

void make_sum_one(Weights& weights, std::size_t begin) {
  float sum = 0;
  for (std::size_t k = begin; k < weights.size(); ++k) sum += weights[k];
  if (std::abs(sum) < 1000 * std::numeric_limits<float>::min()) return;
  const float inverse = 1 / sum;
  for (std::size_t k = begin; k < weights.size(); ++k) weights[k] *= inverse;
}

// Each of these adds the weights of output `i` and gives the first input.
std::int64_t sampled(const Kernel& kernel, std::int64_t inputs, float at,
                     float widened, Weights& weights) {
  const float reach = kernel.radius() * widened;
  const std::size_t begin = weights.size();
  if (at < 0 || at > static_cast<float>(inputs)) return 0;
  const auto first = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(at - reach - 0.5F)), 0, inputs - 1);
  const std::int64_t last = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::floor(at + reach - 0.5F)), 0, inputs - 1);
  for (std::int64_t k = first; k <= last; ++k) {
    const float distance = static_cast<float>(k) + 0.5F - at;
    weights.push_back(kernel.at(std::abs(distance / widened)));
  }
  make_sum_one(weights, begin);
  return first;
}

float half_pixel(std::int64_t i, float scale) {
  return (static_cast<float>(i) + 0.5F) * scale - 0.5F;
}

std::int64_t bilinear(std::int64_t inputs, float at, Weights& weights) {
  const float floor = std::floor(at);
  const auto lower = static_cast<std::int64_t>(floor);
  if (lower < 0 || lower >= inputs - 1) {
    weights.push_back(1);
    return lower < 0 ? 0 : inputs - 1;
  }
  const float fraction = at - floor;
  weights.push_back(1 - fraction);
  weights.push_back(fraction);
  return lower;
}

// TensorFlow looks the kernel up at 1024 steps per pixel; so must we, to give
// its numbers.
std::int64_t bicubic(std::int64_t inputs, float scale, std::int64_t i,
                     Weights& weights) {
  constexpr float kSteps = 1024;
  const Kernel kernel{ResizeMethod::kBicubic};
  const float at = half_pixel(i, scale);
  const auto middle = static_cast<std::int64_t>(std::floor(at));
  const float step = std::nearbyint((at - static_cast<float>(middle)) * kSteps);
  const std::size_t begin = weights.size();
  const auto first = std::clamp<std::int64_t>(middle - 1, 0, inputs - 1);
  const std::int64_t last = std::clamp<std::int64_t>(middle + 2, 0, inputs - 1);
  for (std::int64_t k = first; k <= last; ++k) {
    const float distance =
        std::abs(static_cast<float>(k - middle) - step / kSteps);
    weights.push_back(kernel.at(distance));
  }
  make_sum_one(weights, begin);
  return first;
}

std::int64_t area(std::int64_t inputs, float scale, std::int64_t i,
                  Weights& weights) {
  const float begin = static_cast<float>(i) * scale;
  const float end = static_cast<float>(i + 1) * scale;
  const std::int64_t first =
      std::min(static_cast<std::int64_t>(begin), inputs - 1);
  const auto last = static_cast<std::int64_t>(std::ceil(end));
  for (std::int64_t k = first; k < last; ++k) {
    const auto left = static_cast<float>(k);
    const float right = std::min(left + 1, end);
    const float share = (right - std::max(left, begin)) / scale;
    if (k < inputs) {
      weights.push_back(share);
    } else {
      weights.back() += share;  // the edge pixel stands in
    }
  }
  return first;
}

// Collects the ranges that `add(i, weights)` gives and makes them equally long.
template <class Add>
AxisWeights collect(std::int64_t inputs, std::int64_t outputs, Add add) {
  std::vector<Span> spans;
  Weights weights;
  spans.reserve(static_cast<std::size_t>(outputs));
  weights.reserve(static_cast<std::size_t>(outputs) * 2);
  std::size_t taps = 1;
  for (std::int64_t i = 0; i < outputs; ++i) {
    Span span;
    span.begin = weights.size();
    span.first = add(i, weights);
    span.count = weights.size() - span.begin;
    taps = std::max(taps, span.count);
    spans.push_back(span);
  }
  AxisWeights axis;
  axis.inputs = inputs;
  axis.outputs = outputs;
  axis.taps = static_cast<std::int64_t>(taps);
  axis.first.reserve(spans.size());
  axis.weights.assign(spans.size() * taps, 0);
  float* out = axis.weights.data();
  for (const Span& span : spans) {
    // A short range near the end starts earlier, with zeros in front.
    const std::int64_t first = std::min(span.first, inputs - axis.taps);
    axis.first.push_back(static_cast<std::int32_t>(first));
    std::copy_n(weights.data() + span.begin, span.count,
                out + (span.first - first));
    out += taps;
  }
  return axis;
}

}  // namespace

AxisWeights axis_weights(std::int64_t inputs, std::int64_t outputs,
                         ResizeMethod method, bool antialias) {
  const float scale = static_cast<float>(inputs) / static_cast<float>(outputs);
  if (method == ResizeMethod::kArea) {
    return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
      return area(inputs, scale, i, w);
    });
  }
  if (method == ResizeMethod::kBilinear && !antialias) {
    return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
      return bilinear(inputs, half_pixel(i, scale), w);
    });
  }
  if (method == ResizeMethod::kBicubic && !antialias) {
    return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
      return bicubic(inputs, scale, i, w);
    });
  }
  // TensorFlow takes the inverse of the inverse; its rounding is kept.
  const float inverse =
      1 / (static_cast<float>(outputs) / static_cast<float>(inputs));
  const float widened = antialias ? std::max(inverse, 1.0F) : 1.0F;
  return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
    return sampled(Kernel{method}, inputs,
                   (static_cast<float>(i) + 0.5F) * inverse, widened, w);
  });
}

AxisWeights part_weights(std::int64_t inputs, std::int64_t outputs,
                         ResizeMethod method, bool antialias, double offset,
                         double extent) {
  const double scale = extent / static_cast<double>(outputs);
  const auto at = [&](std::int64_t i) {
    return static_cast<float>(offset + (static_cast<double>(i) + 0.5) * scale);
  };
  if (method == ResizeMethod::kBilinear && !antialias) {
    return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
      return bilinear(inputs, at(i) - 0.5F, w);
    });
  }
  // An area is what a triangle of its width averages, nearly.
  const bool smooth = antialias || method == ResizeMethod::kArea;
  const float widened =
      smooth ? std::max(static_cast<float>(scale), 1.0F) : 1.0F;
  return collect(inputs, outputs, [&](std::int64_t i, Weights& w) {
    return sampled(Kernel{method}, inputs,
                   std::clamp(at(i), 0.0F, static_cast<float>(inputs)), widened,
                   w);
  });
}

void mirror(AxisWeights& axis) {
  const auto taps = static_cast<std::ptrdiff_t>(axis.taps);
  std::reverse(axis.first.begin(), axis.first.end());
  // Reversing all and then each range back reverses the ranges.
  std::reverse(axis.weights.begin(), axis.weights.end());
  for (auto at = axis.weights.begin(); at != axis.weights.end(); at += taps) {
    std::reverse(at, at + taps);
  }
}

std::vector<std::int32_t> nearest_indices(std::int64_t inputs,
                                          std::int64_t outputs) {
  const float scale = static_cast<float>(inputs) / static_cast<float>(outputs);
  std::vector<std::int32_t> indices;
  indices.reserve(static_cast<std::size_t>(outputs));
  for (std::int64_t i = 0; i < outputs; ++i) {
    const float at = std::floor((static_cast<float>(i) + 0.5F) * scale);
    indices.push_back(static_cast<std::int32_t>(
        std::min(static_cast<std::int64_t>(at), inputs - 1)));
  }
  return indices;
}

}  // namespace penstock::image
