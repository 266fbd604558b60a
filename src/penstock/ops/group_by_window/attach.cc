#include "penstock/ops/group_by_window/attach.h"

#include <cstring>

namespace penstock::ops {
namespace {

bool is_whole(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
      return true;
    default:
      return false;
  }
}

template <class T>
std::int64_t load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return static_cast<std::int64_t>(value);
}

std::int64_t load(DType dtype, const std::byte* data) {
  switch (dtype) {
    case DType::kBool:
      return load<bool>(data);
    case DType::kInt8:
      return load<std::int8_t>(data);
    case DType::kInt16:
      return load<std::int16_t>(data);
    case DType::kInt32:
      return load<std::int32_t>(data);
    case DType::kUInt8:
      return load<std::uint8_t>(data);
    case DType::kUInt16:
      return load<std::uint16_t>(data);
    case DType::kUInt32:
      return load<std::uint32_t>(data);
    default:
      return load<std::int64_t>(data);
  }
}

class Attach final : public Transform {
 public:
  Attach(FunctionRef fn, std::string what)
      : fn_(std::move(fn)), what_(std::move(what)) {}

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    traits.user_code = fn_->user_code();
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    Block numbers;
    PS_RETURN_IF_ERROR(fn_->apply(block, context, numbers));
    const Column* column = !numbers.mixed() && numbers.columns().size() == 1
                               ? &numbers.column(0)
                               : nullptr;
    if (column != nullptr && column->packed() && column->tensor().rank() == 1 &&
        is_whole(column->tensor().dtype()) && !block.mixed() &&
        block.structure() != nullptr) {
      Block::Columns columns;
      columns.push_back(*column);
      for (const Column& c : block.columns()) columns.push_back(c);
      const Structure* structure =
          Structure::tuple({Structure::leaf(), block.structure()});
      Block out(structure, std::move(columns), block.size(), block.origins());
      out.errors() = numbers.errors();
      block = std::move(out);
      return absl::OkStatus();
    }
    BlockBuilder builder;
    for (std::int64_t row = 0; row < block.size(); ++row) {
      if (ErrorRef error = numbers.error_ref(row)) {
        builder.add_error(std::move(error));
        continue;
      }
      Element number = numbers.element(row);
      if (number.size() != 1 || number[0].rank() != 0 ||
          !is_whole(number[0].dtype())) {
        builder.add_error(context.error(
            invalid_argument(what_, " must give a whole number, it gave ",
                             Spec::of(number).to_string()),
            block.origins().at(row)));
        continue;
      }
      builder.add(Element::tuple({std::move(number), block.element(row)}));
    }
    const Origins origins = block.origins();
    PS_ASSIGN_OR_RETURN(block, builder.finish());
    block.set_origins(origins);
    return absl::OkStatus();
  }

 private:
  FunctionRef fn_;
  std::string what_;
};

}  // namespace

std::shared_ptr<const Transform> make_attach(FunctionRef fn, std::string what) {
  return std::make_shared<Attach>(std::move(fn), std::move(what));
}

StatusOr<Spec> check_number(const Function& fn, const Spec& input,
                            std::string_view what) {
  PS_ASSIGN_OR_RETURN(Spec spec, fn.output_spec(input));
  const bool fits =
      !spec.known() || (spec.structure() == Structure::leaf() &&
                        (spec.leaves()[0].dtype == DType::kInvalid ||
                         is_whole(spec.leaves()[0].dtype)) &&
                        spec.leaves()[0].shape.accepts(Shape{}));
  if (!fits) {
    return invalid_argument(to_absl(what),
                            " must give a whole number, it gives ",
                            spec.to_string());
  }
  return spec;
}

std::int64_t attached_number(const Block& block, std::int64_t row) {
  if (!block.mixed() && block.column(0).packed()) {
    const Tensor& t = block.column(0).tensor();
    return load(t.dtype(), t.data() + static_cast<std::size_t>(row) *
                                          dtype_size(t.dtype()));
  }
  const Element element = block.element(row);
  return load(element[0].dtype(), element[0].data());
}

StatusOr<Block> detach(Block block) {
  if (!block.mixed() && block.structure() != nullptr) {
    Block::Columns columns;
    for (std::size_t i = 1; i < block.columns().size(); ++i) {
      columns.push_back(std::move(block.columns()[i]));
    }
    block.replace(block.structure()->children()[1], std::move(columns));
    return block;
  }
  BlockBuilder builder;
  for (std::int64_t row = 0; row < block.size(); ++row) {
    if (ErrorRef error = block.error_ref(row)) {
      builder.add_error(std::move(error));
    } else {
      builder.add(block.element(row).child(1));
    }
  }
  PS_ASSIGN_OR_RETURN(Block out, builder.finish());
  out.set_origins(block.origins());
  return out;
}

}  // namespace penstock::ops
