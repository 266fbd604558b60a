// mixup and cutmix: pictures of a batch mixed with each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "penstock/base/random.h"
#include "penstock/image/augment.h"
#include "penstock/image/view.h"

namespace penstock::image {
namespace {

constexpr std::uint64_t kMixup = 0x1A6E1001;
constexpr std::uint64_t kCutmix = 0x1A6E1002;

double normal(RandomStream& random) {
  // 1 - u is never 0.
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(6.283185307179586 * random.uniform());
}

// Marsaglia and Tsang; below 1 by the usual power of a uniform number.
double gamma(RandomStream& random, double shape) {
  if (shape < 1) {
    const double u = 1 - random.uniform();
    return gamma(random, shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double beta(RandomStream& random, double alpha) {
  const double a = gamma(random, alpha);
  const double b = gamma(random, alpha);
  // Both vanish for a small alpha, where the share is 0 or 1.
  return a + b > 0 ? a / (a + b) : static_cast<double>(random.below(2));
}

StatusOr<View> check(const Tensor& images, const Tensor& labels, double alpha,
                     std::string_view name) {
  PS_ASSIGN_OR_RETURN(const View in, view_of(images, name));
  if (!in.batched) {
    return invalid_argument(
        to_absl(name),
        ": images must be [batch, height, width, channels], "
        "got ",
        images.shape().to_string());
  }
  if (labels.dtype() != DType::kFloat32 || labels.rank() != 2 ||
      labels.shape()[0] != in.batch) {
    return invalid_argument(to_absl(name), ": labels must be float32 [",
                            in.batch, ", classes], got ",
                            to_absl(dtype_name(labels.dtype())), " ",
                            labels.shape().to_string());
  }
  if (!(alpha > 0 && alpha < 1e6)) {
    return invalid_argument(to_absl(name), ": alpha must be > 0, got ", alpha);
  }
  return in;
}

std::vector<std::int64_t> partners(RandomStream& random, std::int64_t count) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < count; ++i) order.push_back(i);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  return order;
}

void mix_row(const float* a, const float* b, std::int64_t count, float share,
             float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = a[i] * share + b[i] * (1 - share);
  }
}

}  // namespace

StatusOr<Mixed> mixup(const Tensor& images, const Tensor& labels,
                      std::uint64_t key, double alpha) {
  PS_ASSIGN_OR_RETURN(const View in, check(images, labels, alpha, "mixup"));
  Mixed out;
  PS_ASSIGN_OR_RETURN(out.images, Tensor::allocate<float>(images.shape()));
  PS_ASSIGN_OR_RETURN(out.labels, Tensor::allocate<float>(labels.shape()));
  RandomStream random(key, kMixup);
  const auto others = partners(random, in.batch);
  const std::int64_t classes = labels.shape()[1];
  const float* label = labels.as<float>().data();
  for (std::int64_t n = 0; n < in.batch; ++n) {
    const std::int64_t m = others[static_cast<std::size_t>(n)];
    const auto share = static_cast<float>(beta(random, alpha));
    float* to = out.images.mutable_as<float>().data() + n * in.image_values();
    with_pixel_type(in.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* a = in.image<T>(n);
      const T* b = in.image<T>(m);
      for (std::int64_t i = 0; i < in.image_values(); ++i) {
        to[i] = as_float(a[i]) * share + as_float(b[i]) * (1 - share);
      }
    });
    mix_row(label + n * classes, label + m * classes, classes, share,
            out.labels.mutable_as<float>().data() + n * classes);
  }
  return out;
}

StatusOr<Mixed> cutmix(const Tensor& images, const Tensor& labels,
                       std::uint64_t key, double alpha) {
  PS_ASSIGN_OR_RETURN(const View in, check(images, labels, alpha, "cutmix"));
  Mixed out;
  PS_ASSIGN_OR_RETURN(out.images, Tensor::allocate(in.dtype, images.shape()));
  PS_ASSIGN_OR_RETURN(out.labels, Tensor::allocate<float>(labels.shape()));
  RandomStream random(key, kCutmix);
  const auto others = partners(random, in.batch);
  const std::int64_t classes = labels.shape()[1];
  const float* label = labels.as<float>().data();
  const std::size_t pixel = in.pixel_bytes();
  const std::size_t row = static_cast<std::size_t>(in.width) * pixel;
  const std::size_t image = static_cast<std::size_t>(in.height) * row;
  std::byte* to = out.images.mutable_data();
  if (in.batch > 0) {
    std::memcpy(to, in.data, static_cast<std::size_t>(in.batch) * image);
  }
  for (std::int64_t n = 0; n < in.batch; ++n, to += image) {
    const auto m =
        static_cast<std::size_t>(others[static_cast<std::size_t>(n)]);
    const double side = std::sqrt(1 - beta(random, alpha));
    // A rectangle about a random point, cut at the edges.
    const auto span = [&](std::int64_t length) {
      const auto half =
          static_cast<std::int64_t>(side * static_cast<double>(length) / 2);
      const auto at = static_cast<std::int64_t>(
          random.below(static_cast<std::uint64_t>(length)));
      return std::pair(std::max<std::int64_t>(at - half, 0),
                       std::min(at + half, length));
    };
    const auto [top, bottom] = span(in.height);
    const auto [left, right] = span(in.width);
    for (std::int64_t y = top; y < bottom; ++y) {
      const std::size_t at = static_cast<std::size_t>(y) * row +
                             static_cast<std::size_t>(left) * pixel;
      std::memcpy(to + at, in.data + m * image + at,
                  static_cast<std::size_t>(right - left) * pixel);
    }
    const auto taken = static_cast<float>((bottom - top) * (right - left));
    const float share = 1 - taken / static_cast<float>(in.height * in.width);
    mix_row(label + n * classes, label + static_cast<std::int64_t>(m) * classes,
            classes, share,
            out.labels.mutable_as<float>().data() + n * classes);
  }
  return out;
}

}  // namespace penstock::image
