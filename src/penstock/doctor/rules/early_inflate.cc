// early-inflate: bytes grow in front of a stage that holds or hands over many
// elements. About memory, not speed.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr double kLeastGrowth = 3;
constexpr double kLeastBytes = 1 << 10;
// An index or a file name is no smaller form of what is made of it.
constexpr double kLeastBefore = 64;
// A cast, or a scale and an offset, makes more bytes in a second; who decodes,
// computes, and a cache behind it saves that.
constexpr double kCheapBytesPerS = 8e8;

bool holds(const StageFacts& s) {
  return (s.op == "shuffle" && s.window > 0) || s.op == "cache" ||
         s.op == "snapshot";
}

// Elements leave the process' memory here.
bool hands_over(const StageFacts& s) {
  return s.op == "prefetch_to_device" || s.executor == "process";
}

// Bytes pass through these as they are.
bool passes(const StageFacts& s) {
  return s.op == "filter" || s.op == "take" || s.op == "skip" ||
         s.op == "shard" || s.op == "prefetch" || s.op == "with_options" ||
         s.op == "ignore_errors" || s.op == "repeat";
}

// It is cached for the work, not for the bytes: computing it anew for every
// epoch would cost much more than the room that it takes.
bool pays(const Model& model, int cache, const StageFacts& made) {
  const StageFacts& holder = stage_of(model, cache);
  if (holder.op == "shuffle" || made.elements_ever <= 0) return false;
  const double bytes = made.bytes_per_element();
  const double room = bytes * epoch_size(model, cache, true);
  const bool computes = made.decodes || made.busy_ever_s * kCheapBytesPerS >
                                            bytes * made.elements_ever;
  return computes && room <= kCacheFits * model.facts().memory_budget;
}

Finding grown(int at, double in, double bytes) {
  Finding f;
  f.code = "early-inflate";
  f.stage = at;
  f.always = true;
  f.evidence = {{"an element before", in, "bytes"},
                {"an element behind", bytes, "bytes"}};
  return f;
}

Finding held(const StageFacts& holder, const StageFacts& stage, int at,
             double in, double bytes) {
  Finding f = grown(at, in, bytes);
  f.cause =
      absl::StrFormat("elements grow %.1f times here, before %s holds them",
                      bytes / in, holder.label);
  f.evidence.push_back(
      {absl::StrCat("what ", holder.label, " holds"),
       holder.window > 0 ? bytes * static_cast<double>(holder.window) : bytes,
       "bytes"});
  f.fix = absl::StrCat("move ", stage.label, " behind ", holder.label,
                       ": what is held is then ",
                       static_cast<std::int64_t>(bytes / in), " times smaller");
  f.fix_code = absl::StrCat(".", holder.op, "(...).", stage.op, "(fn)");
  return f;
}

Finding handed_over(const StageFacts& taker, const StageFacts& stage, int at,
                    double in, double bytes) {
  const bool device = taker.op == "prefetch_to_device";
  Finding f = grown(at, in, bytes);
  f.cause = absl::StrFormat(
      "elements grow %.1f times here, before they are handed over to %s",
      bytes / in, device ? "the device" : "worker processes");
  f.fix = device ? absl::StrCat("convert on the device what ", stage.label,
                                " converts: fewer bytes are copied and kept")
                 : absl::StrCat("move ", stage.label, " behind ", taker.label,
                                ", or into its function: fewer bytes cross");
  f.fix_code = device
                   ? "# without the map; on the device: batch.float()"
                   : absl::StrCat(".", taker.op, "(fn, executor=\"process\").",
                                  stage.op, "(convert)");
  return f;
}

}  // namespace

void early_inflate(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if ((!holds(s) && !hands_over(s)) || s.inputs.size() != 1) continue;
    // Back from there over stages that map one to one.
    for (int at = s.inputs.front(); at >= 0;) {
      const StageFacts& stage = stage_of(model, at);
      if (stage.inputs.size() != 1) break;
      const bool batches = hands_over(s) && stage.op == "batch";
      if (stage.op != "map" && !passes(stage) && !batches) break;
      if (stage.op == "map" && stage.moved_behind == s.label) break;
      // No device decodes pictures.
      if (hands_over(s) && stage.decodes) break;
      const int before = stage.inputs.front();
      const double in = stage_of(model, before).bytes_per_element();
      const double bytes = stage.bytes_per_element();
      if (stage.op == "map" && !stage.reads && in >= kLeastBefore &&
          bytes > kLeastBytes && bytes > kLeastGrowth * in) {
        if (pays(model, i, stage)) break;
        out.push_back(hands_over(s) ? handed_over(s, stage, at, in, bytes)
                                    : held(s, stage, at, in, bytes));
        break;
      }
      at = before;
    }
  }
}

}  // namespace penstock::doctor
