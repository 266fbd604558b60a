// The shape of an element: how its tensors nest in tuples and dicts.
//
// Structures are interned for the life of the process, so that equality is
// pointer equality and an Element carries one raw pointer. A ragged value is a
// node too: its leaves are `values` followed by one row_splits per level.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

class Structure {
 public:
  enum class Kind : std::uint8_t { kLeaf, kTuple, kDict, kAbsent, kRagged };

  static const Structure* leaf();
  static const Structure* absent();
  static const Structure* tuple(std::vector<const Structure*> children,
                                std::string tag = "");
  static const Structure* dict(
      std::vector<std::pair<std::string, const Structure*>> items,
      std::string tag = "");
  /// values + `ragged_rank` row_splits.
  static const Structure* ragged(int ragged_rank);
  /// A tuple of `n` leaves.
  static const Structure* leaves(std::size_t n);

  Kind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == Kind::kLeaf; }
  /// Number of tensors in an element of this structure.
  std::size_t num_leaves() const { return num_leaves_; }
  std::span<const Structure* const> children() const { return children_; }
  std::span<const std::string> keys() const { return keys_; }
  int ragged_rank() const { return ragged_rank_; }
  /// Whether a ragged value is anywhere in it.
  bool has_ragged() const;
  /// Distinguishes types of equal shape (a named tuple's class); may be empty.
  const std::string& tag() const { return tag_; }
  /// First leaf of child `i`.
  std::size_t leaf_offset(std::size_t i) const { return offsets_[i]; }
  /// Child of a dict by key, or children().size().
  std::size_t find(std::string_view key) const;

  /// "(a, b)" with `leaves` in place of the leaves.
  std::string render(std::span<const std::string> leaves) const;
  std::string to_string() const;

 private:
  friend struct StructureTable;
  Structure() = default;
  void render_into(std::string& out, std::span<const std::string> leaves,
                   std::size_t& at) const;

  Kind kind_ = Kind::kLeaf;
  int ragged_rank_ = 0;
  std::size_t num_leaves_ = 1;
  std::vector<const Structure*> children_;
  std::vector<std::string> keys_;
  std::vector<std::size_t> offsets_;
  std::string tag_;
};

}  // namespace penstock
