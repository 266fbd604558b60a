// io-bandwidth: large objects; bytes per second stay the same at any width.
#include "penstock/doctor/rule.h"
#include "penstock/doctor/waiting.h"

namespace penstock::doctor {

void io_bandwidth(const Model& model, Findings& out) {
  const int i = waiting_stage(model);
  if (i < 0 || !moves_bytes(model, i)) return;
  const StageFacts& s = stage_of(model, i);
  const double bytes = std::max(s.bytes, s.read_bytes);
  Finding f;
  f.code = "io-bandwidth";
  f.stage = i;
  f.changes = {{.stage = i, .wait = 0.5}};
  f.speedup = model.gain(f.changes);
  f.cause =
      "its calls wait for bytes: the device or network gives no more, "
      "however many calls there are";
  f.evidence = {
      {"bytes per second", bytes / model.facts().seconds, "bytes"},
      {"bytes per element", bytes / std::max(1.0, s.elements), "bytes"},
      {"waiting per element", service_s(model, i) - per_element(s.cpu_s, s),
       "s"},
      {"calls at once", model.parallelism(i), "calls"}};
  f.fix =
      "move fewer bytes: store compressed or smaller elements, or keep "
      "them near (the prediction is for half the bytes)";
  f.fix_code = "ds.cache(\"/local/disk/cache\")  # read over the network once";
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
