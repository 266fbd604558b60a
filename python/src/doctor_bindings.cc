// The doctor's model and rules, over dicts: `_doctor.py` gathers the facts.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "penstock/doctor/diagnose.h"
#include "process_clocks.h"
#include "text.h"

namespace penstock::python {
namespace {

using doctor::Change;
using doctor::Facts;
using doctor::Model;
using doctor::StageFacts;

template <class T>
void get(const nb::dict& d, const char* key, T& value) {
  if (d.contains(key)) value = nb::cast<T>(d[key]);
}

StageFacts stage_facts(const nb::dict& d) {
  StageFacts s;
#define PENSTOCK_GET(field) get(d, #field, s.field)
  PENSTOCK_GET(label);
  PENSTOCK_GET(op);
  PENSTOCK_GET(name);
  PENSTOCK_GET(index);
  PENSTOCK_GET(inputs);
  PENSTOCK_GET(parent);
  PENSTOCK_GET(source);
  PENSTOCK_GET(sequential);
  PENSTOCK_GET(user_code);
  PENSTOCK_GET(parallel_calls);
  PENSTOCK_GET(cycle_length);
  PENSTOCK_GET(prefetch);
  PENSTOCK_GET(batch_size);
  PENSTOCK_GET(window);
  PENSTOCK_GET(ordered);
  PENSTOCK_GET(padded);
  PENSTOCK_GET(arguments);
  PENSTOCK_GET(cardinality);
  PENSTOCK_GET(repeats);
  PENSTOCK_GET(indexed);
  PENSTOCK_GET(in_order_source);
  PENSTOCK_GET(moved_behind);
  PENSTOCK_GET(random);
  PENSTOCK_GET(files);
  PENSTOCK_GET(compression);
  PENSTOCK_GET(function);
  PENSTOCK_GET(executor);
  PENSTOCK_GET(executor_forced);
  PENSTOCK_GET(stays);
  PENSTOCK_GET(pickles);
  PENSTOCK_GET(refusal);
  PENSTOCK_GET(refusal_fixable);
  PENSTOCK_GET(native_form);
  PENSTOCK_GET(filter_could_pass);
  PENSTOCK_GET(filter_there);
  PENSTOCK_GET(unused_share);
  PENSTOCK_GET(unused_what);
  PENSTOCK_GET(unused_in);
  PENSTOCK_GET(rest_native);
  PENSTOCK_GET(hot_lines);
  PENSTOCK_GET(shape_ratio);
  PENSTOCK_GET(elements);
  PENSTOCK_GET(elements_ever);
  PENSTOCK_GET(epochs_ever);
  PENSTOCK_GET(busy_ever_s);
  PENSTOCK_GET(blocks);
  PENSTOCK_GET(decode_left);
  PENSTOCK_GET(native_left);
  PENSTOCK_GET(padding_left);
  const auto trial = [&](const char* name, doctor::Trial& tried) {
    if (!d.contains(name)) return;
    const auto times = nb::cast<nb::sequence>(d[name]);
    tried = {nb::cast<double>(times[0]), nb::cast<double>(times[1])};
  };
  trial("free", s.free);
  trial("cached", s.cached);
  trial("packed", s.packed);
  trial("native", s.native);
  trial("threads", s.threads);
  trial("rest", s.rest);
  trial("roomy", s.roomy);
  trial("batched", s.batched);
  PENSTOCK_GET(batched_size);
  PENSTOCK_GET(bytes);
  PENSTOCK_GET(spec_bytes);
  PENSTOCK_GET(busy_s);
  PENSTOCK_GET(cpu_s);
  PENSTOCK_GET(calls);
  PENSTOCK_GET(gil_wait_s);
  PENSTOCK_GET(gil_hold_s);
  PENSTOCK_GET(gil_held_s);
  PENSTOCK_GET(work_s);
  PENSTOCK_GET(worker_cpu_s);
  PENSTOCK_GET(wait_input_s);
  PENSTOCK_GET(wait_output_s);
  PENSTOCK_GET(wait_memory_s);
  PENSTOCK_GET(wait_order_s);
  PENSTOCK_GET(opens);
  PENSTOCK_GET(open_s);
  PENSTOCK_GET(read_s);
  PENSTOCK_GET(read_bytes);
  PENSTOCK_GET(inflate_s);
  PENSTOCK_GET(decoded_pixels);
  PENSTOCK_GET(decodes);
  PENSTOCK_GET(reads);
  PENSTOCK_GET(resized_pixels);
  PENSTOCK_GET(max_parallelism);
  PENSTOCK_GET(width);
  PENSTOCK_GET(blocking);
#undef PENSTOCK_GET
  return s;
}

Facts facts_of(const nb::dict& d) {
  Facts s;
  for (const nb::handle stage : nb::cast<nb::list>(d["stages"])) {
    s.stages.push_back(stage_facts(nb::cast<nb::dict>(stage)));
  }
  if (d.contains("windows")) {
    for (const nb::handle window : nb::cast<nb::list>(d["windows"])) {
      const auto w = nb::cast<nb::dict>(window);
      doctor::Window made;
      get(w, "seconds", made.seconds);
      get(w, "elements", made.elements);
      get(w, "other_cpu", made.other_cpu);
      get(w, "throttled_s", made.throttled_s);
      get(w, "run_delay_s", made.run_delay_s);
      s.windows.push_back(made);
    }
  }
#define PENSTOCK_GET(field) get(d, #field, s.field)
  PENSTOCK_GET(output);
  PENSTOCK_GET(seconds);
  PENSTOCK_GET(elements);
  PENSTOCK_GET(consumer_wait_s);
  PENSTOCK_GET(consumer_think_s);
  PENSTOCK_GET(consumer_cpu_s);
  PENSTOCK_GET(consumer_given);
  PENSTOCK_GET(step_alone_s);
  PENSTOCK_GET(step_alone_cpu_s);
  PENSTOCK_GET(step_beside_s);
  PENSTOCK_GET(put_s);
  PENSTOCK_GET(put_wait_s);
  PENSTOCK_GET(device);
  PENSTOCK_GET(cores);
  PENSTOCK_GET(own_cpu_s);
  PENSTOCK_GET(foreign_cpu_s);
  PENSTOCK_GET(engine_cpu_s);
  PENSTOCK_GET(foreign_threads);
  PENSTOCK_GET(other_cpu);
  PENSTOCK_GET(throttled_s);
  PENSTOCK_GET(bytes_held);
  PENSTOCK_GET(bytes_peak);
  PENSTOCK_GET(memory_budget);
  PENSTOCK_GET(call_overhead_s);
  PENSTOCK_GET(next_s);
  PENSTOCK_GET(begin_s);
  PENSTOCK_GET(native_row_s);
  PENSTOCK_GET(native_filter_s);
  PENSTOCK_GET(gil_busy);
  PENSTOCK_GET(run_delay_s);
  PENSTOCK_GET(bounded);
#undef PENSTOCK_GET
  const auto n = static_cast<int>(s.stages.size());
  const auto check = [n](int stage) {
    if (stage < -1 || stage >= n) {
      throw Error(absl::InvalidArgumentError(
          absl::StrCat("doctor: there is no stage ", stage)));
    }
  };
  check(s.output);
  check(s.device);
  for (const StageFacts& stage : s.stages) {
    check(stage.parent);
    check(stage.filter_could_pass);
    check(stage.unused_in);
    for (const int input : stage.inputs) check(input);
  }
  return s;
}

nb::dict change_dict(const Change& c) {
  nb::dict d;
  d["stage"] = c.stage;
  if (c.parallel_calls) d["num_parallel_calls"] = *c.parallel_calls;
  if (!c.executor.empty()) d["executor"] = c.executor;
  if (c.cache) d["cache"] = true;
  if (c.prefetch) d["prefetch"] = *c.prefetch;
  if (c.batch) d["batch"] = *c.batch;
  if (c.unordered) d["deterministic"] = false;
  if (c.compute != 1) d["compute"] = c.compute;
  if (c.wait != 1) d["wait"] = c.wait;
  if (c.room != 1) d["room"] = c.room;
  return d;
}

Change change_of(const nb::dict& d, int stages) {
  Change c;
  get(d, "stage", c.stage);
  if (c.stage < 0 || c.stage >= stages) {
    throw Error(absl::InvalidArgumentError(
        absl::StrCat("doctor: there is no stage ", c.stage)));
  }
  if (d.contains("num_parallel_calls")) {
    c.parallel_calls = std::max(0, nb::cast<int>(d["num_parallel_calls"]));
  }
  get(d, "executor", c.executor);
  get(d, "cache", c.cache);
  if (d.contains("prefetch"))
    c.prefetch = nb::cast<std::int64_t>(d["prefetch"]);
  if (d.contains("batch")) c.batch = nb::cast<std::int64_t>(d["batch"]);
  get(d, "compute", c.compute);
  get(d, "wait", c.wait);
  return c;
}

nb::dict ceiling_dict(const doctor::Ceiling& c) {
  nb::dict d;
  d["rate"] = c.rate;
  d["kind"] = doctor::limit_name(c.limit);
  d["stage"] = c.stage;
  return d;
}

nb::dict finding_dict(const doctor::Finding& f) {
  nb::dict d;
  d["code"] = f.code;
  d["severity"] = doctor::severity(f);
  d["stage"] = f.stage;
  d["cause"] = f.cause;
  d["fix"] = f.fix;
  d["fix_code"] = f.fix_code;
  if (f.speedup) {
    d["speedup"] = *f.speedup;
  } else {
    d["speedup"] = nb::none();
  }
  nb::list evidence;
  for (const doctor::Evidence& e : f.evidence) {
    nb::dict one;
    one["what"] = e.what;
    one["value"] = e.value;
    one["unit"] = e.unit;
    evidence.append(one);
  }
  d["evidence"] = evidence;
  nb::list changes;
  for (const Change& c : f.changes) changes.append(change_dict(c));
  d["changes"] = changes;
  return d;
}

nb::dict diagnose(const nb::dict& facts) {
  const Model model(facts_of(facts));
  const doctor::Diagnosis found = doctor::diagnose(model);
  nb::dict d;
  d["bound"] = found.bound;
  d["verdict"] = found.verdict;
  d["healthy"] = found.healthy;
  d["predicted"] = found.predicted;
  d["unsure"] = found.unsure;
  d["unsure_why"] = found.unsure_why;
  d["gil_bound"] = model.gil_bound();
  // As the verdict counts them: of a step that waits for the GIL, too.
  d["consumer_wait_s"] = model.facts().consumer_wait_s;
  d["consumer_think_s"] = model.facts().consumer_think_s;
  d["limiting"] = found.limiting;
  d["limit"] = ceiling_dict(model.pipeline());
  nb::list findings;
  for (const doctor::Finding& f : found.findings) {
    findings.append(finding_dict(f));
  }
  d["findings"] = findings;
  nb::list ceilings;
  for (int i = 0; i < doctor::num_stages(model); ++i) {
    ceilings.append(ceiling_dict(model.of_stage(i)));
  }
  d["ceilings"] = ceilings;
  return d;
}

nb::dict predict(const nb::dict& facts, const nb::list& changes) {
  const Model model(facts_of(facts));
  std::vector<Change> made;
  for (const nb::handle change : changes) {
    made.push_back(
        change_of(nb::cast<nb::dict>(change), doctor::num_stages(model)));
  }
  nb::dict d = ceiling_dict(model.with(made));
  d["speedup"] = model.gain(made);
  return d;
}

/// The graph, sources first: what the doctor wants to know of each stage.
int add_node(const Node& node, const std::string& prefix, nb::list& nodes) {
  std::vector<int> inputs;
  const bool branch = node.inputs.size() > 1;
  const StageInfo info = node.stage(prefix);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i]->index < 0) continue;
    inputs.push_back(add_node(
        *node.inputs[i],
        branch ? absl::StrCat(info.to_string(), "[", i, "].") : prefix, nodes));
  }
  nb::dict d;
  d["label"] = info.to_string();
  d["op"] = info.op;
  d["index"] = info.index;
  d["name"] = info.name;
  d["branch"] = prefix;
  d["description"] = node.op->describe();
  d["inputs"] = inputs;
  d["cardinality"] = node.cardinality.is_infinite()  ? std::int64_t{-1}
                     : node.cardinality.is_unknown() ? std::int64_t{-2}
                                                     : node.cardinality.value();
  d["indexed"] = node.indexed;
  bool user_code = false;
  bool transforms = false;
  bool sequencer = false;
  for (const Part& part : node.op->lower()) {
    if (part.transform) {
      transforms = true;
      user_code |= part.transform->traits().user_code;
    }
    if (part.sequencer) {
      sequencer = true;
      user_code |= part.sequencer->traits().user_code;
    }
    if (part.source) user_code |= part.source->user_code();
  }
  d["user_code"] = user_code;
  d["source"] = inputs.empty();
  d["sequential"] = sequencer && !transforms;
  const auto number = static_cast<int>(nodes.size());
  nodes.append(d);
  return number;
}

}  // namespace

void bind_doctor(nb::module_& m) {
  m.def("doctor_diagnose", &diagnose, nb::arg("facts"));
  m.def("doctor_predict", &predict, nb::arg("facts"), nb::arg("changes"));
  m.def("doctor_graph", [](const Dataset& dataset) {
    nb::list nodes;
    add_node(*dataset.node(), "", nodes);
    return nodes;
  });
  nb::class_<ProcessClocks>(m, "ProcessClocks")
      .def(nb::init<>())
      // (own, machine, throttled, run delay, threads, watching, beside)
      .def("read", [](ProcessClocks& clocks) {
        ProcessClocks::Times t;
        {
          const WithoutGil released;
          t = clocks.read();
        }
        return std::tuple(t.own, t.machine, t.throttled, t.run_delay, t.threads,
                          t.watching, t.beside);
      });
  // Without the iterations that `dataset` has counted.
  m.def("fresh_dataset",
        [](const Dataset& dataset) { return Dataset(dataset.node()); });
}

}  // namespace penstock::python
