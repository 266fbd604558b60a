// batch-size: batches so small that the cost per batch dominates, or so large
// that few fit into memory.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr std::int64_t kSmall = 4;
constexpr std::int64_t kBetter = 64;

std::string call_of(const StageFacts& s, std::int64_t size) {
  return absl::StrCat(".", s.op, "(", size, s.arguments, ")");
}

}  // namespace

void batch_size(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.batch_size <= 0 || facts.elements <= 0) continue;
    // Work per batch: this stage and what lies behind it, the consumer's loop
    // included when it has nothing else to do.
    double behind = 0;
    double all = 0;
    const std::vector<int> up = model.upstream(i);
    for (int k = 0; k < num_stages(model); ++k) {
      const Need& need = need_of(model, k);
      const double cost = need.compute + need.gil;
      all += cost;
      bool before = false;
      for (const int u : up) before |= u == k && k != i;
      if (!before) behind += cost;
    }
    if (facts.consumer_think_s <= 0) {
      behind += facts.next_s;
      all += facts.next_s;
    }
    const auto size = static_cast<double>(s.batch_size);
    // What ran far ahead may have stood still since.
    const double made = s.elements > 0 ? s.elements : facts.elements;
    const double per_batch = behind * facts.elements / made;
    const double rows =
        made * static_cast<double>(s.batch_size) / facts.seconds;
    const double bytes = s.bytes_per_element();
    // A copy to the device takes as long as its bytes.
    const bool copies = model.pipeline().limit == Limit::kDevice;
    if (s.batch_size <= kSmall && behind > 0.5 * all && !copies &&
        bytes < 64 * 1024 * static_cast<double>(s.batch_size)) {
      Finding f;
      f.code = "batch-size";
      f.stage = i;
      f.changes = {{.stage = i, .batch = kBetter}};
      // Arrays of one value are taken faster than others, of which `next_s` is.
      const bool loop =
          model.now().limit == Limit::kConsumer && facts.consumer_think_s <= 0;
      f.speedup =
          loop ? model.gain_over_measured(f.changes) : model.gain(f.changes);
      f.cause = absl::StrCat("batches of ", number(size),
                             ": most of the time goes to handling batches, "
                             "not to their elements");
      f.evidence = {{"work per batch, this stage and behind", per_batch, "s"},
                    {"share of all work", 100 * behind / all, "%"},
                    {"rows", rows, "1/s"}};
      f.fix = absl::StrCat("larger batches: the prediction is for ", kBetter);
      f.fix_code = call_of(s, kBetter);
      out.push_back(std::move(f));
      continue;
    }
    // Of large elements any batch is large.
    if (facts.memory_budget > 0 && bytes > 0.2 * facts.memory_budget &&
        bytes < 0.05 * facts.memory_budget * size) {
      const auto smaller = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(s.batch_size) *
                                       0.05 * facts.memory_budget / bytes));
      Finding f;
      f.code = "batch-size";
      f.stage = i;
      f.speedup = std::max(1.0, model.gain_over_measured({}));
      f.cause = absl::StrCat("batches of ", number(size),
                             " are so large that few fit into the memory "
                             "budget");
      f.evidence = {{"a batch", bytes, "bytes"},
                    {"memory budget", facts.memory_budget, "bytes"},
                    {"batches that fit", facts.memory_budget / bytes, ""}};
      f.fix = "smaller batches, or a larger memory_budget";
      f.fix_code = call_of(s, smaller);
      f.secondary = *f.speedup < 1.1;
      out.push_back(std::move(f));
    }
  }
}

}  // namespace penstock::doctor
