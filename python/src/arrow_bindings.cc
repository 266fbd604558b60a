// Dataset.from_arrow: anything with __arrow_c_stream__.

#include "bindings.h"
#include "interpreter.h"
#include "penstock/formats/arrow.h"
#include "penstock/memory/ragged.h"
#include "text.h"

namespace penstock::python {
namespace {

// More batches than this are put together, by copying: each is a source of its
// own otherwise.
constexpr std::size_t kMaxSources = 64;

StatusOr<Element> joined(std::span<const Element> batches) {
  Element::Leaves leaves;
  for (const RaggedComponent& c : ragged_components(batches[0].structure())) {
    std::vector<Element::Leaves> parts;
    for (const Element& batch : batches) {
      const auto* const first = batch.leaves().data() + c.first_leaf;
      parts.emplace_back(first, first + c.num_leaves());
    }
    PS_ASSIGN_OR_RETURN(Element::Leaves all, concat_ragged(parts));
    for (Tensor& t : all) leaves.push_back(std::move(t));
  }
  return Element(batches[0].structure(), std::move(leaves));
}

/// Halves, so that the chain of concatenations stays shallow.
Dataset concatenated(std::span<const Element> batches,
                     const std::string& name) {
  if (batches.size() == 1) {
    return Dataset::from_tensor_slices(batches[0], name);
  }
  const std::size_t half = batches.size() / 2;
  return concatenated(batches.first(half), name)
      .concatenate(concatenated(batches.subspan(half), name));
}

Dataset from_arrow(nb::object capsule, const std::string& name) {
  auto* const stream = static_cast<ArrowArrayStream*>(
      PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  StatusOr<std::vector<Element>> batches;
  {
    const WorkingWithoutGil released;
    batches = read_arrow_stream(*stream);
  }
  if (!batches.ok()) {
    throw Error(annotate(batches.status(), "from_arrow: "));
  }
  if (batches->empty()) {
    throw Error(invalid_argument("from_arrow: the stream has no record batch"));
  }
  if (batches->size() > kMaxSources) {
    const std::size_t each = (batches->size() + kMaxSources - 1) / kMaxSources;
    std::vector<Element> fewer;
    for (std::size_t i = 0; i < batches->size(); i += each) {
      const std::size_t n = std::min(each, batches->size() - i);
      fewer.push_back(value_or_raise(
          joined(std::span<const Element>(*batches).subspan(i, n))));
    }
    *batches = std::move(fewer);
  }
  return concatenated(*batches, name);
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def("from_arrow", &from_arrow, nb::arg("capsule"), nb::arg("name"));
}

}  // namespace penstock::python
