// Segments in any order: what is handed on is noted, so that a restore repeats
// it, and a restored order is kept until it is through.
#include <algorithm>

#include "penstock/runtime/pipe.h"

namespace penstock {

// Where the next range of the script begins or ends.
std::int64_t SegmentPipe::scripted_limit(std::int64_t rows) const {
  if (script_.empty()) return rows;
  const Scripted& next = script_.front();
  const std::int64_t bound =
      next.ordinal > ordinal_ ? next.ordinal - ordinal_ : next.rows;
  return std::min(rows, bound);
}

Status SegmentPipe::start_unordered(const Mark& mark) {
  ordered = false;
  out.on_deliver = [this](Slot& slot) { deliver(slot); };
  out.drop_first(mark.skip);
  last_delivery_ = make_ref<Delivery>(0, 0);  // the first one hangs on it
  if (!mark.snapshot) {
    auto snapshot = make_ref<Snapshot>();
    snapshot->own = std::string(1, '\0');  // nothing handed on before
    snapshot->inputs.push_back(input ? input->take_first_mark() : Mark{});
    snapshot->delivery.set(last_delivery_);
    first_ = Mark{std::move(snapshot), 0};
    return absl::OkStatus();
  }
  mark.snapshot->delivery.set(last_delivery_);
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
  auto claim = std::find_if(
      open_claims_.begin(), open_claims_.end(),
      [&](const OpenClaim& c) { return c.ordinal == slot.ordinal; });
  if (claim == open_claims_.end()) return;
  auto snapshot = make_ref<Snapshot>();
  const OpenClaim& first = open_claims_.front();
  snapshot->base = first.ordinal;
  snapshot->inputs.push_back(first.mark);
  std::vector<const OpenClaim*> delivered;
  for (const OpenClaim& c : open_claims_) {
    if (c.delivered) delivered.push_back(&c);
  }
  Encoder own;
  own.u64(delivered.size());
  for (const OpenClaim* c : delivered) {
    own.i64(c->ordinal - first.ordinal);
    own.i64(c->rows);
  }
  snapshot->own = std::move(own).take();
  auto delivery = make_ref<Delivery>(slot.ordinal, slot.input_rows);
  if (last_delivery_) {
    last_delivery_->next.store(Ref<Delivery>(delivery).detach(),
                               std::memory_order_release);
  }
  last_delivery_ = delivery;
  snapshot->delivery.set(std::move(delivery));
  slot.item.mark = Mark{std::move(snapshot), 0};
  claim->delivered = true;
  while (!open_claims_.empty() && open_claims_.front().delivered) {
    open_claims_.pop_front();
  }
}

}  // namespace penstock
