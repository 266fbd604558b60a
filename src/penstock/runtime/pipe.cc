// What both kinds of pipes do alike, and the reading of indexed chains.
#include "penstock/runtime/pipe.h"

#include <utility>

namespace penstock {

std::int64_t Pipe::allowance(const Demand& demand, std::int64_t extra) const {
  if (out.limit == kUnlimited) return kUnlimited;
  if (demand.rows <= 0 && out.limit == 0) return 0;
  return wanted(demand) + out.limit + extra - out.total_rows();
}

bool Pipe::has_credit() const {
  return out.ready_bytes() < run_.soft_limit() || out.ready_items() < 2;
}

Status IndexChain::read(const IndexRun& run,
                        const std::atomic<bool>* cancel_flag,
                        std::vector<Block>& out) const {
  std::vector<IndexRun> runs{run};
  for (const Map& map : maps) {
    CallContext context;
    context.stage = &map.stage->info;
    context.epoch = epoch;
    context.stage_salt = map.stage->salt;
    std::vector<IndexRun> mapped;
    for (const IndexRun& r : runs) {
      map.op->map_run(r, map.input_size, context, mapped);
    }
    runs = std::move(mapped);
  }
  for (const IndexRun& r : runs) {
    PS_RETURN_IF_ERROR(
        read_indexed(*base, r, epoch, cancel_flag, base_prefix, out));
  }
  return absl::OkStatus();
}

}  // namespace penstock
