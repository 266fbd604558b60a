#include "penstock/ops/unused_work.h"

#include <algorithm>

#include "penstock/expr/prune.h"
#include "penstock/ops/function_stage.h"
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

/// The program of a native map or filter, with what kind it is; null for any
/// other transform.
ProgramRef native(const Transform& transform, bool& filters) {
  const FunctionStage* stage = function_stage(transform);
  if (stage == nullptr) return nullptr;
  filters = stage->passes_elements();
  return program_of(*stage->function());
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
    Reader reader{transforms[i], nullptr, false};
    reader.program = native(**transforms[i], reader.filters);
    if (!reader.program) return {};
    found.push_back(reader);
    if (!reader.filters) return found;
  }
  return {};
}

}  // namespace

std::vector<std::pair<std::size_t, std::string>> drop_unused_work(
    const std::vector<std::shared_ptr<const Transform>*>& transforms) {
  std::vector<std::pair<std::size_t, std::string>> dropped;
  // From the end: what a map no longer computes, it no longer reads.
  for (std::size_t i = transforms.size(); i-- > 0;) {
    bool filters = false;
    const ProgramRef program = native(**transforms[i], filters);
    if (!program || filters) continue;
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
    if (!less ||
        std::find(adapted.begin(), adapted.end(), nullptr) != adapted.end()) {
      continue;
    }
    const auto replace = [](std::shared_ptr<const Transform>& at,
                            const FunctionRef& function) {
      at = function_stage(*at)->with_function(function);
    };
    replace(*transforms[i], less);
    for (std::size_t k = 0; k < behind.size(); ++k) {
      replace(*behind[k].transform, adapted[k]);
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
