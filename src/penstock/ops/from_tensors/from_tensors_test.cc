#include "tests/support/drain.h"

namespace penstock::testing {
namespace {

TEST(FromTensors, GivesOneElementThatSharesMemory) {
  const Tensor big = Tensor::from(std::vector<float>(10'000, 1.0f));
  const Dataset ds = Dataset::from_tensors(big);
  EXPECT_EQ(ds.cardinality(), Cardinality(1));
  EXPECT_EQ(ds.element_spec().to_string(), "float32(10000,)");
  const std::vector<Element> all = ds.to_list();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0][0].data(), big.data());
  EXPECT_EQ(ds.at(0)[0].data(), big.data());
}

TEST(FromTensors, KeepsStructure) {
  const Element element = Element::dict(
      {{"a", Tensor::scalar(1)},
       {"b", Element::tuple({Tensor::string("x"), Element::absent()})}});
  const Dataset ds = Dataset::from_tensors(element);
  EXPECT_EQ(ds.to_list(), std::vector<Element>{element});
  EXPECT_EQ(ds.element_spec().to_string(), "{'a': int32, 'b': (string, None)}");
}

TEST(FromTensors, RefusesWhatIsEmpty) {
  EXPECT_THAT(error_of([] { Dataset::from_tensors(Element()); }),
              ::testing::HasSubstr("from_tensors: element must be defined"));
  EXPECT_THAT(
      error_of([] {
        Dataset::from_tensors(Element::tuple({Tensor::scalar(1), Tensor()}));
      }),
      ::testing::HasSubstr("leaf 1 is not"));
}

TEST(FromTensors, FingerprintTellsContentsApart) {
  const auto of = [](int v) {
    return Dataset::from_tensors(Tensor::scalar(v)).fingerprint();
  };
  EXPECT_EQ(of(1), of(1));
  EXPECT_NE(of(1), of(2));
  EXPECT_NE(of(1), Dataset::from_tensors(Tensor::from({1})).fingerprint());
}

}  // namespace
}  // namespace penstock::testing
