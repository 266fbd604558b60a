#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;

TEST(FromList, GivesTheElementsItself) {
  const Tensor big = Tensor::from(std::vector<double>(1000, 2.0));
  const Dataset ds = Dataset::from_list({big, big, big});
  EXPECT_EQ(ds.cardinality(), Cardinality(3));
  EXPECT_EQ(ds.element_spec().to_string(), "float64(1000,)");
  for (const Element& e : ds) EXPECT_EQ(e[0].data(), big.data());
  EXPECT_EQ(ds.at(1)[0].data(), big.data());
}

TEST(FromList, WidensTheSpecToAllShapes) {
  const auto spec = [](std::vector<Element> elements) {
    return Dataset::from_list(std::move(elements)).element_spec().to_string();
  };
  const auto zeros = [](const Shape& shape) {
    return Element(Tensor::from(
        std::span<const float>(
            std::vector<float>(static_cast<std::size_t>(shape.num_elements()))),
        shape));
  };
  EXPECT_EQ(spec({zeros({2, 3}), zeros({2, 3})}), "float32(2, 3)");
  EXPECT_EQ(spec({zeros({2, 3}), zeros({2, 4}), zeros({2, 3})}),
            "float32(2, ?)");
  EXPECT_EQ(spec({zeros({2, 3}), zeros({2, 4}), zeros({1, 3})}),
            "float32(?, ?)");
  EXPECT_EQ(spec({zeros({2, 3}), zeros({6}), zeros({2, 3})}),
            "float32<unknown>");
  EXPECT_EQ(Dataset::from_list({zeros({2}), zeros({3})}).to_list(),
            (std::vector<Element>{zeros({2}), zeros({3})}));
}

TEST(FromList, RefusesMixedStructuresAndDtypes) {
  EXPECT_EQ(error_of([] {
              Dataset::from_list(
                  {Tensor::scalar(1), Tensor::scalar(2), Tensor::scalar(0.5)});
            }),
            "from_list: elements 0 and 2 must have one structure and dtype; "
            "dtypes of leaf 0 differ: int32 and float64");
  EXPECT_EQ(error_of([] {
              Dataset::from_list(
                  {Tensor::scalar(1), Element::tuple({Tensor::scalar(1)})});
            }),
            "from_list: elements 0 and 1 must have one structure and dtype; "
            "structures differ: int32 and (int32,)");
  EXPECT_EQ(error_of([] {
              Dataset::from_list({Tensor::scalar(1), Element()});
            }),
            "from_list: element 1 must be defined, got an empty one");
  EXPECT_EQ(error_of([] {
              Dataset::from_list({Tensor::scalar(1), Tensor()});
            }),
            "from_list: every tensor must be defined, one of element 1 is not");
}

TEST(FromList, MayBeEmpty) {
  const Dataset ds = Dataset::from_list({});
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_FALSE(ds.element_spec().known());
  EXPECT_THAT(drain(ds), ElementsAre());
  EXPECT_THAT(drain(ds.batch(2)), ElementsAre());
}

TEST(FromList, AStateOfAnotherListIsRefused) {
  const auto list = [](std::int64_t last) {
    return Dataset::from_list(
        {Tensor::scalar(std::int64_t{1}), Tensor::scalar(last)});
  };
  Iterator it = list(2).iterator();
  it.next();
  const std::string state = it.state_dict();
  Iterator same = list(2).iterator(state);
  EXPECT_THAT(drain(same), ElementsAre("2"));
  EXPECT_THAT(error_of([&] { list(3).iterator(state); }),
              ::testing::HasSubstr("another pipeline"));
}

TEST(FromList, FingerprintsTellLargeDataApartByItsEnd) {
  const auto ints = [](std::int64_t last) {
    std::vector<std::int64_t> values(100'000);
    values.back() = last;
    return values;
  };
  const auto list = [&ints](std::int64_t last) {
    std::vector<Element> elements;
    for (const std::int64_t v : ints(last)) {
      elements.emplace_back(Tensor::scalar(v));
    }
    return Dataset::from_list(std::move(elements));
  };
  const auto slices = [&ints](std::int64_t last) {
    return Dataset::from_tensor_slices(Tensor::from(ints(last)));
  };
  EXPECT_EQ(list(1).fingerprint(), list(1).fingerprint());
  EXPECT_NE(list(1).fingerprint(), list(2).fingerprint());
  EXPECT_EQ(slices(1).fingerprint(), slices(1).fingerprint());
  EXPECT_NE(slices(1).fingerprint(), slices(2).fingerprint());
}

TEST(FromList, ASeedOfAnyValueIsPartOfTheFingerprint) {
  const auto shuffled = [](std::optional<std::uint64_t> seed) {
    return Dataset::range(9).shuffle({.buffer_size = 3, .seed = seed});
  };
  EXPECT_NE(shuffled({}).fingerprint(), shuffled(~0ULL).fingerprint());
  EXPECT_NE(shuffled({}).fingerprint(), shuffled(0).fingerprint());
}

}  // namespace
}  // namespace penstock::testing
