#include "penstock/memory/element_codec.h"

#include <gtest/gtest.h>

#include "penstock/base/random.h"

namespace penstock {
namespace {

class Opaque final : public Object {
 public:
  std::string to_string() const override { return "opaque"; }
};

std::vector<Element> samples() {
  const std::vector<std::string_view> words = {"", "a",
                                               std::string_view("\0b", 2)};
  return {
      Element(Tensor::scalar<std::int64_t>(-7)),
      Element(Tensor::scalar(true)),
      Element(Tensor::scalar(Float16{0x3c00})),
      Element(Tensor::string("hello")),
      Element(Tensor::string("")),
      Element(Tensor::strings(words, Shape{3, 1}).value()),
      Element(Tensor::strings({}, Shape{0, 4}).value()),
      Element(Tensor::from<float>({1.5f, -2.0f, 0.0f})),
      Element(Tensor::from<double>(std::vector<double>(6, 0.25))
                  .reshaped(Shape{2, 3})),
      Element(Tensor::allocate<std::int32_t>(Shape{0, 5}).value()),
      Element::absent(),
      Element::tuple({}),
      Element::tuple(
          {Element(Tensor::scalar<std::uint8_t>(9)), Element::absent(),
           Element::dict({{"b", Element(Tensor::string("x"))},
                          {"a", Element::tuple({Element::absent()})}})}),
      Element::ragged(Tensor::from<std::int64_t>({1, 2, 3}),
                      {Tensor::from<std::int64_t>({0, 0, 2, 3})}),
      Element::ragged(Tensor::from<std::int64_t>({1, 2, 3}),
                      {Tensor::from<std::int64_t>({0, 1, 2}),
                       Tensor::from<std::int64_t>({0, 2, 3})}),
      Element(Structure::tuple({Structure::leaf()}, "Point"),
              {Tensor::scalar<std::int8_t>(1)}),
  };
}

TEST(ElementCodec, DecodesWhatItEncoded) {
  for (const Element& element : samples()) {
    const std::string bytes = encode_element(element).value();
    const auto back = decode_element(bytes);
    ASSERT_TRUE(back.ok()) << element.to_string() << ": " << back.status();
    EXPECT_EQ(*back, element) << element.to_string();
  }
}

TEST(ElementCodec, ReadsElementsOneAfterAnother) {
  Encoder out;
  for (const Element& e : samples()) ASSERT_TRUE(encode_element(e, out).ok());
  Decoder in(out.str());
  for (const Element& e : samples()) EXPECT_EQ(decode_element(in).value(), e);
  EXPECT_TRUE(in.at_end());
}

TEST(ElementCodec, EncodesAViewWithoutItsNeighbours) {
  const Tensor all = Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6});
  const Element part(all.rows(2, 4));
  EXPECT_LT(encode_element(part)->size(), 24u);
  EXPECT_EQ(decode_element(*encode_element(part)).value(), part);
  const std::vector<std::string_view> words = {"one", "two", "three"};
  const Element tail(Tensor::strings(words, Shape{3})->rows(1, 3));
  EXPECT_EQ(decode_element(*encode_element(tail)).value(), tail);
}

TEST(ElementCodec, RefusesWhatHasNoBytes) {
  EXPECT_EQ(encode_element(Element()).status().code(),
            StatusCode::kInvalidArgument);
  const Element object(Tensor::object(make_ref<Opaque>()));
  EXPECT_EQ(encode_element(object).status().message(),
            "a nested dataset has no bytes");
}

TEST(ElementCodec, RefusesEveryTruncation) {
  for (const Element& element : samples()) {
    const std::string bytes = encode_element(element).value();
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_EQ(decode_element(bytes.substr(0, n)).status().code(),
                StatusCode::kDataLoss)
          << element.to_string() << " cut at " << n;
    }
    EXPECT_EQ(decode_element(bytes + "x").status().code(),
              StatusCode::kDataLoss);
  }
}

TEST(ElementCodec, SurvivesDamagedBytes) {
  RandomStream random(42);
  for (const Element& element : samples()) {
    const std::string bytes = encode_element(element).value();
    for (int round = 0; round < 400; ++round) {
      std::string damaged = bytes;
      for (int k = 0; k < 1 + round % 3; ++k) {
        damaged[random.below(damaged.size())] =
            static_cast<char>(random.below(256));
      }
      const auto back = decode_element(damaged);
      // Whatever is accepted is a well-formed element.
      if (back.ok()) {
        EXPECT_EQ(decode_element(*encode_element(*back)).value(), *back);
      }
    }
  }
}

TEST(ElementCodec, RefusesHugeClaimsWithoutAllocating) {
  const auto tensor = [](DType dtype, std::vector<std::uint64_t> dims) {
    Encoder out;
    out.u64(1);
    out.u64(0);  // a leaf
    out.u64(static_cast<std::uint64_t>(dtype));
    out.u64(dims.size());
    for (std::uint64_t d : dims) out.u64(d);
    out.raw("12345678");
    return std::move(out).take();
  };
  for (const DType dtype : {DType::kInt64, DType::kString, DType::kBool}) {
    for (const auto& dims :
         std::vector<std::vector<std::uint64_t>>{{std::uint64_t{1} << 40},
                                                 {std::uint64_t{1} << 62, 4},
                                                 {~std::uint64_t{0}}}) {
      EXPECT_EQ(decode_element(tensor(dtype, dims)).status().code(),
                StatusCode::kDataLoss);
    }
  }
}

TEST(ElementCodec, RefusesDeepNesting) {
  Encoder out;
  out.u64(1);
  for (int i = 0; i < 100'000; ++i) {
    out.u64(static_cast<std::uint64_t>(Structure::Kind::kTuple));
    out.bytes("");
    out.u64(1);
  }
  EXPECT_EQ(decode_element(out.str()).status().code(), StatusCode::kDataLoss);
}

TEST(ElementCodec, RefusesSplitsOutsideTheValues) {
  for (const auto& splits : std::vector<std::vector<std::int64_t>>{
           {0, 4}, {0, 2, 1}, {1, 3}, {-1, 3}, {0, -1}}) {
    const Element bad(
        Structure::ragged(1),
        {Tensor::from<std::int64_t>({1, 2, 3}), Tensor::from(splits)});
    EXPECT_EQ(decode_element(*encode_element(bad)).status().code(),
              StatusCode::kDataLoss);
  }
}

TEST(ElementCodec, RefusesAnUnknownVersion) {
  std::string bytes = encode_element(Element::absent()).value();
  bytes[0] = 2;
  EXPECT_EQ(decode_element(bytes).status().message(),
            "element: version 2 is not known");
}

}  // namespace
}  // namespace penstock
