#include "penstock/ops/unused_work.h"

#include <algorithm>

#include "penstock/expr/prune.h"
#include "penstock/ops/filter/filter.h"
#include "penstock/ops/map/map.h"
#include "penstock/ops/native_function.h"

namespace penstock::ops {
namespace {

using expr::Program;
using expr::ProgramRef;

struct Reader {
  std::shared_ptr<const Transform>* transform = nullptr;
  ProgramRef program;
  bool filters = false;  // its elements pass on to the next reader
};

ProgramRef native(const FunctionRef& function) {
  return function ? program_of(*function) : nullptr;
}

FunctionRef made_of(StatusOr<Program> program) {
  if (!program.ok()) return nullptr;
  return make_native_function(
      std::make_shared<const Program>(*std::move(program)));
}

/// Filters, then the map that ends their elements; empty if somebody else
/// looks at them before.
std::vector<Reader> readers(
    const std::vector<std::shared_ptr<const Transform>*>& transforms,
    std::size_t first) {
  std::vector<Reader> found;
  for (std::size_t i = first; i < transforms.size(); ++i) {
    if (ProgramRef program = native(map_function(**transforms[i]))) {
      found.push_back({transforms[i], std::move(program), false});
      return found;
    }
    ProgramRef program = native(filter_function(**transforms[i]));
    if (!program) return {};
    found.push_back({transforms[i], std::move(program), true});
  }
  return {};
}

}  // namespace

std::vector<std::pair<std::size_t, std::string>> drop_unused_work(
    const std::vector<std::shared_ptr<const Transform>*>& transforms) {
  std::vector<std::pair<std::size_t, std::string>> dropped;
  // From the end: what a map no longer computes, it no longer reads.
  for (std::size_t i = transforms.size(); i-- > 0;) {
    const ProgramRef program = native(map_function(**transforms[i]));
    if (!program) continue;
    const std::vector<Reader> behind = readers(transforms, i + 1);
    if (behind.empty()) continue;
    std::vector<bool> read(program->outputs().size());
    for (const Reader& reader : behind) {
      const std::vector<bool> own = expr::leaves_read(*reader.program);
      if (own.size() != read.size()) return dropped;
      std::transform(own.begin(), own.end(), read.begin(), read.begin(),
                     std::logical_or<>());
    }
    const std::vector<bool> kept = expr::leaves_needed(*program, read);
    if (std::find(kept.begin(), kept.end(), false) == kept.end()) continue;
    // All or none of them, so they are made before any is replaced.
    const FunctionRef less = made_of(expr::give_only(*program, kept));
    std::vector<FunctionRef> adapted;
    for (const Reader& reader : behind) {
      adapted.push_back(made_of(expr::take_only(*reader.program, kept)));
    }
    if (!less || std::find(adapted.begin(), adapted.end(), nullptr) !=
                     adapted.end()) {
      continue;
    }
    *transforms[i] = with_map_function(**transforms[i], less);
    for (std::size_t k = 0; k < behind.size(); ++k) {
      std::shared_ptr<const Transform>& at = *behind[k].transform;
      at = behind[k].filters ? with_filter_function(*at, adapted[k])
                             : with_map_function(*at, adapted[k]);
    }
    std::string leaves = "leaf ";
    for (std::size_t k = 0; k < kept.size(); ++k) {
      if (kept[k]) continue;
      absl::StrAppend(&leaves, leaves.size() > 5 ? ", " : "", k);
    }
    dropped.emplace_back(i, std::move(leaves));
  }
  return dropped;
}

}  // namespace penstock::ops
