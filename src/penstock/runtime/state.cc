#include "penstock/runtime/state.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "penstock/base/codec.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "PSTK";
constexpr std::uint64_t kVersion = 1;
// Of marks inside of marks: one for each stage, and those of the datasets that
// it opened.
constexpr int kMaxDepth = 10'000;

// What an unordered stage handed on since `s`, then what it had yet to repeat.
std::vector<std::pair<std::int64_t, std::int64_t>> deliveries_from(
    const Snapshot& s) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  std::int64_t seen = 0;
  for (const Delivery* d = s.delivery.get(); d != nullptr;
       d = d->next.load(std::memory_order_acquire)) {
    if (d->rows == 0) continue;
    out.emplace_back(d->ordinal - s.base, d->rows);
    seen += d->rows;
  }
  for (auto [offset, rows] : s.deliveries) {
    const std::int64_t repeated = std::min(seen, rows);
    seen -= repeated;
    if (repeated < rows) out.emplace_back(offset + repeated, rows - repeated);
  }
  return out;
}

bool from_scratch(const Mark& mark);

std::vector<Mark> openings_from(const Snapshot& s) {
  std::vector<Mark> out;
  const Opening* o = s.opening.get();  // stands before the first
  while (o != nullptr) {
    o = o->next.load(std::memory_order_acquire);
    if (o != nullptr) out.push_back(o->first);
  }
  for (std::size_t i = out.size(); i < s.openings.size(); ++i) {
    out.push_back(s.openings[i]);
  }
  // Those that start from scratch need no mention, but the others their place.
  while (!out.empty() && from_scratch(out.back())) out.pop_back();
  return out;
}

// A start at which nothing has to be repeated.
bool from_scratch(const Mark& mark) {
  if (mark.skip > 0) return false;
  if (!mark.snapshot) return true;
  const Snapshot& s = *mark.snapshot;
  return s.at_start && s.opened.empty() && deliveries_from(s).empty() &&
         openings_from(s).empty() &&
         std::all_of(s.inputs.begin(), s.inputs.end(), from_scratch);
}

void encode(Encoder& out, const Mark& mark) {
  out.i64(mark.skip);
  const bool from_snapshot = mark.snapshot && !from_scratch(mark);
  out.boolean(from_snapshot);
  if (!from_snapshot) return;
  const Snapshot& s = *mark.snapshot;
  out.bytes(s.own);
  out.u64(s.inputs.size());
  for (const Mark& m : s.inputs) encode(out, m);
  out.u64(s.opened.size());
  for (const Mark& m : s.opened) encode(out, m);
  const auto deliveries = deliveries_from(s);
  out.u64(deliveries.size());
  for (const auto& [offset, rows] : deliveries) {
    out.i64(offset);
    out.i64(rows);
  }
  const std::vector<Mark> openings = openings_from(s);
  out.u64(openings.size());
  for (const Mark& m : openings) encode(out, m);
}

void decode(Decoder& in, int depth, Mark& mark) {
  mark.skip = in.i64();
  if (mark.skip < 0 || depth > kMaxDepth) return in.fail();
  if (!in.boolean()) return;
  auto snapshot = make_ref<Snapshot>();
  snapshot->own = std::string(in.bytes());
  snapshot->inputs.resize(in.count(2));
  for (Mark& m : snapshot->inputs) {
    if (!in.ok()) return;
    decode(in, depth + 1, m);
  }
  snapshot->opened.resize(in.count(2));
  for (Mark& m : snapshot->opened) {
    if (!in.ok()) return;
    decode(in, depth + 1, m);
  }
  snapshot->deliveries.resize(in.count(2));
  for (auto& [offset, rows] : snapshot->deliveries) {
    offset = in.i64();
    rows = in.i64();
    if (offset < 0 || rows < 1) return in.fail();
  }
  snapshot->openings.resize(in.count(2));
  for (Mark& m : snapshot->openings) {
    if (!in.ok()) return;
    decode(in, depth + 1, m);
  }
  mark.snapshot = std::move(snapshot);
}

}  // namespace

std::string encode_state(const SavedState& state) {
  Encoder out;
  out.raw(kMagic);
  out.u64(kVersion);
  out.bytes(state.fingerprint);
  out.i64(state.iteration);
  out.fixed64(state.seed);
  out.boolean(state.ended);
  out.fixed64(state.shards);
  encode(out, state.mark);
  if (state.had_errors) out.boolean(true);
  const std::uint32_t crc = crc32c(out.str());
  for (int i = 0; i < 4; ++i) {
    const char byte = static_cast<char>(crc >> (8 * i));
    out.raw(std::string_view(&byte, 1));
  }
  return std::move(out).take();
}

StatusOr<SavedState> decode_state(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + 4 ||
      bytes.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("state: these bytes are not a saved state");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - 4);
  std::uint32_t stored = 0;
  for (int i = 0; i < 4; ++i) {
    stored |= static_cast<std::uint32_t>(
                  static_cast<unsigned char>(bytes[body.size() + i]))
              << (8 * i);
  }
  if (crc32c(body) != stored) {
    return absl::DataLossError("state: damaged, the checksum does not match");
  }
  Decoder in(body.substr(kMagic.size()));
  const std::uint64_t version = in.u64();
  if (in.ok() && version != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "state: written in format ", version, ", this build reads ", kVersion));
  }
  SavedState state;
  state.fingerprint = std::string(in.bytes());
  state.iteration = in.i64();
  state.seed = in.fixed64();
  state.ended = in.boolean();
  state.shards = in.fixed64();
  decode(in, 0, state.mark);
  if (in.ok() && !in.at_end()) state.had_errors = in.boolean();
  if (in.ok() && !in.at_end()) in.fail();
  PS_RETURN_IF_ERROR(in.status("state"));
  return state;
}

}  // namespace penstock
