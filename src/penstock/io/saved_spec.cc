#include "penstock/io/saved_spec.h"

#include "penstock/memory/element_codec.h"

namespace penstock {

void encode_spec(const Spec& spec, Encoder& out) {
  out.boolean(spec.known());
  if (!spec.known()) return;
  encode_structure(*spec.structure(), out);
  for (const LeafSpec& leaf : spec.leaves()) {
    out.u64(static_cast<std::uint64_t>(leaf.dtype));
    out.boolean(leaf.shape.has_rank());
    if (!leaf.shape.has_rank()) continue;
    out.u64(leaf.shape.rank());
    for (std::size_t d = 0; d < leaf.shape.rank(); ++d) {
      out.i64(leaf.shape[d]);
    }
  }
}

StatusOr<Spec> decode_spec(Decoder& in) {
  if (!in.boolean()) return Spec();
  PS_ASSIGN_OR_RETURN(const Structure* structure, decode_structure(in));
  std::vector<LeafSpec> leaves(structure->num_leaves());
  for (LeafSpec& leaf : leaves) {
    const std::uint64_t dtype = in.u64();
    if (dtype >= static_cast<std::uint64_t>(kNumDTypes)) in.fail();
    if (!in.ok()) break;
    leaf.dtype = static_cast<DType>(dtype);
    if (!in.boolean()) continue;
    Shape dims;
    const std::size_t rank = in.count();
    for (std::size_t d = 0; d < rank; ++d) {
      dims.push_back(in.i64());
      if (dims[d] < kUnknownDim) in.fail();
    }
    leaf.shape = PartialShape(dims);
  }
  PS_RETURN_IF_ERROR(in.status("a saved spec"));
  return Spec(structure, std::move(leaves));
}

}  // namespace penstock
