// io-latency: calls wait for something, as many as may do so at once, and more
// width would not help or is not to be had.
#include "penstock/doctor/rule.h"
#include "penstock/doctor/waiting.h"

namespace penstock::doctor {

void io_latency(const Model& model, Findings& out) {
  const int i = waiting_stage(model);
  if (i < 0 || moves_bytes(model, i)) return;
  const StageFacts& s = stage_of(model, i);
  Finding f;
  f.code = "io-latency";
  f.stage = i;
  f.changes = {{.stage = i, .wait = 0.25}};
  f.speedup = model.gain(f.changes);
  f.cause =
      "its calls wait rather than compute, and more of them at once no "
      "longer help";
  f.evidence = {{"waiting per element",
                 service_s(model, i) - per_element(s.cpu_s, s), "s"},
                {"CPU time per element", per_element(s.cpu_s, s), "s"},
                {"calls at once", model.parallelism(i), "calls"},
                {"bytes per element", s.bytes_per_element(), "bytes"}};
  f.fix =
      "fetch more with each request: pack small objects into shards of "
      "many megabytes, so that one wait brings many elements (the "
      "prediction is for four elements per wait)";
  f.fix_code =
      "ds.save(\"packed\", num_shards=16)  # once\n"
      "ds = ps.Dataset.load(\"packed\")";
  out.push_back(std::move(f));
}

}  // namespace penstock::doctor
