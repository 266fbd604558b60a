// Segments in any order: what is handed on is noted, so that a restore repeats
// it, and a restored order is kept until it is through.
#include <algorithm>

#include "penstock/runtime/pipe.h"

namespace penstock {

// Where the next range of the script begins or ends.
std::int64_t SegmentPipe::scripted_limit(std::int64_t rows) const {
  if (script_.empty()) return rows;
  const Scripted& next = script_.front();
  if (next.ordinal > ordinal_) return std::min(rows, next.ordinal - ordinal_);
  // Nothing is computed for what is dropped.
  return next.drop ? next.rows : std::min(rows, next.rows);
}

Status SegmentPipe::start_unordered(const Mark& mark) {
  ordered = false;
  out.on_deliver = [this](Slot& slot) { deliver(slot); };
  out.drop_first(mark.skip, run_.config().no_errors_before);
  last_delivery_ = make_ref<Delivery>(0, 0);  // the first one hangs on it
  if (!mark.snapshot) {
    auto snapshot = make_ref<Snapshot>();
    snapshot->own = std::string(1, '\0');  // nothing handed on before
    snapshot->at_start = true;
    snapshot->inputs.push_back(input ? input->take_first_mark() : Mark{});
    snapshot->delivery.set(last_delivery_);
    first_ = Mark{std::move(snapshot), 0};
    return absl::OkStatus();
  }
  mark.snapshot->delivery.set(last_delivery_);
  restored_ = Mark{mark.snapshot, 0};
  Decoder own(mark.snapshot->own);
  const std::size_t delivered = own.count(2);
  std::vector<Scripted> script;
  for (std::size_t i = 0; i < delivered; ++i) {
    const std::int64_t offset = own.i64();
    const std::int64_t rows = own.i64();
    script.push_back({offset, rows, true, {}});
  }
  PS_RETURN_IF_ERROR(own.status("state of an unordered stage"));
  for (const auto& [offset, rows] : mark.snapshot->deliveries) {
    script.push_back({offset, rows, false, out.append(0)});
    script.back().slot->scripted = true;
    ++scripted_pending_;
  }
  std::sort(script.begin(), script.end(),
            [](const Scripted& a, const Scripted& b) {
              return a.ordinal < b.ordinal;
            });
  std::int64_t end = 0;
  for (const Scripted& s : script) {
    if (s.ordinal < end || s.rows < 1) {
      return absl::DataLossError("state of an unordered stage: ranges overlap");
    }
    end = s.ordinal + s.rows;
  }
  script_.assign(script.begin(), script.end());
  return absl::OkStatus();
}

// The input ended before the rows that a state spoke of.
void SegmentPipe::abandon_script() {
  for (const Scripted& scripted : script_) {
    if (scripted.drop) continue;
    --scripted_pending_;
    scripted.slot->ordinal = -1;
    out.fill(scripted.slot, {}, run_.claim_time());
  }
  script_.clear();
  run_.note_passed_over();
}

// The slot has its place in the output: notes the order, so that a restore can
// repeat it, and marks it with what was handed on before.
void SegmentPipe::deliver(Slot& slot) {
  const auto claim = open_claims_.find(slot.ordinal);
  if (claim == open_claims_.end()) return;
  auto delivery = make_ref<Delivery>(slot.ordinal, slot.input_rows);
  if (last_delivery_) {
    last_delivery_->next.store(Ref<Delivery>(delivery).detach(),
                               std::memory_order_release);
  }
  last_delivery_ = delivery;
  if (scripted_pending_ > 0 || !script_.empty()) {
    // A snapshot inside a script would have to hold the rest of it: what comes
    // behind this stage may count on that order.
    slot.item.mark = restored_;
    restored_ = restored_.after(slot.item.size);
  } else {
    restored_ = {};
    slot.item.mark = Mark{take_snapshot(std::move(delivery)), 0};
  }
  close_claim(claim);
}

Ref<const Snapshot> SegmentPipe::take_snapshot(Ref<Delivery> next) const {
  auto snapshot = make_ref<Snapshot>();
  const auto& [base, first] = *open_claims_.begin();
  snapshot->base = base;
  snapshot->inputs.push_back(first.mark);
  Encoder own;
  own.u64(static_cast<std::uint64_t>(
      std::count_if(open_claims_.begin(), open_claims_.end(),
                    [](const auto& c) { return c.second.delivered; })));
  for (const auto& [ordinal, claim] : open_claims_) {
    if (!claim.delivered) continue;
    own.i64(ordinal - base);
    own.i64(claim.rows);
  }
  snapshot->own = std::move(own).take();
  snapshot->delivery.set(std::move(next));
  return snapshot;
}

// The rows of `slot` from `rows` on get a place, and a claim, of their own.
void SegmentPipe::split_claim(Slot& slot, std::int64_t rows, Slot& rest) {
  OpenClaim& claim = open_claims_.at(slot.ordinal);
  rest.ordinal = slot.ordinal + rows;
  rest.input_rows = slot.input_rows - rows;
  open_claims_.emplace(rest.ordinal,
                       OpenClaim{rest.input_rows, claim.mark.after(rows)});
  slot.input_rows = claim.rows = rows;
  rest.scripted = slot.scripted;
  if (rest.scripted) ++scripted_pending_;
}

// The rows were handed on, now or before the state that was restored.
void SegmentPipe::close_claim(OpenClaims::iterator claim) {
  claim->second.delivered = true;
  claim->second.mark = {};
  const auto next = std::next(claim);
  if (next != open_claims_.end() && next->second.delivered) {
    claim->second.rows += next->second.rows;
    open_claims_.erase(next);
  }
  if (claim == open_claims_.begin()) {
    open_claims_.erase(claim);
  } else if (const auto before = std::prev(claim); before->second.delivered) {
    before->second.rows += claim->second.rows;
    open_claims_.erase(claim);
  }
}

}  // namespace penstock
