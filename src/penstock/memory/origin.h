// Where an element comes from: the path of ordinals that sources and nested
// datasets gave it.
//
// Random keys and reported indices use the origin, never the position in a
// queue, so that no rewrite, cut or worker count changes a value. Sources
// number their elements; repeat, concatenate and nested datasets extend the
// path; batches and windows number anew; filters and shuffles keep it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/base/ref.h"

namespace penstock {

/// The part of an origin that many elements share. Null is the root.
class OriginPath final : public RefCounted<OriginPath> {
 public:
  enum class Kind : std::uint8_t { kRepeat, kBranch, kInner };

  static Ref<const OriginPath> extend(Ref<const OriginPath> parent, Kind kind,
                                      std::int64_t ordinal);
  /// The same path, with the name of the file whose records it leads to.
  static Ref<const OriginPath> of_file(const Ref<const OriginPath>& path,
                                       std::string file);
  std::uint64_t hash() const { return hash_; }
  Kind kind() const { return kind_; }
  std::int64_t ordinal() const { return ordinal_; }
  const Ref<const OriginPath>& parent() const { return parent_; }
  /// For messages; empty where there is none.
  const std::string& file() const { return file_; }

 private:
  Ref<const OriginPath> parent_;
  Kind kind_ = Kind::kInner;
  std::int64_t ordinal_ = 0;
  std::uint64_t hash_ = 0;
  std::string file_;
};
using PathRef = Ref<const OriginPath>;

inline std::uint64_t path_hash(const PathRef& path) {
  return path ? path->hash() : 0;
}

struct Origin {
  PathRef path;
  std::int64_t ordinal = 0;

  /// Mixed into every random key.
  std::uint64_t key() const;
  /// "17", "3.17" for element 17 of the dataset that element 3 became,
  /// "17 (repetition 2)".
  std::string to_string() const;
};

/// The origins of a block's elements: base + i * step under one path, or
/// listed one by one. Copies share the list.
class Origins {
 public:
  Origins() = default;
  Origins(PathRef path, std::int64_t base, std::int64_t step = 1)
      : path_(std::move(path)), base_(base), step_(step) {}
  Origins(PathRef path, std::vector<std::int64_t> ordinals)
      : path_(std::move(path)),
        ordinals_(std::make_shared<const std::vector<std::int64_t>>(
            std::move(ordinals))) {}
  explicit Origins(std::vector<Origin> list)
      : list_(std::make_shared<const std::vector<Origin>>(std::move(list))) {}

  Origin at(std::int64_t i) const;
  std::uint64_t key_at(std::int64_t i) const;
  /// The origins of rows [begin, ...).
  Origins slice(std::int64_t begin) const;
  Origins select(std::span<const std::int64_t> rows) const;
  /// All origins lie under path(); ordinal_at() alone tells them apart.
  bool single_path() const { return list_ == nullptr; }
  const PathRef& path() const { return path_; }
  std::int64_t ordinal_at(std::int64_t i) const;
  bool affine() const { return !list_ && !ordinals_; }
  std::int64_t base() const { return base_; }
  std::int64_t step() const { return step_; }

 private:
  friend class OriginsBuilder;
  PathRef path_;
  std::int64_t base_ = 0;
  std::int64_t step_ = 1;
  std::int64_t offset_ = 0;  // into ordinals_ or list_
  std::shared_ptr<const std::vector<std::int64_t>> ordinals_;
  std::shared_ptr<const std::vector<Origin>> list_;
};

/// Joins pieces; stays affine where they continue each other.
class OriginsBuilder {
 public:
  void append(const Origins& origins, std::int64_t begin, std::int64_t count);
  void append(Origin origin);
  Origins finish();

 private:
  void spill();
  bool any_ = false;
  Origins run_;  // the origins so far, while they are affine
  std::int64_t count_ = 0;
  bool listed_ = false;
  bool mixed_ = false;
  std::vector<std::int64_t> ordinals_;
  std::vector<Origin> list_;
};

}  // namespace penstock
