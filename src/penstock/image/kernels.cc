// The kernels for every instruction set: this file is compiled once for each.
// Of Highway only its headers are used. Its library would choose the set, but
// takes 4 ms of every start to measure a timer that nobody asks for.
#include "penstock/image/kernels.h"

#include <atomic>
#include <vector>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "penstock/image/kernel_set_private.h"

#undef HWY_IS_DEBUG_BUILD
#define HWY_IS_DEBUG_BUILD 0  // its checks call the library
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_AVX3_DL  // here the same code as AVX3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "penstock/image/kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::image {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

// As many pixel values as a vector has floats, widened.
HWY_INLINE V load_values(F d, const std::uint8_t* p) {
  const hn::Rebind<std::uint8_t, F> du;
  const hn::RebindToSigned<F> di;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(du, p)));
}
HWY_INLINE V load_values(F d, const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, F> du;
  const hn::RebindToSigned<F> di;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(du, p)));
}
HWY_INLINE V load_values(F d, const hwy::float16_t* p) {
  const hn::Rebind<hwy::float16_t, F> dh;
  return hn::PromoteTo(d, hn::LoadU(dh, p));
}
HWY_INLINE V load_values(F d, const float* p) { return hn::LoadU(d, p); }

// Calls `run` with the values as what they are.
template <class Run>
HWY_INLINE void with_values(DType dtype, const void* in, const Run& run) {
  switch (dtype) {
    case DType::kUInt8:
      run(static_cast<const std::uint8_t*>(in));
      break;
    case DType::kUInt16:
      run(static_cast<const std::uint16_t*>(in));
      break;
    case DType::kFloat16:
      run(static_cast<const hwy::float16_t*>(in));
      break;
    default:
      run(static_cast<const float*>(in));
      break;
  }
}

// Fewer values than a vector holds, through a copy, zeros behind them.
template <class T>
HWY_INLINE V load_some(F d, const T* p, std::size_t count) {
  HWY_ALIGN T copy[hn::MaxLanes(F())] = {};
  for (std::size_t i = 0; i < count; ++i) copy[i] = p[i];
  return load_values(d, copy);
}
HWY_INLINE void store_some(F d, V v, float* p, std::size_t count) {
  HWY_ALIGN float copy[hn::MaxLanes(F())];
  hn::Store(v, d, copy);
  for (std::size_t i = 0; i < count; ++i) p[i] = copy[i];
}

template <class T>
void vertical_of(const T* HWY_RESTRICT in, std::size_t stride,
                 const float* weights, std::size_t taps, std::size_t count,
                 float* HWY_RESTRICT out) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if (taps == 2) {
    const V w0 = hn::Set(d, weights[0]);
    const V w1 = hn::Set(d, weights[1]);
    for (; i + lanes <= count; i += lanes) {
      const V a = hn::Mul(w0, load_values(d, in + i));
      const V b = hn::Mul(w1, load_values(d, in + stride + i));
      hn::StoreU(hn::Add(a, b), d, out + i);
    }
  } else {
    for (; i + lanes <= count; i += lanes) {
      V sum = hn::Mul(hn::Set(d, weights[0]), load_values(d, in + i));
      for (std::size_t k = 1; k < taps; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]),
                                   load_values(d, in + k * stride + i)));
      }
      hn::StoreU(sum, d, out + i);
    }
  }
  if (i == count) return;
  const std::size_t rest = count - i;
  V sum = hn::Mul(hn::Set(d, weights[0]), load_some(d, in + i, rest));
  for (std::size_t k = 1; k < taps; ++k) {
    sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[k]),
                               load_some(d, in + k * stride + i, rest)));
  }
  store_some(d, sum, out + i, rest);
}

void vertical(const void* in, DType dtype, std::int64_t stride,
              const float* weights, std::int64_t taps, std::int64_t count,
              float* out) {
  const auto run = [&](auto* values) {
    vertical_of(values, static_cast<std::size_t>(stride), weights,
                static_cast<std::size_t>(taps), static_cast<std::size_t>(count),
                out);
  };
  with_values(dtype, in, run);
}

#if HWY_TARGET != HWY_SCALAR
// Three channels: a pixel is loaded as four values. The fourth is the next
// pixel's and is overwritten by it; the last pixel is stored by itself.
template <int kTaps>
void horizontal_rgb(const float* HWY_RESTRICT in, const AxisWeights& axis,
                    float* HWY_RESTRICT out) {
  const hn::FixedTag<float, 4> d;
  const auto taps = static_cast<std::size_t>(axis.taps);
  const float* weights = axis.weights.data();
  const std::int32_t* first = axis.first.data();
  const auto outputs = static_cast<std::size_t>(axis.outputs);
  const auto sum_at = [&](std::size_t x) HWY_ATTR {
    const float* pixel = in + static_cast<std::size_t>(first[x]) * 3;
    const float* w = weights + x * taps;
    auto sum = hn::Mul(hn::Set(d, w[0]), hn::LoadU(d, pixel));
    if constexpr (kTaps == 2) {
      return hn::Add(sum, hn::Mul(hn::Set(d, w[1]), hn::LoadU(d, pixel + 3)));
    }
    for (std::size_t k = 1; k < taps; ++k) {
      sum =
          hn::Add(sum, hn::Mul(hn::Set(d, w[k]), hn::LoadU(d, pixel + 3 * k)));
    }
    return sum;
  };
  for (std::size_t x = 0; x + 1 < outputs; ++x) {
    hn::StoreU(sum_at(x), d, out + 3 * x);
  }
  HWY_ALIGN float last[4];
  hn::Store(sum_at(outputs - 1), d, last);
  for (std::size_t c = 0; c < 3; ++c) out[3 * (outputs - 1) + c] = last[c];
}
#endif

// One channel: outputs side by side in a vector, inputs gathered.
void horizontal_grey(const float* HWY_RESTRICT in, const AxisWeights& axis,
                     float* HWY_RESTRICT out) {
  const F d;
  const hn::RebindToSigned<F> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto taps = static_cast<std::size_t>(axis.taps);
  const auto outputs = static_cast<std::size_t>(axis.outputs);
  const float* weights = axis.weights.data();
  const auto step =
      hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(taps)));
  std::size_t x = 0;
  for (; x + lanes <= outputs; x += lanes) {
    const auto index = hn::LoadU(di, axis.first.data() + x);
    const float* w = weights + x * taps;
    V sum = hn::Mul(hn::GatherIndex(d, w, step), hn::GatherIndex(d, in, index));
    for (std::size_t k = 1; k < taps; ++k) {
      sum = hn::Add(sum, hn::Mul(hn::GatherIndex(d, w + k, step),
                                 hn::GatherIndex(d, in + k, index)));
    }
    hn::StoreU(sum, d, out + x);
  }
  for (; x < outputs; ++x) {
    const float* pixel = in + axis.first[x];
    float sum = weights[x * taps] * pixel[0];
    for (std::size_t k = 1; k < taps; ++k) {
      sum = sum + weights[x * taps + k] * pixel[k];
    }
    out[x] = sum;
  }
}

// Any number of channels: those of a pixel side by side.
void horizontal_any(const float* HWY_RESTRICT in, const AxisWeights& axis,
                    std::size_t channels, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, 4> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto taps = static_cast<std::size_t>(axis.taps);
  const auto outputs = static_cast<std::size_t>(axis.outputs);
  for (std::size_t x = 0; x < outputs; ++x) {
    const float* pixel =
        in + static_cast<std::size_t>(axis.first[x]) * channels;
    const float* w = axis.weights.data() + x * taps;
    float* result = out + x * channels;
    std::size_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      auto sum = hn::Mul(hn::Set(d, w[0]), hn::LoadU(d, pixel + c));
      for (std::size_t k = 1; k < taps; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Set(d, w[k]),
                                   hn::LoadU(d, pixel + k * channels + c)));
      }
      hn::StoreU(sum, d, result + c);
    }
    for (; c < channels; ++c) {
      float sum = w[0] * pixel[c];
      for (std::size_t k = 1; k < taps; ++k) {
        sum = sum + w[k] * pixel[k * channels + c];
      }
      result[c] = sum;
    }
  }
}

void horizontal(const float* in, const AxisWeights& axis, std::int64_t channels,
                float* out) {
#if HWY_TARGET != HWY_SCALAR
  if (channels == 3 && axis.taps == 2) return horizontal_rgb<2>(in, axis, out);
  if (channels == 3) return horizontal_rgb<0>(in, axis, out);
#endif
  if (channels == 1) return horizontal_grey(in, axis, out);
  horizontal_any(in, axis, static_cast<std::size_t>(channels), out);
}

template <class T>
void scale_of(const T* in, std::size_t count, const float* mean,
              const float* scale, std::size_t channels, float* out) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  // The channels repeat after `channels` vectors.
  constexpr std::size_t kMost = 4;
  HWY_ALIGN float means[kMost * hn::MaxLanes(F())];
  HWY_ALIGN float scales[kMost * hn::MaxLanes(F())];
  std::size_t i = 0;
  if (channels <= kMost) {
    const std::size_t period = channels * lanes;
    for (std::size_t k = 0; k < period; ++k) {
      means[k] = mean[k % channels];
      scales[k] = scale[k % channels];
    }
    for (; i + period <= count; i += period) {
      for (std::size_t k = 0; k < period; k += lanes) {
        const V v = hn::Sub(load_values(d, in + i + k), hn::Load(d, means + k));
        hn::StoreU(hn::Mul(v, hn::Load(d, scales + k)), d, out + i + k);
      }
    }
    for (std::size_t k = 0; i < count; i += lanes, k += lanes) {
      const std::size_t rest = HWY_MIN(lanes, count - i);
      const V v = hn::Sub(load_some(d, in + i, rest), hn::Load(d, means + k));
      store_some(d, hn::Mul(v, hn::Load(d, scales + k)), out + i, rest);
    }
    return;
  }
  for (; i + channels <= count; i += channels) {
    for (std::size_t c = 0; c < channels; c += lanes) {
      const std::size_t rest = HWY_MIN(lanes, channels - c);
      const V v =
          hn::Sub(load_some(d, in + i + c, rest), load_some(d, mean + c, rest));
      store_some(d, hn::Mul(v, load_some(d, scale + c, rest)), out + i + c,
                 rest);
    }
  }
}

void scale(const void* in, DType dtype, std::int64_t count, const float* mean,
           const float* factor, std::int64_t channels, float* out) {
  const auto run = [&](auto* values) {
    scale_of(values, static_cast<std::size_t>(count), mean, factor,
             static_cast<std::size_t>(channels), out);
  };
  with_values(dtype, in, run);
}

void widen_all(const std::uint8_t* in, std::int64_t count, float factor,
               float* out) {
  const F d;
  const auto n = static_cast<std::size_t>(count);
  const std::size_t lanes = hn::Lanes(d);
  const V f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(load_values(d, in + i), f), d, out + i);
  }
  if (i < n) {
    store_some(d, hn::Mul(load_some(d, in + i, n - i), f), out + i, n - i);
  }
}

void divide_all(const float* in, std::int64_t count, float divisor,
                float* out) {
  const F d;
  const auto n = static_cast<std::size_t>(count);
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, divisor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Div(hn::LoadU(d, in + i), by), d, out + i);
  }
  for (; i < n; ++i) out[i] = in[i] / divisor;
}

Moments moments_of(const std::uint8_t* in, std::int64_t count) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> du;
  const auto n = static_cast<std::size_t>(count);
  const std::size_t lanes = hn::Lanes(d);
  Moments m;
  std::size_t i = 0;
  while (i + lanes <= n) {
    // 65536 squares of bytes fit a lane.
    const std::size_t end = HWY_MIN(n, i + 65536 * lanes);
    auto sum = hn::Zero(d);
    auto squares = hn::Zero(d);
    for (; i + lanes <= end; i += lanes) {
      const auto v = hn::PromoteTo(d, hn::LoadU(du, in + i));
      sum = hn::Add(sum, v);
      squares = hn::Add(squares, hn::Mul(v, v));
    }
    HWY_ALIGN std::uint32_t parts[hn::MaxLanes(d)];
    hn::Store(sum, d, parts);
    for (std::size_t k = 0; k < lanes; ++k) m.sum += parts[k];
    hn::Store(squares, d, parts);
    for (std::size_t k = 0; k < lanes; ++k) m.squares += parts[k];
  }
  for (; i < n; ++i) {
    m.sum += in[i];
    m.squares += std::uint64_t{in[i]} * in[i];
  }
  return m;
}

// The arithmetic of pixel_math.h, a vector of pixels at a time and without
// branches. `hue`: turns it, otherwise multiplies the saturation.
template <bool kHue>
HWY_INLINE void change_colour(F d, float amount, V& r, V& g, V& b) {
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1);
  const V six = hn::Set(d, 6);
  const V most = hn::Max(r, hn::Max(g, b));
  const V least = hn::Min(r, hn::Min(g, b));
  const V range = hn::Sub(most, least);
  const V norm = hn::Div(one, hn::Mul(six, range));
  const V red = hn::Mul(norm, hn::Sub(g, b));
  const V green = hn::Add(hn::Mul(norm, hn::Sub(b, r)), hn::Set(d, 2.0F / 6));
  const V blue = hn::Add(hn::Mul(norm, hn::Sub(r, g)), hn::Set(d, 4.0F / 6));
  V h = hn::IfThenElse(hn::Eq(r, most), red,
                       hn::IfThenElse(hn::Eq(g, most), green, blue));
  h = hn::IfThenElse(hn::Lt(h, zero), hn::Add(h, one), h);
  h = hn::IfThenElseZero(hn::Gt(range, zero), h);
  if constexpr (kHue) {
    h = hn::Add(h, hn::Set(d, amount));
    h = hn::Sub(h, hn::Floor(h));
  }
  const V dh = hn::Mul(h, six);
  const auto ramp = [&](V x)
                        HWY_ATTR { return hn::Min(hn::Max(x, zero), one); };
  const V two = hn::Set(d, 2);
  const V fr = ramp(hn::Sub(hn::Abs(hn::Sub(dh, hn::Set(d, 3))), one));
  const V fg = ramp(hn::Sub(two, hn::Abs(hn::Sub(dh, two))));
  const V fb = ramp(hn::Sub(two, hn::Abs(hn::Sub(dh, hn::Set(d, 4)))));
  if constexpr (kHue) {
    r = hn::Add(least, hn::Mul(range, fr));
    g = hn::Add(least, hn::Mul(range, fg));
    b = hn::Add(least, hn::Mul(range, fb));
    return;
  }
  V s = hn::IfThenElseZero(hn::Gt(most, zero), hn::Div(range, most));
  s = hn::Min(hn::Max(hn::Mul(s, hn::Set(d, amount)), zero), one);
  const V rest = hn::Sub(one, s);
  r = hn::Mul(hn::Add(rest, hn::Mul(s, fr)), most);
  g = hn::Mul(hn::Add(rest, hn::Mul(s, fg)), most);
  b = hn::Mul(hn::Add(rest, hn::Mul(s, fb)), most);
}

template <bool kHue>
void colour_floats(const float* in, std::size_t pixels, float amount,
                   float* out) {
  const F d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kMost = hn::MaxLanes(F());
  HWY_ALIGN float planes[3][kMost] = {};
  for (std::size_t i = 0; i < pixels; i += lanes) {
    const std::size_t n = HWY_MIN(lanes, pixels - i);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < 3; ++c) planes[c][k] = in[3 * (i + k) + c];
    }
    V r = hn::Load(d, planes[0]);
    V g = hn::Load(d, planes[1]);
    V b = hn::Load(d, planes[2]);
    change_colour<kHue>(d, amount, r, g, b);
    hn::Store(r, d, planes[0]);
    hn::Store(g, d, planes[1]);
    hn::Store(b, d, planes[2]);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < 3; ++c) out[3 * (i + k) + c] = planes[c][k];
    }
  }
}

template <bool kHue>
void colour_bytes(const std::uint8_t* in, std::size_t pixels, float amount,
                  std::uint8_t* out) {
  const F d;
  const hn::RebindToSigned<F> di;
  const hn::Rebind<std::uint8_t, F> du;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kMost = hn::MaxLanes(F());
  HWY_ALIGN std::uint8_t planes[3][kMost] = {};
  const V scale = hn::Set(d, 1.0F / 255);
  const auto fraction = [&](const std::uint8_t* p) HWY_ATTR {
    return hn::Mul(load_values(d, p), scale);
  };
  const auto put = [&](V v, std::uint8_t* p) HWY_ATTR {
    v = hn::Max(hn::Mul(v, hn::Set(d, 255.5F)), hn::Zero(d));
    v = hn::Min(v, hn::Set(d, 255));
    hn::StoreU(hn::DemoteTo(du, hn::ConvertTo(di, v)), du, p);
  };
  for (std::size_t i = 0; i < pixels; i += lanes) {
    const std::size_t n = HWY_MIN(lanes, pixels - i);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < 3; ++c) planes[c][k] = in[3 * (i + k) + c];
    }
    V r = fraction(planes[0]);
    V g = fraction(planes[1]);
    V b = fraction(planes[2]);
    change_colour<kHue>(d, amount, r, g, b);
    put(r, planes[0]);
    put(g, planes[1]);
    put(b, planes[2]);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t c = 0; c < 3; ++c) out[3 * (i + k) + c] = planes[c][k];
    }
  }
}

template <bool kHue>
void colour(const void* in, DType dtype, std::int64_t pixels, float amount,
            void* out) {
  const auto n = static_cast<std::size_t>(pixels);
  if (dtype == DType::kUInt8) {
    colour_bytes<kHue>(static_cast<const std::uint8_t*>(in), n, amount,
                       static_cast<std::uint8_t*>(out));
  } else {
    colour_floats<kHue>(static_cast<const float*>(in), n, amount,
                        static_cast<float*>(out));
  }
}

void hue(const void* in, DType dtype, std::int64_t pixels, float amount,
         void* out) {
  colour<true>(in, dtype, pixels, amount, out);
}
void saturation(const void* in, DType dtype, std::int64_t pixels, float amount,
                void* out) {
  colour<false>(in, dtype, pixels, amount, out);
}

constexpr KernelSet kKernels{HWY_STR(HWY_NAMESPACE),
                             vertical,
                             horizontal,
                             scale,
                             widen_all,
                             divide_all,
                             moments_of,
                             hue,
                             saturation};

}  // namespace HWY_NAMESPACE
}  // namespace penstock::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::image {

namespace {

std::atomic<const KernelSet*> g_chosen{nullptr};

std::vector<const KernelSet*> find_kernel_sets() {
  std::vector<const KernelSet*> sets;
#if HWY_ARCH_X86
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  // Not every compiler knows F16C by name.
  const bool f16c = (ecx & bit_F16C) != 0;
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") &&
                    __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && f16c && __builtin_cpu_supports("avx2") &&
                    __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma");
  [[maybe_unused]] const bool avx3 =
      avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
#if HWY_TARGETS & HWY_AVX3
  if (avx3) sets.push_back(&N_AVX3::kKernels);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (avx2) sets.push_back(&N_AVX2::kKernels);
#endif
#if HWY_TARGETS & HWY_SSE4
  if (sse4) sets.push_back(&N_SSE4::kKernels);
#endif
#if HWY_TARGETS & HWY_SSSE3
  if (ssse3) sets.push_back(&N_SSSE3::kKernels);
#endif
#endif  // HWY_ARCH_X86
  // What every machine has that the library was compiled for.
  if (sets.empty() || sets.back() != &HWY_STATIC_DISPATCH(kKernels)) {
    sets.push_back(&HWY_STATIC_DISPATCH(kKernels));
  }
  return sets;
}

const KernelSet& chosen() {
  const KernelSet* set = g_chosen.load(std::memory_order_acquire);
  if (set != nullptr) return *set;
  set = kernel_sets().front();
  g_chosen.store(set, std::memory_order_release);
  return *set;
}

}  // namespace

const std::vector<const KernelSet*>& kernel_sets() {
  static const auto* const sets = new auto(find_kernel_sets());
  return *sets;
}

void use_kernel_set(const KernelSet& set) {
  g_chosen.store(&set, std::memory_order_release);
}

void turn_hue(const void* in, DType dtype, std::int64_t pixels, float turn,
              void* out) {
  chosen().hue(in, dtype, pixels, turn, out);
}

void scale_saturation(const void* in, DType dtype, std::int64_t pixels,
                      float factor, void* out) {
  chosen().saturation(in, dtype, pixels, factor, out);
}

void vertical_sum(const void* in, DType dtype, std::int64_t stride,
                  const float* weights, std::int64_t taps, std::int64_t count,
                  float* out) {
  chosen().vertical(in, dtype, stride, weights, taps, count, out);
}

void horizontal_sum(const float* in, const AxisWeights& axis,
                    std::int64_t channels, float* out) {
  chosen().horizontal(in, axis, channels, out);
}

void subtract_and_scale(const void* in, DType dtype, std::int64_t count,
                        const float* mean, const float* factor,
                        std::int64_t channels, float* out) {
  chosen().scale(in, dtype, count, mean, factor, channels, out);
}

void widen(const std::uint8_t* in, std::int64_t count, float factor,
           float* out) {
  chosen().widen_all(in, count, factor, out);
}

void divide(const float* in, std::int64_t count, float divisor, float* out) {
  chosen().divide_all(in, count, divisor, out);
}

Moments moments(const std::uint8_t* in, std::int64_t count) {
  return chosen().moments_of(in, count);
}

}  // namespace penstock::image
#endif  // HWY_ONCE
