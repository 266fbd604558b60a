#include "penstock/memory/origin.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/base/random.h"

namespace penstock {

PathRef OriginPath::extend(PathRef parent, Kind kind, std::int64_t ordinal) {
  auto node = make_ref<OriginPath>();
  node->kind_ = kind;
  node->ordinal_ = ordinal;
  node->hash_ =
      mix64(mix64(path_hash(parent), static_cast<std::uint64_t>(kind) + 1),
            static_cast<std::uint64_t>(ordinal));
  node->parent_ = std::move(parent);
  return node;
}

PathRef OriginPath::of_file(const PathRef& path, std::string file) {
  if (!path) return path;
  auto node = make_ref<OriginPath>();
  node->parent_ = path->parent_;
  node->kind_ = path->kind_;
  node->ordinal_ = path->ordinal_;
  node->hash_ = path->hash_;
  node->file_ = std::move(file);
  return node;
}

std::uint64_t Origin::key() const {
  return mix64(path_hash(path), static_cast<std::uint64_t>(ordinal));
}

std::string Origin::to_string() const {
  std::string index = absl::StrCat(ordinal);
  std::string notes;
  std::string repetition;  // of the outermost repeat first
  bool repeated = false;
  for (const OriginPath* p = path.get(); p != nullptr; p = p->parent().get()) {
    switch (p->kind()) {
      case OriginPath::Kind::kInner:
        index = absl::StrCat(p->ordinal(), ".", index);
        break;
      case OriginPath::Kind::kRepeat:
        repetition = repetition.empty()
                         ? absl::StrCat(p->ordinal())
                         : absl::StrCat(p->ordinal(), ".", repetition);
        repeated |= p->ordinal() > 0;
        break;
      case OriginPath::Kind::kBranch:
        absl::StrAppend(&notes, notes.empty() ? "" : ", ", "input ",
                        p->ordinal());
        break;
    }
  }
  if (repeated) {
    absl::StrAppend(&notes, notes.empty() ? "" : ", ", "repetition ",
                    repetition);
  }
  return notes.empty() ? index : absl::StrCat(index, " (", notes, ")");
}

Origin Origins::at(std::int64_t i) const {
  if (list_) return (*list_)[static_cast<std::size_t>(offset_ + i)];
  return {path_, ordinal_at(i)};
}

std::int64_t Origins::ordinal_at(std::int64_t i) const {
  if (ordinals_) return (*ordinals_)[static_cast<std::size_t>(offset_ + i)];
  if (list_) return (*list_)[static_cast<std::size_t>(offset_ + i)].ordinal;
  return base_ + i * step_;
}

std::uint64_t Origins::key_at(std::int64_t i) const {
  if (list_) return (*list_)[static_cast<std::size_t>(offset_ + i)].key();
  return mix64(path_hash(path_), static_cast<std::uint64_t>(ordinal_at(i)));
}

Origins Origins::slice(std::int64_t begin) const {
  Origins out = *this;
  if (affine()) {
    out.base_ += begin * step_;
  } else {
    out.offset_ += begin;
  }
  return out;
}

Origins Origins::select(std::span<const std::int64_t> rows) const {
  if (list_) {
    std::vector<Origin> list;
    list.reserve(rows.size());
    for (std::int64_t r : rows) list.push_back(at(r));
    return Origins(std::move(list));
  }
  std::vector<std::int64_t> ordinals;
  ordinals.reserve(rows.size());
  for (std::int64_t r : rows) ordinals.push_back(ordinal_at(r));
  return Origins(path_, std::move(ordinals));
}

namespace {

// Blocks of one file each made their own path to it.
bool same_origin_path(const PathRef& a, const PathRef& b) {
  const OriginPath* x = a.get();
  const OriginPath* y = b.get();
  while (x != y) {
    if (x == nullptr || y == nullptr || x->hash() != y->hash() ||
        x->kind() != y->kind() || x->ordinal() != y->ordinal()) {
      return false;
    }
    x = x->parent().get();
    y = y->parent().get();
  }
  return true;
}

}  // namespace

void OriginsBuilder::spill() {
  if (listed_) return;
  listed_ = true;
  ordinals_.reserve(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i) {
    ordinals_.push_back(run_.ordinal_at(i));
  }
}

void OriginsBuilder::append(const Origins& origins, std::int64_t begin,
                            std::int64_t count) {
  if (count <= 0) return;
  if (!any_) {
    any_ = true;
    run_ = origins.slice(begin);
    count_ = count;
    if (run_.list_) {
      mixed_ = listed_ = true;
      for (std::int64_t i = 0; i < count; ++i) list_.push_back(run_.at(i));
    } else if (run_.ordinals_) {
      spill();
    } else if (count == 1) {
      run_.step_ = 1;
    }
    return;
  }
  const bool same_path = !mixed_ && origins.single_path() &&
                         same_origin_path(origins.path(), run_.path_);
  if (same_path && !listed_ && origins.affine()) {
    const std::int64_t next = origins.ordinal_at(begin);
    const bool step_fits = count == 1 || origins.step() == run_.step_;
    if (step_fits && next == run_.base_ + count_ * run_.step_) {
      count_ += count;
      return;
    }
  }
  spill();
  if (same_path) {
    for (std::int64_t i = 0; i < count; ++i) {
      ordinals_.push_back(origins.ordinal_at(begin + i));
    }
  } else {
    if (!mixed_) {
      mixed_ = true;
      for (std::int64_t o : ordinals_) list_.push_back(Origin{run_.path_, o});
    }
    for (std::int64_t i = 0; i < count; ++i) {
      list_.push_back(origins.at(begin + i));
    }
  }
  count_ += count;
}

void OriginsBuilder::append(Origin origin) {
  append(Origins(std::move(origin.path), origin.ordinal), 0, 1);
}

Origins OriginsBuilder::finish() {
  if (!any_) return {};
  if (mixed_) return Origins(std::move(list_));
  if (listed_) return Origins(run_.path_, std::move(ordinals_));
  return Origins(run_.path_, run_.base_, run_.step_);
}

}  // namespace penstock
