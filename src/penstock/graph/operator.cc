#include "penstock/graph/operator.h"

namespace penstock {

Options Options::over(const Options& outer) const {
  Options out = outer;
  if (cpu_budget) out.cpu_budget = cpu_budget;
  if (memory_budget) out.memory_budget = memory_budget;
  if (deterministic) out.deterministic = deterministic;
  if (seed) out.seed = seed;
  if (autotune) out.autotune = autotune;
  if (on_error.kind != ErrorPolicy::Kind::kInherit) out.on_error = on_error;
  if (fuse) out.fuse = fuse;
  if (max_block_rows) out.max_block_rows = max_block_rows;
  return out;
}

std::string StageInfo::to_string() const {
  if (index < 0) return absl::StrCat(prefix, op);
  return absl::StrCat(prefix, op, "#", index, name.empty() ? "" : ":", name);
}

ErrorRef CallContext::error(Status status, const Origin& origin,
                            std::exception_ptr cause) const {
  auto error = std::make_shared<ElementError>();
  error->status = std::move(status);
  if (stage) error->stage = stage->to_string();
  error->element = origin.to_string();
  error->cause = std::move(cause);
  return error;
}

bool Operator::cheap() const {
  for (const Part& part : lower()) {
    if (part.transform && part.transform->traits().user_code) return false;
    if (part.sequencer && part.sequencer->traits().user_code) return false;
    if (part.source &&
        (part.source->user_code() || !part.source->in_memory())) {
      return false;
    }
  }
  return true;
}

Status IndexedOp::read(const IndexRun& run, IndexInputs& in,
                       CallContext& context, std::vector<Block>& out) const {
  std::vector<IndexRun> runs;
  map_run(run, in.size(0), context, runs);
  for (const IndexRun& mapped : runs) {
    PS_RETURN_IF_ERROR(in.read(0, mapped, out));
  }
  return absl::OkStatus();
}

Status TransformOp::read(const IndexRun& run, IndexInputs& in,
                         CallContext& context, std::vector<Block>& out) const {
  std::vector<Block> blocks;
  PS_RETURN_IF_ERROR(in.read(0, run, blocks));
  for (Block& block : blocks) {
    PS_RETURN_IF_ERROR(apply(block, context));
    out.push_back(std::move(block));
  }
  return absl::OkStatus();
}

Status IndexedSourceOp::read(const IndexRun& run, IndexInputs& /*in*/,
                             CallContext& context,
                             std::vector<Block>& out) const {
  Block block;
  PS_RETURN_IF_ERROR(read(run, context, block));
  out.push_back(std::move(block));
  return absl::OkStatus();
}

}  // namespace penstock
