#include "penstock/ops/joined_maps.h"

#include "penstock/expr/compose.h"
#include "penstock/expr/image_fusion.h"
#include "penstock/ops/function_stage.h"
#include "penstock/ops/native_function.h"

namespace penstock::ops {
namespace {

expr::ProgramRef native_map(const Transform& transform) {
  const FunctionStage* stage = function_stage(transform);
  return stage != nullptr && !stage->passes_elements()
             ? program_of(*stage->function())
             : nullptr;
}

int calls_when_fused(const expr::ProgramRef& program) {
  return expr::native_calls(*expr::fuse_images(program).program);
}

}  // namespace

JoinedMaps join_maps(const Transform& first, const Transform& second) {
  const expr::ProgramRef a = native_map(first);
  const expr::ProgramRef b = native_map(second);
  if (!a || !b) return {};
  if (expr::native_calls(*a) == 0 || expr::native_calls(*b) == 0) return {};
  auto both = expr::compose(*a, *b);
  if (!both.ok()) return {};
  const auto program = std::make_shared<const expr::Program>(*std::move(both));
  const expr::Fusion fused = expr::fuse_images(program);
  if (expr::native_calls(*fused.program) >=
      calls_when_fused(a) + calls_when_fused(b)) {
    return {};
  }
  // Random numbers are keyed by the stage, of which there is one then.
  if (a->random()) return {nullptr, "not fused: the first is random", false};
  return {function_stage(second)->with_function(make_native_function(program)),
          fused.note, b->random()};
}

}  // namespace penstock::ops
