#include "penstock/ops/shuffle/window.h"

#include <algorithm>
#include <cstring>

namespace penstock::ops {
namespace {

// Beyond this a handle costs less than the copy in and out.
constexpr std::size_t kMaxColumnWidth = 256;

// A block stays charged until its last row is used: large elements travel in
// blocks of their own.
constexpr std::int64_t kBlockBytes = 256 * 1024;

// Room taken in advance, per leaf.
constexpr std::size_t kMaxExpectedBytes = std::size_t{256} << 20;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::size_t Window::expected_room(std::size_t width) const {
  return std::min(at(expected_), kMaxExpectedBytes / std::max(width, at(1))) *
         width;
}

bool Window::fits_columns(const Block& block) const {
  if (block.structure() == nullptr || block.mixed()) return false;
  for (std::size_t i = 0; i < block.columns().size(); ++i) {
    const Column& column = block.column(i);
    if (!column.packed() || !dtype_is_dense(column.tensor().dtype())) {
      return false;
    }
    if (form_ == Form::kEmpty) continue;
    const Tensor& t = column.tensor();
    const Leaf& leaf = leaves_[i];
    if (block.structure() != structure_ || t.dtype() != leaf.dtype ||
        !(t.shape().without_first() == leaf.shape)) {
      return false;
    }
  }
  return true;
}

void Window::start(const Rows& rows) {
  if (rows.is_lazy()) {
    form_ = Form::kPositions;
    return;
  }
  const Block& block = rows.block();
  std::size_t width = 0;
  if (fits_columns(block)) {
    for (const Column& column : block.columns()) {
      const Tensor& t = column.tensor();
      Leaf leaf{t.dtype(), t.shape().without_first(), 0, {}, {}};
      leaf.width = at(leaf.shape.num_elements()) * dtype_size(leaf.dtype);
      width += leaf.width;
      leaves_.push_back(std::move(leaf));
    }
    structure_ = block.structure();
    form_ = width <= kMaxColumnWidth ? Form::kColumns : Form::kHandles;
  } else {
    form_ = Form::kHandles;
  }
}

void Window::put(std::int64_t slot, const Rows& rows, std::int64_t row) {
  if (form_ == Form::kEmpty) {
    start(rows);
    slots_ = reserved_;
    const std::size_t n = at(reserved_);
    if (form_ == Form::kPositions) {
      positions_.reserve(expected_);
      positions_.resize(n);
    }
    if (form_ == Form::kHandles) handles_.resize(n);
    if (form_ == Form::kColumns) {
      for (Leaf& leaf : leaves_) {
        leaf.values.reserve(expected_room(leaf.width));
        leaf.values.resize(n * leaf.width);
      }
      ordinals_.reserve(expected_);
      ordinals_.resize(n);
      path_ = rows.block().origins().at(rows.at(row)).path;
    }
  }
  if (form_ == Form::kPositions) {
    if (slot == slots_) {
      positions_.push_back(rows.at(row), expected_);
      ++slots_;
    } else {
      positions_.set(at(slot), rows.at(row));
    }
    return;
  }
  const Block& block = rows.block();
  const std::int64_t r = rows.at(row);
  if (form_ == Form::kColumns && !fits_columns(block)) to_handles();
  if (form_ == Form::kHandles) return put_handle(slot, block, r);
  if (slot == slots_) {
    ++slots_;
    for (Leaf& leaf : leaves_) leaf.values.resize(at(slots_) * leaf.width);
    ordinals_.resize(at(slots_));
  }
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    Leaf& leaf = leaves_[i];
    std::memcpy(leaf.values.data() + at(slot) * leaf.width,
                block.column(i).tensor().data() + at(r) * leaf.width,
                leaf.width);
  }
  Origin origin = block.origins().at(r);
  ordinals_.set(at(slot), origin.ordinal);
  if (paths_.empty()) {
    if (slots_ == 1 && reserved_ == 0) path_ = origin.path;
    if (!(path_ == origin.path)) paths_.assign(at(slots_), path_);
  }
  if (!paths_.empty()) {
    paths_.resize(at(slots_));
    paths_[at(slot)] = std::move(origin.path);
  }
  if (!block.errors().empty()) {
    if (ErrorRef error = block.error_ref(r)) errors_[slot] = std::move(error);
  }
}

void Window::put_handle(std::int64_t slot, const Block& block,
                        std::int64_t row) {
  if (slot == slots_) {
    handles_.emplace_back();
    ++slots_;
  }
  Handle& handle = handles_[at(slot)];
  handle_bytes_ -= handle.element.byte_size();
  handle.origin = block.origins().at(row);
  handle.error = block.error_ref(row);
  handle.element = handle.error ? Element() : block.element(row);
  for (Tensor& t : handle.element.mutable_leaves()) {
    if (t.pins_more()) {
      auto copy = t.compact();
      if (copy.ok()) t = *std::move(copy);
    }
  }
  handle_bytes_ += handle.element.byte_size();
}

Element Window::element_of(const std::vector<std::byte> Leaf::*store,
                           std::int64_t row) const {
  Element element(structure_, {});
  for (const Leaf& leaf : leaves_) {
    const std::byte* value = (leaf.*store).data() + at(row) * leaf.width;
    Tensor t;
    if (leaf.shape.rank() == 0) {
      t = Tensor::scalar_bytes(leaf.dtype, value);
    } else {
      t = Tensor::allocate(leaf.dtype, leaf.shape).value();
      std::memcpy(t.mutable_data(), value, leaf.width);
    }
    element.mutable_leaves().push_back(std::move(t));
  }
  return element;
}

void Window::to_handles() {
  handles_.resize(at(slots_));
  for (std::int64_t slot = 0; slot < slots_; ++slot) {
    Handle& handle = handles_[at(slot)];
    handle.origin = origin_of(slot);
    if (const auto error = errors_.find(slot); error != errors_.end()) {
      handle.error = error->second;
      continue;
    }
    handle.element = element_of(&Leaf::values, slot);
    handle_bytes_ += handle.element.byte_size();
  }
  // Rows already let out keep their place in front of what follows.
  const Origins origins = origins_out_.finish();
  std::size_t next_error = 0;
  for (std::int64_t row = 0; row < rows_out_; ++row) {
    if (next_error < errors_out_.size() &&
        errors_out_[next_error].first == row) {
      handles_out(0).add_error(errors_out_[next_error++].second,
                               origins.at(row));
    } else {
      Element element = element_of(&Leaf::out, row);
      const std::int64_t bytes = element.byte_size();
      handles_out(bytes).add(std::move(element), origins.at(row));
    }
  }
  form_ = Form::kHandles;
  leaves_.clear();
  ordinals_.clear();
  paths_.clear();
  errors_.clear();
  errors_out_.clear();
  origins_out_ = OriginsBuilder();
  rows_out_ = 0;
}

Origin Window::origin_of(std::int64_t slot) const {
  return {paths_.empty() ? path_ : paths_[at(slot)], ordinals_[at(slot)]};
}

BlockBuilder& Window::handles_out(std::int64_t bytes) {
  if (handles_out_.empty() || last_out_bytes_ + bytes > kBlockBytes) {
    handles_out_.emplace_back();
    last_out_bytes_ = 0;
  }
  last_out_bytes_ += bytes;
  return handles_out_.back();
}

void Window::let_out(std::int64_t slot) {
  switch (form_) {
    case Form::kEmpty:
      return;
    case Form::kPositions:
      positions_out_.push_back(positions_[at(slot)]);
      return;
    case Form::kHandles: {
      Handle& handle = handles_[at(slot)];
      const std::int64_t bytes = handle.element.byte_size();
      handle_bytes_ -= bytes;
      if (handle.error) {
        handles_out(0).add_error(std::move(handle.error),
                                 std::move(handle.origin));
      } else {
        handles_out(bytes).add(std::move(handle.element),
                               std::move(handle.origin));
      }
      handle = {};
      return;
    }
    case Form::kColumns:
      for (Leaf& leaf : leaves_) {
        const std::byte* value = leaf.values.data() + at(slot) * leaf.width;
        leaf.out.insert(leaf.out.end(), value, value + leaf.width);
      }
      origins_out_.append(origin_of(slot));
      if (auto e = errors_.find(slot); e != errors_.end()) {
        errors_out_.emplace_back(rows_out_, std::move(e->second));
        errors_.erase(e);
      }
      ++rows_out_;
  }
}

void Window::shrink_into(std::int64_t to) {
  const std::int64_t from = --slots_;
  switch (form_) {
    case Form::kEmpty:
      return;
    case Form::kPositions:
      positions_.set(at(to), positions_[at(from)]);
      positions_.pop_back();
      return;
    case Form::kHandles:
      if (from != to) handles_[at(to)] = std::move(handles_[at(from)]);
      handles_.pop_back();
      return;
    case Form::kColumns:
      for (Leaf& leaf : leaves_) {
        if (from != to) {
          std::memcpy(leaf.values.data() + at(to) * leaf.width,
                      leaf.values.data() + at(from) * leaf.width, leaf.width);
        }
        leaf.values.resize(at(from) * leaf.width);
      }
      ordinals_.set(at(to), ordinals_[at(from)]);
      ordinals_.pop_back();
      if (!paths_.empty()) {
        paths_[at(to)] = paths_[at(from)];
        paths_.pop_back();
      }
      if (from != to) {
        if (auto e = errors_.find(from); e != errors_.end()) {
          errors_[to] = std::move(e->second);
          errors_.erase(from);
        }
      }
  }
}

Status Window::flush(Outputs& out) {
  if (!positions_out_.empty()) {
    out.emit(Rows::listed(nullptr, std::move(positions_out_)));
    positions_out_.clear();
  }
  for (BlockBuilder& handles : handles_out_) {
    PS_ASSIGN_OR_RETURN(Block block, handles.finish());
    out.emit_block(std::move(block));
  }
  handles_out_.clear();
  if (rows_out_ > 0) {
    Block::Columns columns;
    for (Leaf& leaf : leaves_) {
      PS_ASSIGN_OR_RETURN(
          Tensor t,
          Tensor::allocate(leaf.dtype, leaf.shape.prepended(rows_out_)));
      std::memcpy(t.mutable_data(), leaf.out.data(), leaf.out.size());
      leaf.out.clear();
      columns.emplace_back(std::move(t));
    }
    Block block(structure_, std::move(columns), rows_out_,
                origins_out_.finish());
    block.errors() = std::move(errors_out_);
    errors_out_.clear();
    origins_out_ = OriginsBuilder();
    rows_out_ = 0;
    out.emit_block(std::move(block));
  }
  return absl::OkStatus();
}

std::int64_t Window::bytes() const {
  std::int64_t n = handle_bytes_ + positions_.bytes() + ordinals_.bytes() +
                   static_cast<std::int64_t>(paths_.size() * 8 +
                                             handles_.size() * sizeof(Handle));
  for (const Leaf& leaf : leaves_) {
    n += static_cast<std::int64_t>(leaf.values.size());
  }
  return n;
}

}  // namespace penstock::ops
