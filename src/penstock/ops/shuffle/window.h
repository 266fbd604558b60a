// The storage of a shuffle window: slots that hold one element each.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/ops/shuffle/narrow_ints.h"

namespace penstock::ops {

/// Elements by slot number. Picks the cheapest form at the first element and
/// widens when an element does not fit: positions of an indexed chain, columns
/// of small fixed-size values, or handles.
class Window {
 public:
  /// So many slots there will be. Only at the start.
  void expect(std::int64_t slots) { expected_ = slots; }
  /// Makes `slots` empty slots, to be filled in any order. Only at the start.
  void reserve(std::int64_t slots) { reserved_ = slots; }
  /// Puts row `row` of `rows` into `slot`, which is new or was let out.
  void put(std::int64_t slot, const Rows& rows, std::int64_t row);
  /// Appends the element in `slot` to the output; the slot is free then.
  void let_out(std::int64_t slot);
  /// The last slot's element moves to `to`, which is free.
  void shrink_into(std::int64_t to);
  /// What was let out since the last call, for `out`.
  Status flush(Outputs& out);
  std::int64_t size() const { return slots_; }
  std::int64_t bytes() const;

 private:
  enum class Form : std::uint8_t { kEmpty, kPositions, kColumns, kHandles };
  struct Leaf {
    DType dtype;
    Shape shape;
    std::size_t width;
    std::vector<std::byte> values;
    std::vector<std::byte> out;
  };
  struct Handle {
    Element element;
    ErrorRef error;
    Origin origin;
  };

  bool fits_columns(const Block& block) const;
  void start(const Rows& rows);
  /// Bytes for all slots of `width` bytes, within reason.
  std::size_t expected_room(std::size_t width) const;
  void to_handles();
  void put_handle(std::int64_t slot, const Block& block, std::int64_t row);
  /// Where an element of so many bytes goes that is let out.
  BlockBuilder& handles_out(std::int64_t bytes);
  Origin origin_of(std::int64_t slot) const;
  Element element_of(const std::vector<std::byte> Leaf::*store,
                     std::int64_t row) const;

  Form form_ = Form::kEmpty;
  std::int64_t slots_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t expected_ = 0;
  NarrowInts positions_;
  std::vector<std::int64_t> positions_out_;

  const Structure* structure_ = nullptr;
  std::vector<Leaf> leaves_;
  NarrowInts ordinals_;
  PathRef path_;                // of all origins, or
  std::vector<PathRef> paths_;  // one per slot
  std::unordered_map<std::int64_t, ErrorRef> errors_;
  OriginsBuilder origins_out_;
  Block::Errors errors_out_;
  std::int64_t rows_out_ = 0;

  std::vector<Handle> handles_;
  std::int64_t handle_bytes_ = 0;
  std::vector<BlockBuilder> handles_out_;  // a block each
  std::int64_t last_out_bytes_ = 0;        // of the last one
};

}  // namespace penstock::ops
