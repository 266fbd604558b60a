// transfer: the copy to the device limits.
#include "penstock/doctor/rule.h"

namespace penstock::doctor {

void transfer(const Model& model, Findings& out) {
  const Facts& facts = model.facts();
  if (facts.device < 0 || facts.elements <= 0) return;
  const double put = facts.put_s / facts.elements;
  const double think = facts.consumer_think_s / facts.elements;
  // Nothing else is slower: the copying thread hardly waits for batches.
  if (facts.put_s < 0.7 * facts.seconds ||
      facts.put_wait_s > 0.25 * facts.seconds) {
    return;
  }
  Finding f;
  f.code = "transfer";
  f.stage = facts.device;
  f.changes = {{.stage = facts.device, .wait = 0.5}};
  f.speedup = model.gain(f.changes);
  const StageFacts& s = stage_of(model, facts.device);
  const double bytes =
      s.inputs.empty() ? 0
                       : stage_of(model, s.inputs.front()).bytes_per_element();
  f.cause =
      "copying batches to the device takes longer than making or using "
      "them";
  f.evidence = {
      {"a copy", put, "s"},
      {"the copying thread is at work", 100 * facts.put_s / facts.seconds, "%"},
      {"a step of the consumer", think, "s"},
      {"a batch", bytes, "bytes"}};
  f.fix =
      "copy fewer bytes (uint8 instead of float32, converted on the "
      "device), or from pinned memory (the prediction is for half the time)";
  f.fix_code = ".map(lambda x: ps.cast(x, ps.uint8)).prefetch_to_device(put)";
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
