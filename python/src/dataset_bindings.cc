// The C++ Dataset as _penstock.Dataset. Signatures here serve only the Python
// class in python/penstock/_dataset.py, which checks and explains arguments.
#include <cxxabi.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "bindings.h"
#include "convert.h"
#include "named_tuples.h"
#include "penstock/base/clock.h"
#include "penstock/build_dataset.h"
#include "penstock/ops/prefetch/prefetch.h"
#include "text.h"

namespace penstock::python {
namespace {

using I64 = std::int64_t;
using OptI64 = std::optional<std::int64_t>;
using Seed = std::optional<std::uint64_t>;
using Text = std::string;

/// Ends a long call of the main thread when the user wants it to.
class Signals {
 public:
  /// Looks now and then. Throws what a handler raised.
  void heed() {
    constexpr I64 kPeriodNs = 50'000'000;
    if (!on_main_thread() || Clock::real().now() - looked_ < kPeriodNs) return;
    looked_ = Clock::real().now();
    const Gil gil;
    if (gil.ok() && PyErr_CheckSignals() != 0) throw PythonError::take(nullptr);
  }

 private:
  I64 looked_ = 0;
};

/// An element that another thread computes, so that the main one sees signals.
struct ElementCall {
  explicit ElementCall(const Dataset& d) : dataset(d) {}

  const Dataset dataset;
  std::atomic<bool> cancel{false};
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;  // under `mutex`, like what follows
  Element found;
  std::exception_ptr error;

  void run(I64 i) {
    Element element;
    std::exception_ptr raised;
    try {
      element = dataset.at(i, &cancel);
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (...) {
      raised = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    found = std::move(element);
    error = std::move(raised);
    done = true;
    finished.notify_all();
  }
};

/// Element `i`. Ctrl-C ends the wait for it at once; a call of the user's that
/// runs then is left to itself, and no other is started. Another thread costs
/// some 60 us: not needed where elements of the dataset were quick so far.
Element element_at(const Dataset& d, I64 i) {
  constexpr std::chrono::milliseconds kPeriod{20};
  constexpr I64 kQuickNs = 1'000'000;
  static const Node* quick = nullptr;  // the main thread's
  if (!on_main_thread()) {
    const WithoutGil waiting;
    return d.at(i);
  }
  const I64 began = Clock::real().now();
  const auto timed = [&] {
    const bool again = Clock::real().now() - began < kQuickNs;
    quick = again ? d.node().get() : nullptr;
  };
  if (quick == d.node().get()) {
    const WithoutGil waiting;
    Element found = d.at(i);
    timed();
    return found;
  }
  const auto call = std::make_shared<ElementCall>(d);
  try {
    std::thread([call, i] { call->run(i); }).detach();
  } catch (const std::system_error&) {  // the system gives no more threads
    const WithoutGil waiting;
    return d.at(i);
  }
  for (;;) {
    {
      const WithoutGil waiting;
      std::unique_lock lock(call->mutex);
      if (call->finished.wait_for(lock, kPeriod, [&] { return call->done; })) {
        break;
      }
    }
    if (PyErr_CheckSignals() != 0) {
      call->cancel.store(true);
      throw nb::python_error();
    }
  }
  timed();
  if (call->error) std::rethrow_exception(call->error);
  return std::move(call->found);
}

Element element(nb::handle value, std::string_view op,
                Arrays arrays = Arrays::kCopy, const Spec* wanted = nullptr) {
  auto made = from_python(value.ptr(), arrays, wanted);
  if (!made.ok()) {
    throw Error(annotate(made.status(), std::string(op) + ": "));
  }
  return *std::move(made);
}

nb::object python(const Element& value) {
  PyObject* out = to_python(value);
  if (out == nullptr) throw nb::python_error();
  return nb::steal(out);
}

Spec spec(nb::handle value) {
  if (value.is_none()) return {};
  return value_or_raise(spec_from_python(value.ptr()));
}

/// None, ("raise",), ("skip", limit, rate) or ("replace", value).
ErrorPolicy policy(nb::handle value, const Spec& elements) {
  if (value.is_none()) return {};
  auto parts = nb::cast<nb::tuple>(value);
  const auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "skip") {
    return ErrorPolicy::skip(nb::cast<OptI64>(parts[1]),
                             nb::cast<std::optional<double>>(parts[2]));
  }
  if (kind == "replace") {
    return ErrorPolicy::replace(
        element(parts[1], "on_error", Arrays::kCopy, &elements));
  }
  return ErrorPolicy::raise();
}

PartialShape shape(nb::handle value) {
  if (value.is_none()) return {};
  Shape dims;
  for (nb::handle dim : nb::cast<nb::sequence>(value)) {
    dims.push_back(dim.is_none() ? kUnknownDim : nb::cast<I64>(dim));
  }
  return PartialShape(dims);
}

std::vector<PartialShape> shapes(nb::handle list) {
  std::vector<PartialShape> out;
  for (nb::handle value : nb::cast<nb::sequence>(list)) {
    out.push_back(shape(value));
  }
  return out;
}

/// Tuples and dicts around leaves; null for None.
const Structure* nesting(nb::handle value) {
  if (value.is_none()) return nullptr;
  if (nb::isinstance<nb::tuple>(value)) {
    std::vector<const Structure*> children;
    for (nb::handle child : nb::cast<nb::tuple>(value)) {
      children.push_back(nesting(child));
    }
    return Structure::tuple(std::move(children));
  }
  if (nb::isinstance<nb::dict>(value)) {
    std::vector<std::pair<std::string, const Structure*>> items;
    for (auto [key, child] : nb::cast<nb::dict>(value)) {
      items.emplace_back(nb::cast<std::string>(key), nesting(child));
    }
    return Structure::dict(std::move(items));
  }
  return Structure::leaf();
}

/// Rank-0 values; None stands for the default.
std::vector<Tensor> paddings(nb::handle list) {
  std::vector<Tensor> out;
  for (nb::handle value : nb::cast<nb::sequence>(list)) {
    out.push_back(value.is_none() ? Tensor()
                                  : element(value, "padding_values")[0]);
  }
  return out;
}

std::vector<Dataset> datasets(nb::handle list) {
  std::vector<Dataset> out;
  for (nb::handle value : nb::cast<nb::sequence>(list)) {
    out.push_back(nb::cast<Dataset>(value));
  }
  return out;
}

/// Nested tuples and dicts whose leaves stand for datasets.
const Structure* zip_structure(nb::handle value, std::vector<Dataset>& out) {
  if (nb::isinstance<nb::tuple>(value)) {
    std::vector<const Structure*> children;
    for (nb::handle child : nb::cast<nb::tuple>(value)) {
      children.push_back(zip_structure(child, out));
    }
    return Structure::tuple(std::move(children), named_tuple_tag(value.ptr()));
  }
  if (nb::isinstance<nb::dict>(value)) {
    std::vector<std::pair<std::string, const Structure*>> items;
    for (auto [key, child] : nb::cast<nb::dict>(value)) {
      items.emplace_back(nb::cast<std::string>(key), zip_structure(child, out));
    }
    return Structure::dict(std::move(items));
  }
  out.push_back(nb::cast<Dataset>(value));
  return Structure::leaf();
}

Options options(nb::dict values, const Spec& elements) {
  Options o;
  const auto get = [&](const char* key) -> nb::object { return values[key]; };
  o.cpu_budget = nb::cast<std::optional<int>>(get("cpu_budget"));
  o.memory_budget = nb::cast<OptI64>(get("memory_budget"));
  o.deterministic = nb::cast<std::optional<bool>>(get("deterministic"));
  o.seed = nb::cast<Seed>(get("seed"));
  o.autotune = nb::cast<std::optional<bool>>(get("autotune"));
  o.on_error = policy(get("on_error"), elements);
  return o;
}

/// Tells the shards of a graph apart, which its fingerprint leaves out. Every
/// node is seen once: a graph may share them.
std::size_t shards_of(const Node& node,
                      std::map<const Node*, std::size_t>& seen) {
  if (const auto at = seen.find(&node); at != seen.end()) return at->second;
  std::size_t out = node.op->op() == "shard"
                        ? std::hash<std::string>()(node.op->describe())
                        : 0;
  for (const NodeRef& input : node.inputs) {
    out = out * 31 + shards_of(*input, seen);
  }
  seen.emplace(&node, out);
  return out;
}

MapOptions map_options(I64 calls, std::optional<bool> deterministic,
                       nb::handle on_error, const Spec& elements, Text name) {
  return {.num_parallel_calls = calls,
          .deterministic = deterministic,
          .on_error = policy(on_error, elements),
          .name = std::move(name)};
}

/// The items of a list. Empty lists in them say no dtype: it is that of the
/// first item without one.
std::vector<Element> list_elements(const nb::list& values) {
  std::vector<Element> elements;
  elements.reserve(nb::len(values));
  std::vector<std::size_t> open;
  Spec first;
  for (nb::handle value : values) {
    elements.push_back(element(value, "from_list", Arrays::kShare));
    Element& made = elements.back();
    made.order_like(elements.front().structure());
    const auto& leaves = made.leaves();
    if (std::any_of(leaves.begin(), leaves.end(),
                    [](const Tensor& t) { return t.num_elements() == 0; })) {
      open.push_back(elements.size() - 1);
    } else if (!first.known()) {
      first = Spec::of(made);
    }
  }
  for (const std::size_t i : open) {
    elements[i] = element(values[i], "from_list", Arrays::kShare, &first);
  }
  return elements;
}

void bind_sources(nb::class_<Dataset>& c) {
  c.def_static("range", [](I64 start, I64 stop, I64 step, Text name) {
    return Dataset::range(start, stop, step, std::move(name));
  });
  c.def_static(
      "from_tensors",
      [](nb::object value, Text name) {
        return Dataset::from_tensors(
            element(value, "from_tensors", Arrays::kShare), std::move(name));
      },
      nb::arg().none(), nb::arg());
  c.def_static(
      "from_tensor_slices",
      [](nb::object value, Text name) {
        return Dataset::from_tensor_slices(
            element(value, "from_tensor_slices", Arrays::kShare),
            std::move(name));
      },
      nb::arg().none(), nb::arg());
  c.def_static("from_list", [](nb::list values, Text name) {
    return Dataset::from_list(list_elements(values), std::move(name));
  });
  c.def_static(
      "from_generator",
      [](nb::callable fn, nb::object signature, Text identity, I64 cardinality,
         Text name) {
        SourceOptions o{.output_signature = spec(signature),
                        .cardinality = Cardinality(cardinality),
                        .name = std::move(name)};
        auto factory = make_python_generator(ref(fn), o.output_signature);
        return Dataset::generator_dataset(std::move(factory),
                                          std::move(identity), std::move(o));
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  c.def_static(
      "from_indexable",
      [](nb::object object, I64 size, nb::object signature, Text identity,
         Text name) {
        SourceOptions o{.output_signature = spec(signature),
                        .name = std::move(name)};
        auto getitem = make_python_getitem(ref(object), o.output_signature);
        return Dataset::indexable_dataset(size, std::move(getitem),
                                          std::move(identity), std::move(o));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  c.def_static(
      "random",
      [](Seed seed, bool rerandomize, Text name) {
        return Dataset::random(seed, rerandomize, std::move(name));
      },
      nb::arg().none(), nb::arg(), nb::arg());
  c.def_static("counter", [](I64 start, I64 step, Text name) {
    return Dataset::counter(start, step, std::move(name));
  });
  c.def_static("zip", [](nb::object structure, Text name) {
    std::vector<Dataset> inputs;
    const Structure* s = zip_structure(structure, inputs);
    return Dataset::zip(s, inputs, std::move(name));
  });
  c.def_static(
      "list_files",
      [](std::vector<Text> patterns, bool shuffle, Seed seed, Text name) {
        return Dataset::list_files(
            std::move(patterns),
            {.shuffle = shuffle, .seed = seed, .name = std::move(name)});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  c.def_static(
      "tfrecord",
      [](nb::object files, Text compression, I64 reads, bool verify,
         I64 max_record_bytes, std::optional<bool> index, Text name) {
        TFRecordOptions o{.compression = std::move(compression),
                          .num_parallel_reads = reads,
                          .verify = verify,
                          .index = use_index(index),
                          .max_record_bytes = max_record_bytes,
                          .name = std::move(name)};
        if (nb::isinstance<Dataset>(files)) {
          return Dataset::tfrecord(nb::cast<const Dataset&>(files),
                                   std::move(o));
        }
        auto names = nb::cast<std::vector<Text>>(files);
        // May read the lengths of all records.
        const WithoutGil waiting;
        return Dataset::tfrecord(std::move(names), std::move(o));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
      nb::arg());
  c.def_static("load", [](const Text& path, Text name) {
    return Dataset::load(path, std::move(name));
  });
  c.def_static(
      "sample_from_datasets",
      [](nb::object list, std::vector<double> weights, Seed seed, bool stop,
         bool rerandomize, Text name) {
        return Dataset::sample_from_datasets(
            datasets(list), {.weights = std::move(weights),
                             .seed = seed,
                             .stop_on_empty_dataset = stop,
                             .rerandomize_each_iteration = rerandomize,
                             .name = std::move(name)});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  c.def_static(
      "choose_from_datasets",
      [](nb::object list, const Dataset& choice, bool stop, Text name) {
        return Dataset::choose_from_datasets(
            datasets(list), choice,
            {.stop_on_empty_dataset = stop, .name = std::move(name)});
      });
}

void bind_functions_of(nb::class_<Dataset>& c) {
  c.def(
      "map",
      [](const Dataset& d, const FunctionHandle& fn, I64 calls,
         std::optional<bool> deterministic, nb::object on_error, Text name) {
        const Spec made =
            fn.ref->output_spec(d.element_spec()).value_or(Spec());
        return d.map_function(
            fn.ref,
            map_options(calls, deterministic, on_error, made, std::move(name)));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  c.def(
      "filter",
      [](const Dataset& d, const FunctionHandle& fn, I64 calls,
         std::optional<bool> deterministic, nb::object on_error, Text name) {
        return d.filter_function(
            fn.ref, map_options(calls, deterministic, on_error,
                                d.element_spec(), std::move(name)));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  c.def("flat_map",
        [](const Dataset& d, const DatasetFunctionHandle& fn, Text name) {
          return d.flat_map_function(fn.ref, {.name = std::move(name)});
        });
  c.def(
      "interleave",
      [](const Dataset& d, const DatasetFunctionHandle& fn, I64 cycle,
         I64 block, I64 calls, std::optional<bool> deterministic, Text name) {
        return d.interleave_function(fn.ref, {.cycle_length = cycle,
                                              .block_length = block,
                                              .num_parallel_calls = calls,
                                              .deterministic = deterministic,
                                              .name = std::move(name)});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  c.def("take_while",
        [](const Dataset& d, const FunctionHandle& fn, Text name) {
          return d.take_while_function(fn.ref, std::move(name));
        });
  c.def(
      "scan",
      [](const Dataset& d, nb::object init, nb::object fn, Text identity,
         nb::object signature, Text name) {
        Element state = element(init, "scan");
        Spec declared = spec(signature);
        ScanFunction scan =
            nb::isinstance<ScanHandle>(fn)
                ? nb::cast<const ScanHandle&>(fn).fn
                : make_python_scan(ref(fn), Spec::of(state), declared);
        return d.scan_function(
            std::move(state), std::move(scan), std::move(identity),
            {.output_signature = std::move(declared), .name = std::move(name)});
      },
      nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  c.def(
      "group_by_window",
      [](const Dataset& d, const FunctionHandle& key,
         const DatasetFunctionHandle& reduce, I64 size, nb::object size_func,
         Text name) {
        GroupByWindowOptions o{.window_size = size, .name = std::move(name)};
        if (!size_func.is_none()) {
          o.window_size_func = make_python_number_function(ref(size_func));
        }
        return d.group_by_window_function(key.ref, reduce.ref, o);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  c.def("bucket_by_sequence_length",
        [](const Dataset& d, const FunctionHandle& length,
           std::vector<I64> boundaries, std::vector<I64> sizes,
           nb::tuple padded, nb::tuple values, bool to_boundary,
           bool no_padding, bool drop, Text name) {
          return d.bucket_function(length.ref, std::move(boundaries),
                                   std::move(sizes),
                                   {.padded_shapes = shapes(padded[0]),
                                    .padding_values = paddings(values[0]),
                                    .padded_shapes_as = nesting(padded[1]),
                                    .padding_values_as = nesting(values[1]),
                                    .pad_to_bucket_boundary = to_boundary,
                                    .no_padding = no_padding,
                                    .drop_remainder = drop,
                                    .name = std::move(name)});
        });
  c.def(
      "rejection_resample",
      [](const Dataset& d, const FunctionHandle& fn, std::vector<double> target,
         std::vector<double> initial, Seed seed, Text name) {
        return d.rejection_resample_function(
            fn.ref, std::move(target),
            {.initial_dist = std::move(initial),
             .seed = seed,
             .name = std::move(name)});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

void bind_transformations(nb::class_<Dataset>& c) {
  c.def("batch", [](const Dataset& d, I64 n, bool drop, Text name) {
    return d.batch(n, {drop, std::move(name)});
  });
  c.def("padded_batch", [](const Dataset& d, I64 n, nb::tuple padded,
                           nb::tuple values, bool drop, Text name) {
    return d.padded_batch(n, {.padded_shapes = shapes(padded[0]),
                              .padding_values = paddings(values[0]),
                              .padded_shapes_as = nesting(padded[1]),
                              .padding_values_as = nesting(values[1]),
                              .drop_remainder = drop,
                              .name = std::move(name)});
  });
  c.def("ragged_batch", [](const Dataset& d, I64 n, bool drop, Text name) {
    return d.ragged_batch(n, {drop, std::move(name)});
  });
  c.def("pack", [](const Dataset& d, std::vector<I64> lengths, I64 open,
                   bool split, nb::object values, bool drop, Text name) {
    PackOptions o{.num_open = open,
                  .split_long = split,
                  .padding_values = paddings(values),
                  .drop_remainder = drop,
                  .name = std::move(name)};
    return lengths.size() == 1 ? d.pack(lengths[0], std::move(o))
                               : d.pack(std::move(lengths), std::move(o));
  });
  c.def(
      "shuffle",
      [](const Dataset& d, I64 size, Seed seed, bool reshuffle, Text name) {
        return d.shuffle({.buffer_size = size,
                          .seed = seed,
                          .reshuffle_each_iteration = reshuffle,
                          .name = std::move(name)});
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  c.def("repeat", [](const Dataset& d, I64 n, Text name) {
    return d.repeat(n, std::move(name));
  });
  c.def(
      "cache",
      [](const Dataset& d, std::optional<Text> path, Text name) {
        return d.cache({.path = std::move(path), .name = std::move(name)});
      },
      nb::arg().none(), nb::arg());
  c.def("snapshot", [](const Dataset& d, Text path, Text name) {
    return d.snapshot(std::move(path), std::move(name));
  });
  c.def("take", [](const Dataset& d, I64 n, Text name) {
    return d.take(n, std::move(name));
  });
  c.def("skip", [](const Dataset& d, I64 n, Text name) {
    return d.skip(n, std::move(name));
  });
  c.def("unbatch",
        [](const Dataset& d, Text name) { return d.unbatch(std::move(name)); });
  c.def("rebatch",
        [](const Dataset& d, std::vector<I64> sizes, bool drop, Text name) {
          return d.rebatch(std::move(sizes), {drop, std::move(name)});
        });
  c.def(
      "window",
      [](const Dataset& d, I64 size, OptI64 shift, I64 stride, bool drop,
         Text name) {
        return d.window(size, {.shift = shift,
                               .stride = stride,
                               .drop_remainder = drop,
                               .name = std::move(name)});
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  c.def("unique",
        [](const Dataset& d, Text name) { return d.unique(std::move(name)); });
  c.def("shard", [](const Dataset& d, I64 n, I64 index, Text name) {
    return d.shard(n, index, std::move(name));
  });
  c.def("enumerate", [](const Dataset& d, I64 start, Text name) {
    return d.enumerate(start, std::move(name));
  });
  c.def("concatenate", [](const Dataset& d, const Dataset& other, Text name) {
    return d.concatenate(other, std::move(name));
  });
  c.def("prefetch", [](const Dataset& d, I64 n, Text name) {
    return d.prefetch(n, std::move(name));
  });
  c.def(
      "ignore_errors",
      [](const Dataset& d, OptI64 limit, Text name) {
        return d.ignore_errors(limit, std::move(name));
      },
      nb::arg().none(), nb::arg());
  c.def("with_options", [](const Dataset& d, nb::dict values, Text name) {
    return detail::build_dataset(
        ops::make_with_options(options(values, d.element_spec())), {d.node()},
        std::move(name));
  });
}

void bind_running(nb::class_<Dataset>& c) {
  c.def_prop_ro("cardinality",
                [](const Dataset& d) { return d.cardinality().value(); });
  c.def_prop_ro("element_spec", [](const Dataset& d) {
    PyObject* out = spec_to_python(d.element_spec());
    if (out == nullptr) throw nb::python_error();
    return nb::steal(out);
  });
  c.def_prop_ro("stage",
                [](const Dataset& d) { return d.node()->stage().to_string(); });
  // That of the call: a policy of the chain adds a stage behind it.
  c.def_prop_ro("called_stage", [](const Dataset& d) {
    const Node* node = d.node().get();
    while (node->op->op() == "on_error") node = node->inputs[0].get();
    return node->stage().to_string();
  });
  c.def_prop_ro("indexed", [](const Dataset& d) { return d.node()->indexed; });
  c.def("explain_graph",
        [](const Dataset& d) { return explain_graph(*d.node()); });
  c.def("explain", [](const Dataset& d) {
    const WithoutGil waiting;
    return d.explain();
  });
  c.def("fingerprint", [](const Dataset& d) { return d.fingerprint(); });
  c.def("shards", [](const Dataset& d) {
    std::map<const Node*, std::size_t> seen;
    return shards_of(*d.node(), seen);
  });
  c.def("at", [](const Dataset& d, I64 i) { return python(element_at(d, i)); });
  c.def(
      "save",
      [](const Dataset& d, const Text& path, I64 shards,
         nb::object shard_func) {
        SaveOptions o{.num_shards = shards};
        o.shard_func = [shards, i = I64(0),
                        signals = Signals()](const Element&) mutable -> I64 {
          signals.heed();
          return i++ % shards;
        };
        if (!shard_func.is_none()) {
          o.shard_func = [fn = ref(shard_func), signals = Signals()](
                             const Element& e) mutable -> I64 {
            signals.heed();
            const Gil gil;
            if (!gil.ok()) return 0;
            PyObject* value = call_on_element(fn.get(), nullptr, e);
            if (value == nullptr) throw PythonError::take(fn.get());
            auto number = convert_result(value, Result::kNumber);
            Py_DECREF(value);
            return value_or_raise(std::move(number))[0].value<I64>();
          };
        }
        const WithoutGil waiting;
        d.save(path, o);
      },
      nb::arg(), nb::arg(), nb::arg().none());
}

}  // namespace

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset> c(m, "Dataset");
  bind_sources(c);
  bind_file_sources(c);
  bind_functions_of(c);
  bind_transformations(c);
  bind_running(c);
  m.attr("GLOBAL") = kGlobal;
  m.attr("AUTOTUNE") = kAutotune;
  m.attr("INFINITE") = Cardinality::kInfinite;
  m.attr("UNKNOWN") = Cardinality::kUnknown;
}

}  // namespace penstock::python
