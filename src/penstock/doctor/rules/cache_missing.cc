// cache-missing: the same costly result is computed in every epoch, and it
// would fit into memory.
#include <cmath>

#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

bool makes_the_same(const StageFacts& s) {
  return !s.random && s.op != "shuffle";
}

bool passes_on(const StageFacts& s) {
  return s.op == "prefetch" || s.op == "with_options";
}

// The last stage behind a repeat that could as well be in front of it: it makes
// each element of one, and the same in every epoch. -1: there is none.
int last_behind(const Model& model, int repeat) {
  int last = -1;
  int at = repeat;
  for (int i = repeat + 1; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (s.inputs != std::vector<int>{at} || s.parent >= 0) continue;
    const bool of_one =
        s.op == "map" || s.op == "filter" || s.op == "parse_example";
    if (!passes_on(s) && (!of_one || !makes_the_same(s))) break;
    if (of_one) last = i;
    at = i;
  }
  return last;
}

}  // namespace

void cache_missing(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  for (int r = 0; r < num_stages(model); ++r) {
    const StageFacts& repeat = stage_of(model, r);
    if (repeat.op != "repeat" || repeat.repeats == 1 || repeat.repeats == 0) {
      continue;
    }
    if (repeat.inputs.size() != 1) continue;
    // The chain in front of it, sources first.
    std::vector<int> chain;
    for (int at = repeat.inputs.front(); at >= 0;) {
      const StageFacts& s = stage_of(model, at);
      chain.insert(chain.begin(), at);
      if (s.op == "cache" || s.op == "snapshot" || s.inputs.size() != 1) break;
      at = s.inputs.front();
    }
    if (chain.empty()) continue;
    const std::string& first = stage_of(model, chain.front()).op;
    std::size_t from = 0;
    if (first == "cache" || first == "snapshot") from = 1;
    // The last stage that gives the same in every epoch.
    int last = -1;
    bool costly = false;
    bool all_the_same = true;
    for (std::size_t k = from; k < chain.size(); ++k) {
      const StageFacts& s = stage_of(model, chain[k]);
      if (!makes_the_same(s)) {
        all_the_same = false;
        break;
      }
      if (passes_on(s)) continue;
      last = chain[k];
      costly = true;
    }
    const int behind = all_the_same ? last_behind(model, r) : -1;
    if (behind >= 0) {
      last = behind;
      costly = true;
    }
    if (!costly || last < 0) continue;
    const StageFacts& s = stage_of(model, last);
    const double size = std::round(epoch_size(model, last));
    if (size <= 0 || s.elements <= 0) continue;
    const double bytes = s.bytes_per_element() * size;
    if (bytes > kCacheFits * facts.memory_budget) continue;
    // Calls that cost more than what they do are not to be cached, but mended.
    double cost = 0;
    double calling = 0;
    for (const int up : model.upstream(last)) {
      const double needed =
          need_of(model, up).compute + need_of(model, up).wait;
      cost += needed;
      if (calling_costs_most(model, up)) calling += needed;
    }
    if (calling > 0.5 * cost) continue;
    Finding f;
    f.code = "cache-missing";
    f.stage = last;
    f.changes = {{.stage = last, .cache = true}};
    f.speedup = model.gain(f.changes);
    if (*f.speedup < 1.3) continue;  // the first epoch pays for it
    f.cause = absl::StrCat("up to here every epoch computes the same ",
                           number(size), " elements again");
    f.evidence = {{"time per output element up to here", cost, "s"},
                  {"elements of an epoch", size, "elements"},
                  {"a cache would hold", bytes, "bytes"},
                  {"memory budget", facts.memory_budget, "bytes"}};
    f.fix = absl::StrCat("keep what ", s.label, " gives");
    f.fix_code = absl::StrCat(".", s.op, "(...).cache()");
    if (behind >= 0) {
      absl::StrAppend(&f.fix, ", and repeat that: ", repeat.label,
                      " comes behind it");
      absl::StrAppend(&f.fix_code, ".repeat(",
                      repeat.repeats > 0 ? absl::StrCat(repeat.repeats) : "",
                      ")");
    }
    out.push_back(std::move(f));
  }
}

}  // namespace penstock::doctor
