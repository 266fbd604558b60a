#include "penstock/graph/rows.h"

#include <cstring>

namespace penstock {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Leaf `leaf` of all rows, which are `width` bytes each, as they lie in
/// memory; undefined if they do not lie side by side.
Tensor side_by_side(std::span<const Rows> parts, std::size_t leaf,
                    std::int64_t width, std::int64_t total) {
  const Tensor& first = parts.front().block().column(leaf).tensor();
  const std::byte* expected = nullptr;
  for (const Rows& part : parts) {
    const Tensor& t = part.block().column(leaf).tensor();
    if (!part.contiguous() || !t.buffer() || t.buffer() != first.buffer()) {
      return {};
    }
    const std::byte* begin = t.data() + width * part.at(0);
    if (expected != nullptr && begin != expected) return {};
    expected = begin + width * part.size();
  }
  Shape shape = first.shape();
  shape[0] = total;
  return Tensor::from_buffer(first.dtype(), shape, first.buffer(),
                             first.data() + width * parts.front().at(0));
}

/// Where leaf `leaf` of every row lies; a packed column if all are alike.
StatusOr<Column> join_column(std::span<const Rows> parts, std::size_t leaf,
                             std::int64_t total) {
  const Column& sample = parts.front().block().column(leaf);
  bool packed = sample.packed();
  const DType dtype = packed ? sample.tensor().dtype() : DType::kInvalid;
  const Shape shape =
      packed ? sample.tensor().shape().without_first() : Shape();
  const bool strings = dtype == DType::kString;
  const Block* last = &parts.front().block();
  for (const Rows& part : parts) {
    if (!packed) break;
    if (&part.block() == last) continue;
    last = &part.block();
    const Column& column = last->column(leaf);
    packed = column.packed() && column.tensor().dtype() == dtype &&
             column.tensor().shape().without_first() == shape;
  }
  const std::int64_t width =
      shape.num_elements() * static_cast<std::int64_t>(dtype_size(dtype));
  if (packed && strings && shape.rank() == 0) {
    std::vector<std::string_view> values;
    values.reserve(at(total));
    for (const Rows& part : parts) {
      const Tensor& t = part.block().column(leaf).tensor();
      for (std::int64_t i = 0; i < part.size(); ++i) {
        values.push_back(t.str(part.at(i)));
      }
    }
    const auto owners = [&] {
      std::vector<Ref<Buffer>> out;
      for (const Rows& part : parts) {
        out.push_back(part.block().column(leaf).tensor().string_owner());
      }
      return out;
    };
    PS_ASSIGN_OR_RETURN(Tensor joined,
                        join_strings(values, Shape{total}, owners));
    return Column(std::move(joined));
  }
  if (packed && !strings && dtype != DType::kObject && width < kMaxCopiedRow) {
    if (Tensor view = side_by_side(parts, leaf, width, total); view.defined()) {
      return Column(std::move(view));
    }
    PS_ASSIGN_OR_RETURN(Tensor joined,
                        Tensor::allocate(dtype, shape.prepended(total)));
    std::byte* to = joined.mutable_data();
    for (const Rows& part : parts) {
      const std::byte* from = part.block().column(leaf).tensor().data();
      for (std::int64_t i = 0; i < part.size(); ++i) {
        if (width == 8) {
          std::memcpy(to, from + 8 * part.at(i), 8);
        } else {
          std::memcpy(to, from + width * part.at(i), at(width));
        }
        to += width;
      }
    }
    return Column(std::move(joined));
  }
  std::vector<Tensor> rows;
  rows.reserve(at(total));
  for (const Rows& part : parts) {
    const Column& column = part.block().column(leaf);
    for (std::int64_t i = 0; i < part.size(); ++i) {
      rows.push_back(column.row(part.at(i)));
    }
  }
  return Column(std::move(rows));
}

}  // namespace

StatusOr<Block> join_rows(std::span<const Rows> parts) {
  const Structure* structure = parts.front().block().structure();
  bool alike = structure != nullptr;
  std::int64_t total = 0;
  for (const Rows& part : parts) {
    alike =
        alike && part.block().structure() == structure && !part.block().mixed();
    total += part.size();
  }
  if (!alike) {
    std::vector<Block> blocks;
    for (const Rows& part : parts) {
      PS_ASSIGN_OR_RETURN(Block block, part.materialize());
      blocks.push_back(std::move(block));
    }
    return join_blocks(blocks);
  }
  OriginsBuilder origins;
  Block::Errors errors;
  std::int64_t row = 0;
  for (const Rows& part : parts) {
    const Block& block = part.block();
    if (part.contiguous()) {
      origins.append(block.origins(), part.at(0), part.size());
    }
    for (std::int64_t i = 0; i < part.size(); ++i, ++row) {
      if (!part.contiguous()) origins.append(block.origins(), part.at(i), 1);
      if (block.errors().empty()) continue;
      if (ErrorRef error = block.error_ref(part.at(i))) {
        errors.emplace_back(row, std::move(error));
      }
    }
  }
  Block::Columns columns;
  for (std::size_t leaf = 0; leaf < structure->num_leaves(); ++leaf) {
    PS_ASSIGN_OR_RETURN(Column column, join_column(parts, leaf, total));
    columns.push_back(std::move(column));
  }
  Block out(structure, std::move(columns), total, origins.finish());
  out.errors() = std::move(errors);
  return out;
}

bool Rows::whole_and_unshared() const {
  return contiguous() && begin_ == 0 && count_ == block().size() &&
         block_->unique();
}

StatusOr<Block> Rows::take_block() {
  if (whole_and_unshared()) {
    return std::move(const_cast<SharedBlock&>(*block_).block);
  }
  return materialize();
}

Ref<SharedBlock> Rows::take_whole() {
  if (is_lazy() || !whole_and_unshared()) return nullptr;
  count_ = 0;
  return Ref<SharedBlock>::adopt(const_cast<SharedBlock*>(block_.detach()));
}

StatusOr<Block> Rows::materialize() const {
  if (contiguous()) {
    if (begin_ == 0 && count_ == block().size()) return block();
    return block().slice(begin_, begin_ + count_);
  }
  const std::span<const std::int64_t> list(*list_);
  return block().gather(list.subspan(static_cast<std::size_t>(begin_),
                                     static_cast<std::size_t>(count_)));
}

}  // namespace penstock
