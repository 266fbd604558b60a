#include "penstock/memory/structure.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "penstock/base/status.h"

namespace penstock {

// Interns by a textual key in which children appear by address.
struct StructureTable {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const Structure>> known;

  static StructureTable& get() {
    static auto* const table = [] {
      // A fork while another thread is inside must not leave it locked.
      pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                     [] { get().mutex.unlock(); });
      return new StructureTable;
    }();
    return *table;
  }

  const Structure* intern(Structure&& s) {
    std::string key =
        absl::StrCat(static_cast<int>(s.kind_), "|", s.ragged_rank_, "|",
                     s.tag_.size(), ":", s.tag_);
    for (std::size_t i = 0; i < s.children_.size(); ++i) {
      absl::StrAppend(&key, "|",
                      reinterpret_cast<std::uintptr_t>(s.children_[i]));
      if (!s.keys_.empty()) {
        absl::StrAppend(&key, "=", s.keys_[i].size(), ":", s.keys_[i]);
      }
    }
    std::lock_guard lock(mutex);
    auto& slot = known[key];
    if (!slot) slot = std::make_unique<Structure>(std::move(s));
    return slot.get();
  }

  static Structure make(Structure::Kind kind) {
    Structure s;
    s.kind_ = kind;
    return s;
  }

  static void add_children(Structure& s,
                           std::vector<const Structure*> children) {
    s.children_ = std::move(children);
    s.num_leaves_ = 0;
    for (const Structure* child : s.children_) {
      s.offsets_.push_back(s.num_leaves_);
      s.num_leaves_ += child->num_leaves_;
    }
  }

  static const Structure* ragged(int ragged_rank) {
    Structure s = make(Structure::Kind::kRagged);
    s.ragged_rank_ = ragged_rank;
    s.num_leaves_ = 1 + static_cast<std::size_t>(ragged_rank);
    return get().intern(std::move(s));
  }
  static const Structure* simple(Structure::Kind kind, std::size_t leaves) {
    Structure s = make(kind);
    s.num_leaves_ = leaves;
    return get().intern(std::move(s));
  }
  static const Structure* nested(Structure::Kind kind,
                                 std::vector<const Structure*> children,
                                 std::vector<std::string> keys,
                                 std::string tag) {
    Structure s = make(kind);
    add_children(s, std::move(children));
    s.keys_ = std::move(keys);
    s.tag_ = std::move(tag);
    return get().intern(std::move(s));
  }
};

const Structure* Structure::leaf() {
  static const Structure* const s = StructureTable::simple(Kind::kLeaf, 1);
  return s;
}

const Structure* Structure::absent() {
  static const Structure* const s = StructureTable::simple(Kind::kAbsent, 0);
  return s;
}

const Structure* Structure::tuple(std::vector<const Structure*> children,
                                  std::string tag) {
  return StructureTable::nested(Kind::kTuple, std::move(children), {},
                                std::move(tag));
}

const Structure* Structure::dict(
    std::vector<std::pair<std::string, const Structure*>> items,
    std::string tag) {
  std::vector<const Structure*> children;
  std::vector<std::string> keys;
  for (auto& [key, child] : items) {
    keys.push_back(std::move(key));
    children.push_back(child);
  }
  return StructureTable::nested(Kind::kDict, std::move(children),
                                std::move(keys), std::move(tag));
}

const Structure* Structure::ragged(int ragged_rank) {
  return StructureTable::ragged(ragged_rank);
}

const Structure* Structure::leaves(std::size_t n) {
  return tuple(std::vector<const Structure*>(n, leaf()));
}

bool Structure::has_ragged() const {
  return kind_ == Kind::kRagged ||
         std::any_of(
             children_.begin(), children_.end(),
             [](const Structure* child) { return child->has_ragged(); });
}

std::size_t Structure::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) return i;
  }
  return children_.size();
}

void Structure::render_into(std::string& out,
                            std::span<const std::string> leaves,
                            std::size_t& at) const {
  const auto next_leaf = [&] {
    out += at < leaves.size() ? leaves[at] : std::string("*");
    ++at;
  };
  switch (kind_) {
    case Kind::kLeaf:
      return next_leaf();
    case Kind::kAbsent:
      out += "None";
      return;
    case Kind::kRagged:
      out += "ragged(";
      for (std::size_t i = 0; i < num_leaves_; ++i) {
        if (i > 0) out += ", ";
        next_leaf();
      }
      out += ")";
      return;
    case Kind::kTuple:
    case Kind::kDict: {
      const bool dict = kind_ == Kind::kDict;
      out += tag_;
      out += dict ? "{" : "(";
      for (std::size_t i = 0; i < children_.size(); ++i) {
        if (i > 0) out += ", ";
        if (dict) absl::StrAppend(&out, "'", keys_[i], "': ");
        children_[i]->render_into(out, leaves, at);
      }
      if (!dict && children_.size() == 1) out += ",";
      out += dict ? "}" : ")";
    }
  }
}

std::string Structure::render(std::span<const std::string> leaves) const {
  std::string out;
  std::size_t at = 0;
  render_into(out, leaves, at);
  return out;
}

std::string Structure::to_string() const { return render({}); }

}  // namespace penstock
