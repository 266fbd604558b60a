// resize: TensorFlow's numbers, every method, dtype and instruction set.
#include "penstock/image/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "penstock/image/axis_weights.h"
#include "penstock/image/kernel_set_private.h"
#include "penstock/image/kernels.h"
#include "penstock/image/view.h"
#include "tests/support/pictures.h"

namespace penstock::image {
namespace {

using ::penstock::testing::noise;
using ::penstock::testing::picture;
using ::testing::HasSubstr;

Tensor ramp(const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<float>(i * 7 % 31));
  }
  return Tensor::from(std::span<const float>(values), shape);
}

Tensor as_dtype(const Tensor& image, DType dtype) {
  Tensor out = Tensor::allocate(dtype, image.shape()).value();
  for (std::int64_t i = 0; i < image.num_elements(); ++i) {
    with_pixel_type(dtype, [&](auto zero) {
      using T = decltype(zero);
      reinterpret_cast<T*>(out.mutable_data())[i] =
          saturate_to<T>(static_cast<float>(
              image.as<std::uint8_t>()[static_cast<std::size_t>(i)]));
    });
  }
  return out;
}

constexpr ResizeMethod kSummed[] = {
    ResizeMethod::kBilinear,     ResizeMethod::kBicubic,
    ResizeMethod::kArea,         ResizeMethod::kLanczos3,
    ResizeMethod::kLanczos5,     ResizeMethod::kGaussian,
    ResizeMethod::kMitchellCubic};

struct Expected {
  ResizeMethod method;
  bool antialias;
  std::vector<float> values;
};

// Computed by TensorFlow 2.21: tf.image.resize of (5, 4) to (3, 2).
const Expected kExpected[] = {
    {ResizeMethod::kBilinear,
     false,
     {7.66667F, 16.50000F, 13.00000F, 11.50000F, 23.50000F, 6.50000F}},
    {ResizeMethod::kBilinear,
     true,
     {9.40816F, 14.71429F, 15.23810F, 10.98413F, 20.85714F, 9.71429F}},
    {ResizeMethod::kBicubic,
     false,
     {6.68071F, 17.39442F, 13.29412F, 12.11765F, 24.99421F, 4.95456F}},
    {ResizeMethod::kBicubic,
     true,
     {8.51475F, 15.23783F, 15.83160F, 10.47430F, 22.04450F, 8.63039F}},
    {ResizeMethod::kArea,
     false,
     {8.50000F, 16.30000F, 16.10000F, 11.50000F, 23.70000F, 6.70000F}},
    {ResizeMethod::kArea,
     true,
     {8.50000F, 16.30000F, 16.10000F, 11.50000F, 23.70000F, 6.70000F}},
    {ResizeMethod::kLanczos3,
     false,
     {6.77743F, 17.91271F, 13.65526F, 13.08068F, 26.57494F, 3.64259F}},
    {ResizeMethod::kLanczos3,
     true,
     {7.95347F, 15.14897F, 16.13348F, 9.84190F, 22.03519F, 8.69015F}},
    {ResizeMethod::kLanczos5,
     false,
     {7.58622F, 17.77933F, 13.93190F, 14.11176F, 27.22854F, 3.39321F}},
    {ResizeMethod::kLanczos5,
     true,
     {7.67533F, 15.05757F, 16.26778F, 9.52449F, 21.87451F, 8.81065F}},
    {ResizeMethod::kGaussian,
     false,
     {7.74054F, 16.48227F, 14.65086F, 11.50000F, 23.51773F, 6.51773F}},
    {ResizeMethod::kGaussian,
     true,
     {9.97212F, 14.17438F, 15.27267F, 11.39087F, 19.80597F, 10.21533F}},
    {ResizeMethod::kMitchellCubic,
     false,
     {7.28542F, 16.97984F, 14.05779F, 11.79456F, 24.41146F, 5.66180F}},
    {ResizeMethod::kMitchellCubic,
     true,
     {9.23968F, 14.61669F, 15.59767F, 10.87960F, 20.85755F, 9.51362F}},
};

TEST(Resize, GivesTensorFlowsNumbers) {
  for (const Expected& expected : kExpected) {
    const Tensor result =
        resize(ramp(Shape{5, 4, 1}), {3, 2},
               {.method = expected.method, .antialias = expected.antialias})
            .value();
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(result.as<float>()[i], expected.values[i], 1e-4)
          << resize_method_name(expected.method) << expected.antialias;
    }
  }
}

TEST(Resize, NamesItsMethods) {
  for (const char* name : {"bilinear", "nearest", "bicubic", "area", "lanczos3",
                           "lanczos5", "gaussian", "mitchellcubic"}) {
    EXPECT_EQ(resize_method_name(resize_method_from_name(name).value()), name);
  }
  EXPECT_EQ(resize_method_from_name("cubic").status().message(),
            "method must be bilinear, nearest, bicubic, area, lanczos3, "
            "lanczos5, gaussian or mitchellcubic, got 'cubic'");
}

TEST(Resize, KeepsAFlatPictureFlat) {
  Tensor flat = Tensor::allocate<std::uint8_t>(Shape{13, 29, 3}).value();
  for (auto& v : flat.mutable_as<std::uint8_t>()) v = 200;
  for (const ResizeMethod method : kSummed) {
    for (const bool antialias : {false, true}) {
      for (const Size size : {Size{1, 1}, Size{5, 40}, Size{50, 7}}) {
        const Tensor result =
            resize(flat, size, {.method = method, .antialias = antialias})
                .value();
        for (const float v : result.as<float>()) {
          ASSERT_NEAR(v, 200, 1e-3) << resize_method_name(method);
        }
      }
    }
  }
}

TEST(Resize, ToTheSameSizeChangesNothingForInterpolatingMethods) {
  const Tensor image = noise(Shape{9, 11, 3});
  for (const ResizeMethod method :
       {ResizeMethod::kBilinear, ResizeMethod::kBicubic, ResizeMethod::kArea}) {
    const Tensor same = resize(image, {9, 11}, {.method = method}).value();
    for (std::size_t i = 0; i < 297; ++i) {
      ASSERT_NEAR(same.as<float>()[i], image.as<std::uint8_t>()[i], 1e-4);
    }
  }
}

TEST(Resize, GivesTheSameForEveryDtypeAndForBatches) {
  const Tensor image = noise(Shape{17, 23, 3});
  const Tensor expected = resize(image, {8, 31}).value();
  EXPECT_EQ(expected.dtype(), DType::kFloat32);
  for (const DType dtype : {DType::kUInt16, DType::kFloat16, DType::kFloat32}) {
    EXPECT_EQ(resize(as_dtype(image, dtype), {8, 31}).value(), expected);
  }
  const Tensor batch = noise(Shape{3, 17, 23, 3});
  for (const ResizeMethod method :
       {ResizeMethod::kBilinear, ResizeMethod::kNearest}) {
    const Tensor all = resize(batch, {8, 31}, {.method = method}).value();
    for (std::int64_t n = 0; n < 3; ++n) {
      EXPECT_EQ(all.row(n),
                resize(batch.row(n), {8, 31}, {.method = method}).value());
    }
  }
}

TEST(Resize, NearestKeepsTheDtypeAndTheValues) {
  const Tensor image = Tensor::from(std::vector<std::uint8_t>{1, 2, 3, 4})
                           .reshaped(Shape{2, 2, 1});
  const Tensor big =
      resize(image, {4, 3}, {.method = ResizeMethod::kNearest}).value();
  EXPECT_EQ(big.dtype(), DType::kUInt8);
  EXPECT_THAT(big.as<std::uint8_t>(),
              ::testing::ElementsAre(1, 2, 2, 1, 2, 2, 3, 4, 4, 3, 4, 4));
}

TEST(Resize, PreservesTheAspectRatioWhenAsked) {
  const Tensor image = noise(Shape{30, 20, 3});
  const ResizeOptions keep{.preserve_aspect_ratio = true};
  EXPECT_EQ(resize(image, {15, 15}, keep)->shape(), (Shape{15, 10, 3}));
  EXPECT_EQ(resize(image, {90, 45}, keep)->shape(), (Shape{68, 45, 3}));
  EXPECT_EQ(fitted_size({1000, 1}, {10, 10}), (Size{10, 1}));
}

TEST(Resize, RefusesBadArguments) {
  const Tensor image = noise(Shape{3, 3, 1});
  const auto message = [](const StatusOr<Tensor>& r) {
    return std::string(r.status().message());
  };
  EXPECT_THAT(message(resize(image, {0, 4})),
              HasSubstr("resize: size must be at least 1 x 1, got 0 x 4"));
  EXPECT_THAT(message(resize(noise(Shape{3, 3}), {2, 2})),
              HasSubstr("resize: image must be [height, width, channels]"));
  EXPECT_THAT(message(resize(Tensor::from<std::int64_t>({1}), {2, 2})),
              HasSubstr("float32, got int64"));
  EXPECT_THAT(message(resize(noise(Shape{0, 3, 3}), {2, 2})),
              HasSubstr("has no pixels: (0, 3, 3)"));
  EXPECT_FALSE(resize_with_pad(image, {-1, 4}).ok());
}

TEST(ResizeWithPad, CentresThePicture) {
  Tensor image = Tensor::allocate<float>(Shape{4, 2, 1}).value();
  for (auto& v : image.mutable_as<float>()) v = 1;
  const Tensor result = resize_with_pad(image, {4, 4}).value();
  ASSERT_EQ(result.shape(), (Shape{4, 4, 1}));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(result.as<float>()[i], i % 4 == 1 || i % 4 == 2 ? 1 : 0) << i;
  }
}

TEST(AxisWeights, CoverEveryOutputWithinTheInput) {
  for (const ResizeMethod method : kSummed) {
    for (const bool antialias : {false, true}) {
      for (const std::int64_t inputs : {1, 2, 3, 7, 100}) {
        for (const std::int64_t outputs : {1, 2, 5, 31, 250}) {
          const AxisWeights axis =
              axis_weights(inputs, outputs, method, antialias);
          ASSERT_EQ(axis.first.size(), static_cast<std::size_t>(outputs));
          for (std::int64_t i = 0; i < outputs; ++i) {
            const std::int64_t first = axis.first[static_cast<std::size_t>(i)];
            ASSERT_GE(first, 0);
            ASSERT_LE(first + axis.taps, inputs);
            float sum = 0;
            for (std::int64_t k = 0; k < axis.taps; ++k) {
              sum += axis.weights[static_cast<std::size_t>(i * axis.taps + k)];
            }
            ASSERT_NEAR(sum, 1, 1e-4);
          }
        }
      }
    }
  }
}

TEST(AxisWeights, MirrorReversesTheOutputs) {
  AxisWeights axis = axis_weights(10, 4, ResizeMethod::kLanczos3, true);
  const AxisWeights before = axis;
  mirror(axis);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(axis.first[i], before.first[3 - i]);
    for (std::size_t k = 0; k < static_cast<std::size_t>(axis.taps); ++k) {
      const auto taps = static_cast<std::size_t>(axis.taps);
      EXPECT_EQ(axis.weights[i * taps + k], before.weights[(3 - i) * taps + k]);
    }
  }
}

// Calls `f` once for every instruction set that this machine has.
template <class F>
void on_every_target(F f) {
  for (const KernelSet* set : kernel_sets()) {
    use_kernel_set(*set);
    SCOPED_TRACE(set->name);
    f();
  }
  use_kernel_set(*kernel_sets().front());
}

#if defined(__x86_64__)
TEST(Kernels, UseTheWidestSetOfTheMachine) {
  const std::string_view best = kernel_sets().front()->name;
  if (__builtin_cpu_supports("avx512bw")) {
    EXPECT_EQ(best, "N_AVX3");
  } else if (__builtin_cpu_supports("avx2")) {
    EXPECT_EQ(best, "N_AVX2");
  }
  EXPECT_GE(kernel_sets().size(), 2U);
}
#endif

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) !=
        std::bit_cast<std::uint32_t>(b[i])) {
      return false;
    }
  }
  return a.size() == b.size();
}

TEST(Kernels, SumRowsAsTheReferenceDoes) {
  on_every_target([] {
    for (const DType dtype :
         {DType::kUInt8, DType::kUInt16, DType::kFloat16, DType::kFloat32}) {
      for (const std::int64_t count : {1, 3, 15, 16, 17, 64, 201}) {
        for (const std::int64_t taps : {1, 2, 3, 7}) {
          const Tensor rows = as_dtype(noise(Shape{taps, count, 1}), dtype);
          std::vector<float> weights;
          for (std::int64_t k = 0; k < taps; ++k) {
            weights.push_back(0.3F / static_cast<float>(k + 1));
          }
          std::vector<float> a(static_cast<std::size_t>(count));
          std::vector<float> b = a;
          vertical_sum(rows.data(), dtype, count, weights.data(), taps, count,
                       a.data());
          reference::vertical_sum(rows.data(), dtype, count, weights.data(),
                                  taps, count, b.data());
          ASSERT_TRUE(same_bits(a, b)) << count << " " << taps;
        }
      }
    }
  });
}

TEST(Kernels, SumColumnsAsTheReferenceDoes) {
  on_every_target([] {
    for (const std::int64_t channels : {1, 2, 3, 4, 5, 9}) {
      for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{1, 1},
                                    {50, 20},
                                    {7, 33},
                                    {64, 63}}) {
        for (const ResizeMethod method :
             {ResizeMethod::kBilinear, ResizeMethod::kLanczos3}) {
          const AxisWeights axis = axis_weights(in, out, method, true);
          std::vector<float> line;
          const Tensor random = noise(Shape{in * channels + kRowPadding});
          for (const std::uint8_t v : random.as<std::uint8_t>()) {
            line.push_back(static_cast<float>(v) / 3);
          }
          std::vector<float> a(static_cast<std::size_t>(out * channels), -1);
          std::vector<float> b = a;
          horizontal_sum(line.data(), axis, channels, a.data());
          reference::horizontal_sum(line.data(), axis, channels, b.data());
          ASSERT_TRUE(same_bits(a, b)) << channels << " " << in << " " << out;
        }
      }
    }
  });
}

TEST(Kernels, ScaleAsTheReferenceDoes) {
  on_every_target([] {
    for (const DType dtype :
         {DType::kUInt8, DType::kUInt16, DType::kFloat16, DType::kFloat32}) {
      for (const std::int64_t channels : {1, 2, 3, 4, 7}) {
        for (const std::int64_t pixels : {1, 5, 21, 64}) {
          const std::int64_t count = pixels * channels;
          const Tensor in = as_dtype(noise(Shape{count}), dtype);
          std::vector<float> mean;
          std::vector<float> scale;
          for (std::int64_t c = 0; c < channels; ++c) {
            mean.push_back(100.5F + static_cast<float>(c));
            scale.push_back(0.017F * static_cast<float>(c + 1));
          }
          std::vector<float> a(static_cast<std::size_t>(count));
          std::vector<float> b = a;
          subtract_and_scale(in.data(), dtype, count, mean.data(), scale.data(),
                             channels, a.data());
          reference::subtract_and_scale(in.data(), dtype, count, mean.data(),
                                        scale.data(), channels, b.data());
          ASSERT_TRUE(same_bits(a, b)) << channels << " " << pixels;
        }
      }
    }
    const Tensor bytes = noise(Shape{1000});
    const auto data = bytes.as<std::uint8_t>();
    for (const std::int64_t count : {0, 1, 31, 32, 33, 1000}) {
      std::vector<float> a(static_cast<std::size_t>(count));
      std::vector<float> b = a;
      widen(data.data(), count, 1 / 255.0F, a.data());
      reference::widen(data.data(), count, 1 / 255.0F, b.data());
      ASSERT_TRUE(same_bits(a, b));
      divide(a.data(), count, 0.7F, a.data());
      reference::divide(b.data(), count, 0.7F, b.data());
      ASSERT_TRUE(same_bits(a, b));
      const Moments x = moments(data.data(), count);
      const Moments y = reference::moments(data.data(), count);
      EXPECT_EQ(x.sum, y.sum);
      EXPECT_EQ(x.squares, y.squares);
    }
  });
}

TEST(Kernels, ChangeColoursAsTheReferenceDoes) {
  on_every_target([] {
    for (const DType dtype : {DType::kUInt8, DType::kFloat32}) {
      for (const std::int64_t pixels : {1, 7, 16, 33, 500}) {
        Tensor in = as_dtype(noise(Shape{pixels, 3, 1}), dtype);
        // Grey and black pixels have no hue.
        std::memset(in.mutable_data(), 0, 3 * dtype_size(dtype));
        if (dtype == DType::kFloat32) {
          for (float& v : in.mutable_as<float>()) v = v / 255 - 0.25F;
        }
        Tensor a = Tensor::allocate(dtype, in.shape()).value();
        Tensor b = Tensor::allocate(dtype, in.shape()).value();
        for (const float amount : {-0.7F, 0.0F, 0.21F, 1.0F, 2.5F}) {
          if (amount <= 1) {
            turn_hue(in.data(), dtype, pixels, amount, a.mutable_data());
            reference::turn_hue(in.data(), dtype, pixels, amount,
                                b.mutable_data());
            ASSERT_EQ(a, b) << pixels << " hue " << amount;
          }
          if (amount >= 0) {
            scale_saturation(in.data(), dtype, pixels, amount,
                             a.mutable_data());
            reference::scale_saturation(in.data(), dtype, pixels, amount,
                                        b.mutable_data());
            ASSERT_EQ(a, b) << pixels << " saturation " << amount;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace penstock::image
