// Segments on the elastic lane: how many calls that block run at once.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "penstock/runtime/pipe.h"

namespace penstock {
namespace {

constexpr int kMaxWidth = 64;

}  // namespace

bool SegmentPipe::calls_of(const Stage* stage) const {
  return (chain && chain->base_stage == stage) ||
         std::any_of(links.begin(), links.end(),
                     [&](const Link& link) { return link.stage == stage; });
}

std::int64_t SegmentPipe::calls_at_once() const {
  // Of native stages only rows that cost more than to share them.
  constexpr double kCostlyRowNs = 100'000;
  if (cap > 0) return cap;
  if (blocking) return width;
  const bool calls =
      user_code || (granularity == 1 && ns_per_row_ > kCostlyRowNs);
  return calls ? run_.cpu_budget() : 1;
}

// The bound behind prefetch(n): no call is started for an element more than
// n + w beyond the one waited for, where w is what runs at once; without an
// explicit num_parallel_calls only as far as that needs it, and only once the
// consumer was seen to need it. On demand none is, because it might begin after
// next() has returned.
std::int64_t SegmentPipe::beyond_limit(const Demand& demand) const {
  if (out.limit == kUnlimited || run_.on_demand()) return 0;
  const std::int64_t calls = calls_at_once();
  if (cap > 0) return calls - 1;
  if (!run_.consumer_outran()) return 0;
  const std::int64_t asked = std::max<std::int64_t>(1, wanted(demand));
  return std::max<std::int64_t>(0, calls - asked - out.limit);
}

std::int64_t SegmentPipe::rows_ahead() const {
  return out.limit + beyond_limit({.rows = 0});
}

bool SegmentPipe::has_enough() const {
  return !has_credit() ||
         (out.limit != kUnlimited && out.ready_rows() > out.limit);
}

// A width that was measured is left only when calls stop to come back: those of
// a service that does a few at once all wait, too.
bool SegmentPipe::stands_still() {
  constexpr double kCallTimes = 2;
  const std::int64_t now = run_.now();
  if (seen_calls_ != completed_calls) {
    seen_calls_ = completed_calls;
    seen_calls_at_ = now;
  }
  return static_cast<double>(now - seen_calls_at_) * width_search.last_rate() >
         kCallTimes * width;
}

void SegmentPipe::grow_width(int blocked_calls, int all_calls) {
  const int limit = cap > 0 ? cap : kMaxWidth;
  if (!blocking) {
    blocking = true;
    // A width that the user asked for is not looked for.
    width = cap > 0 ? cap : std::max(2, active);
    run_.log(label(), absl::StrCat("runs on the blocking lane, width ", width),
             "a call waited for more than 5 ms with under 20 % CPU");
  }
  // All calls wait, none has come back since: double.
  if (run_.config().autotune && blocked_calls >= all_calls && active >= width &&
      all_calls < limit && width < limit && !has_enough() &&
      (!width_search.judged() || stands_still())) {
    width = std::min(limit, width * 2);
    tuned_at = 0;  // what was counted until now is of fewer calls
    run_.log(label(), absl::StrCat("width ", width),
             absl::StrCat("all ", blocked_calls, " calls wait"));
  }
  width = std::min(width, limit);
}

void SegmentPipe::start_width(int calls) {
  if (blocking) return;
  blocking = true;
  const int found = run_.config().autotune && !has_enough() ? calls : active;
  width = cap > 0 ? cap : std::clamp(found, 2, kMaxWidth);
  run_.log(label(), absl::StrCat("runs on the blocking lane, width ", width),
           "its calls wait for more than 80 % of their time");
}

void SegmentPipe::leave_elastic_lane() {
  const auto blocks = [](const Stage* stage) {
    return stage != nullptr && stage->blocking.load(std::memory_order_relaxed);
  };
  if (!blocking || (chain && blocks(chain->base_stage)) ||
      std::any_of(links.begin(), links.end(),
                  [&](const Link& link) { return blocks(link.stage); })) {
    return;
  }
  blocking = false;
  tuned_at = 0;
  width_search = {};
  run_.log(label(), "runs on the CPU lane",
           "its calls work in other processes, or wait for a lock that they "
           "take in turn");
}

void SegmentPipe::tune(std::int64_t now) {
  if (!blocking || cap > 0 || !run_.config().autotune) return;
  constexpr std::int64_t kPeriodNs = 200'000'000;
  if (tuned_at == 0) {
    tuned_at = now;
    tuned_calls = completed_calls;
    return;
  }
  if (now - tuned_at < kPeriodNs || completed_calls - tuned_calls < 2 * width) {
    return;
  }
  const double rate = static_cast<double>(completed_calls - tuned_calls) /
                      static_cast<double>(now - tuned_at);
  const double rate_before = width_search.last_rate();
  const int before = width;
  const bool enough = has_enough();
  width = width_search.next(width, kMaxWidth, rate, !enough);
  if (width != before) {
    run_.log(label(), absl::StrCat("width ", before, " -> ", width),
             enough
                 ? std::string("the next stage has enough")
                 : absl::StrCat("rate ", static_cast<std::int64_t>(rate * 1e9),
                                " calls/s, was ",
                                static_cast<std::int64_t>(rate_before * 1e9)));
  }
  tuned_at = now;
  tuned_calls = completed_calls;
}

}  // namespace penstock
