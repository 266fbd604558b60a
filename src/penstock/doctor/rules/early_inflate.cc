// early-inflate: bytes grow in front of a stage that holds or hands over many
// elements. About memory, not speed.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {
namespace {

constexpr double kLeastGrowth = 3;
constexpr double kLeastBytes = 1 << 10;
// An index or a file name is no smaller form of what is made of it.
constexpr double kLeastBefore = 64;

bool holds(const StageFacts& s) {
  return (s.op == "shuffle" && s.window > 0) || s.op == "cache" ||
         s.op == "snapshot";
}

// Bytes pass through these as they are.
bool passes(const StageFacts& s) {
  return s.op == "filter" || s.op == "take" || s.op == "skip" ||
         s.op == "shard" || s.op == "prefetch" || s.op == "with_options" ||
         s.op == "ignore_errors";
}

}  // namespace

void early_inflate(const Model& model, Findings& out) {
  for (int i = 0; i < num_stages(model); ++i) {
    const StageFacts& s = stage_of(model, i);
    if (!holds(s) || s.inputs.size() != 1) continue;
    // Back from the holder over stages that map one to one.
    for (int at = s.inputs.front(); at >= 0;) {
      const StageFacts& stage = stage_of(model, at);
      if (stage.inputs.size() != 1) break;
      if (stage.op != "map" && !passes(stage)) break;
      if (stage.op == "map" && stage.moved_behind == s.label) break;
      const int before = stage.inputs.front();
      const double in = stage_of(model, before).bytes_per_element();
      const double bytes = stage.bytes_per_element();
      if (stage.op == "map" && in >= kLeastBefore && bytes > kLeastBytes &&
          bytes > kLeastGrowth * in) {
        Finding f;
        f.code = "early-inflate";
        f.stage = at;
        f.always = true;
        const double held =
            s.window > 0 ? bytes * static_cast<double>(s.window) : bytes;
        f.cause = absl::StrFormat(
            "elements grow %.1f times here, before %s holds them", bytes / in,
            s.label);
        f.evidence = {
            {"an element before", in, "bytes"},
            {"an element behind", bytes, "bytes"},
            {absl::StrCat("what ", s.label, " holds"), held, "bytes"}};
        f.fix = absl::StrCat("move ", stage.label, " behind ", s.label,
                             ": what is held is then ",
                             static_cast<std::int64_t>(bytes / in),
                             " times smaller");
        f.fix_code = absl::StrCat(".", s.op, "(...).", stage.op, "(fn)");
        out.push_back(std::move(f));
        break;
      }
      at = before;
    }
  }
}

}  // namespace penstock::doctor
