#include "functions.h"

#include <charconv>

#include "convert.h"
#include "errors.h"
#include "nested.h"
#include "penstock/graph/block_hint.h"
#include "penstock/graph/element_key.h"
#include "penstock/memory/placement.h"

namespace penstock::python {
namespace {

constexpr double kBlockNs = 500'000;
constexpr double kSampledBlockNs = 10e6;
const char* const kExiting = "the interpreter exits";

Status cancelled() { return absl::CancelledError(kExiting); }

class Counting {
 public:
  Counting(const Gil& gil, StageCounters* counters)
      : gil_(gil), counters_(counters) {}
  ~Counting() {
    if (counters_ == nullptr) return;
    counters_->calls.fetch_add(calls, std::memory_order_relaxed);
    counters_->wait_ns.fetch_add(gil_.wait_ns(), std::memory_order_relaxed);
    counters_->hold_ns.fetch_add(gil_.hold_ns(), std::memory_order_relaxed);
  }
  std::int64_t calls = 0;

 private:
  const Gil& gil_;
  StageCounters* counters_;
};

/// Random values of the function are those of the element that the engine
/// calls it for, if it says so.
class Keyed {
 public:
  Keyed() {
    if (const auto key = ElementKey::current()) {
      current_element() = {true, *key, 0};
    }
  }
  ~Keyed() { current_element().active = false; }
  Keyed(const Keyed&) = delete;
  Keyed& operator=(const Keyed&) = delete;
};

class PythonFunction final : public Function {
 public:
  PythonFunction(PyRef fn, Result result, Spec declared, std::string identity,
                 std::shared_ptr<StageCounters> counters)
      : fn_(std::move(fn)),
        result_(result),
        declared_(std::move(declared)),
        identity_(std::move(identity)),
        counters_(std::move(counters)) {}

  StatusOr<Spec> output_spec(const Spec& /*input*/) const override {
    if (result_ == Result::kPredicate) return Spec::scalar<bool>();
    if (result_ == Result::kNumber) return Spec::scalar<std::int64_t>();
    return declared_;
  }
  std::string identity() const override { return identity_; }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    // Handing the GIL to another thread costs some 50 us. A sampler gets it
    // during a call that gives it up, or in the middle of a long block.
    ask_for_block_ns(sampling() && counters_->looks.mostly_held()
                         ? kSampledBlockNs
                         : kBlockNs);
    BlockBuilder builder;
    builder.reserve(in.size());
    {
      Gil gil;
      Counting counting(gil, counters_.get());
      const GilWatched watched(gil.ok() ? &counters_->looks : nullptr);
      if (gil.ok()) drain_released();
      bool live = gil.ok();
      for (std::int64_t row = 0; row < in.size(); ++row) {
        if (ErrorRef error = in.error_ref(row)) {
          builder.add_error(std::move(error));
          continue;
        }
        if (row > 0 && context.overdue()) break;
        live = live && (row == 0 || gil.breathe());
        if (!live || context.cancelled()) {
          builder.add_error(context.error(absl::CancelledError("cancelled"),
                                          in.origins().at(row)));
          continue;
        }
        ++counting.calls;
        call(in, row, context, builder);
      }
      current_element().active = false;
    }
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(in.origins());
    return absl::OkStatus();
  }

 private:
  void call(const Block& in, std::int64_t row, CallContext& context,
            BlockBuilder& builder) const {
    CurrentElement& current = current_element();
    current = {true, context.random_key(in.origins(), row), 0};
    Element element;
    in.read_element(row, element);
    const auto raised = [&](const PythonError& error) {
      builder.add_error(context.error(error.status(), in.origins().at(row),
                                      std::make_exception_ptr(error)));
    };
    Owned value(call_on_element(fn_.get(), nullptr, element));
    if (value.get() == nullptr) return raised(PythonError::take(fn_.get()));
    StatusOr<Element> made = Element();
    try {
      PlacementScope placement(
          context.sink != nullptr ? context.sink->offer(row) : nullptr);
      made = convert_result(value.get(), result_, &declared_);
    } catch (const PythonError& error) {
      return raised(error);
    }
    value.reset(nullptr);
    Status status = made.ok() ? declared_.check(*made) : made.status();
    if (status.ok()) {
      builder.add(*std::move(made));
    } else {
      builder.add_error(context.error(std::move(status), in.origins().at(row)));
    }
  }

  PyRef fn_;
  Result result_;
  Spec declared_;
  std::string identity_;
  std::shared_ptr<StageCounters> counters_;
};

class PythonDatasetFunction final : public DatasetFunction {
 public:
  PythonDatasetFunction(PyRef fn, Spec declared, std::string identity,
                        std::shared_ptr<StageCounters> counters)
      : fn_(std::move(fn)),
        declared_(std::move(declared)),
        identity_(std::move(identity)),
        counters_(std::move(counters)) {}

  StatusOr<Spec> output_spec(const Spec& /*input*/) const override {
    return declared_;
  }
  std::string identity() const override { return identity_; }

  StatusOr<NodeRef> call(const Element& element) const override {
    return Block(*this).call(element);
  }
  std::unique_ptr<Calls> calls() const override {
    ask_for_block_ns(kBlockNs);
    return std::make_unique<Block>(*this);
  }

 private:
  /// Keeps the GIL over calls in a row.
  class Block final : public Calls {
   public:
    explicit Block(const PythonDatasetFunction& of)
        : of_(of),
          counting_(gil_, of.counters_.get()),
          watched_(gil_.ok() ? &of.counters_->looks : nullptr) {
      if (gil_.ok()) drain_released();
    }

    StatusOr<NodeRef> call(const Element& element) override {
      if (!gil_.ok() || (counting_.calls > 0 && !gil_.breathe())) {
        return cancelled();
      }
      ++counting_.calls;
      const Keyed keyed;
      const Owned value(call_on_element(of_.fn_.get(), nullptr, element));
      if (value.get() == nullptr) throw PythonError::take(of_.fn_.get());
      NodeRef node = node_of(value.get());
      if (!node) {
        return invalid_argument(
            "the function must return a Dataset, it returned "
            "a value of type ",
            Py_TYPE(value.get())->tp_name);
      }
      of_.counters_->nested.add(value.get());
      return node;
    }

   private:
    const PythonDatasetFunction& of_;
    Gil gil_;
    Counting counting_;
    const GilWatched watched_;
  };

  PyRef fn_;
  Spec declared_;
  std::string identity_;
  std::shared_ptr<StageCounters> counters_;
};

/// A Python iterator. With state_dict() and load_state_dict() it is continued
/// where it was, else read from its start.
class PythonGenerator final : public SequentialSource {
 public:
  PythonGenerator(PyRef fn, PyRef iterator, Spec declared)
      : fn_(std::move(fn)),
        iterator_(std::move(iterator)),
        declared_(std::move(declared)),
        resumes_(PyObject_HasAttrString(iterator_.get(), "state_dict") != 0 &&
                 PyObject_HasAttrString(iterator_.get(), "load_state_dict") !=
                     0) {}

  StatusOr<std::optional<Element>> next() override {
    Gil gil;
    if (!gil.ok()) return cancelled();
    const Keyed keyed;
    const Owned value(
        in_interpreter([&] { return PyIter_Next(iterator_.get()); }));
    if (value.get() == nullptr) {
      if (PyErr_Occurred() != nullptr) throw PythonError::take(fn_.get());
      return std::nullopt;
    }
    auto element = from_python(value.get(), Arrays::kCopy, &declared_);
    // The generator itself can go on.
    if (!element.ok()) return element_error(element.status());
    return *std::move(element);
  }

  std::optional<std::string> save() const override {
    if (!resumes_) return std::nullopt;
    Gil gil;
    if (!gil.ok()) return std::nullopt;
    const Owned state(
        PyObject_CallMethod(iterator_.get(), "state_dict", nullptr));
    const Owned bytes(state.get() == nullptr
                          ? nullptr
                          : PyObject_CallFunctionObjArgs(python_type("dumps"),
                                                         state.get(), nullptr));
    if (bytes.get() == nullptr || !PyBytes_Check(bytes.get())) {
      PyErr_Clear();
      return std::nullopt;
    }
    return std::string(PyBytes_AS_STRING(bytes.get()),
                       static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())));
  }

  Status restore(std::string_view state) override {
    Gil gil;
    if (!gil.ok()) return cancelled();
    const Owned bytes(PyBytes_FromStringAndSize(
        state.data(), static_cast<Py_ssize_t>(state.size())));
    const Owned value(PyObject_CallFunctionObjArgs(python_type("loads"),
                                                   bytes.get(), nullptr));
    const Owned done(value.get() == nullptr
                         ? nullptr
                         : PyObject_CallMethod(iterator_.get(),
                                               "load_state_dict", "(O)",
                                               value.get()));
    if (done.get() == nullptr) throw PythonError::take(fn_.get());
    return absl::OkStatus();
  }

 private:
  PyRef fn_;
  PyRef iterator_;
  Spec declared_;
  bool resumes_;
};

}  // namespace

void HotLines::add(std::string_view text) {
  const std::lock_guard lock(mutex_);
  while (!text.empty()) {
    const std::string_view row = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), row.size() + 1));
    const std::size_t tab = row.find('\t');
    std::int64_t count = 0;
    if (tab == std::string_view::npos ||
        std::from_chars(row.data(), row.data() + tab, count).ec !=
            std::errc()) {
      continue;
    }
    seen_[std::string(row.substr(tab + 1))] += count;
  }
}

std::map<std::string, std::int64_t> HotLines::read() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

CurrentElement& current_element() {
  thread_local CurrentElement current;
  return current;
}

PyObject* call_on_element(PyObject* fn, PyObject* first,
                          const Element& element) {
  constexpr std::size_t kMaxStack = 16;
  PyObject* stack[kMaxStack];
  std::vector<PyObject*> heap;
  const Structure* s = element.structure();
  const bool spread = spreads(s);
  const std::size_t n =
      (first != nullptr) + (spread ? s->children().size() : 1);
  PyObject** args = stack + 1;  // vectorcall may use the slot before
  if (n + 1 > kMaxStack) {
    heap.resize(n + 1);
    args = heap.data() + 1;
  }
  std::size_t have = 0;
  if (first != nullptr) {
    Py_INCREF(first);
    args[have++] = first;
  }
  bool ok = true;
  if (!spread) {
    PyObject* value = to_python(element);
    ok = value != nullptr;
    if (ok) args[have++] = value;
  } else {
    for (std::size_t i = 0; ok && i < s->children().size(); ++i) {
      PyObject* value = to_python(s->children()[i],
                                  element.leaves().data() + s->leaf_offset(i));
      ok = value != nullptr;
      if (ok) args[have++] = value;
    }
  }
  PyObject* result = nullptr;
  if (ok) {
    result = in_interpreter([&] {
      return PyObject_Vectorcall(fn, args, n | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                 nullptr);
    });
  }
  for (std::size_t i = 0; i < have; ++i) Py_DECREF(args[i]);
  return result;
}

StatusOr<Element> convert_result(PyObject* value, Result result,
                                 const Spec* declared) {
  switch (result) {
    case Result::kElement:
      return from_python(value, Arrays::kAdopt, declared);
    case Result::kPredicate: {
      const int truth = PyObject_IsTrue(value);
      if (truth < 0) {
        return python_failure("the predicate gave no truth value: ");
      }
      return Element(Tensor::scalar<bool>(truth != 0));
    }
    case Result::kNumber: {
      const Owned index(PyNumber_Index(value));
      const long long number =
          index.get() == nullptr ? -1 : PyLong_AsLongLong(index.get());
      if (number == -1 && PyErr_Occurred() != nullptr) {
        return python_failure("the function must give a whole number: ");
      }
      return Element(Tensor::scalar<std::int64_t>(number));
    }
  }
  return internal_error("unknown kind of result");
}

FunctionHandle make_python_function(PyRef fn, Result result, Spec declared,
                                    std::string identity) {
  auto counters = std::make_shared<StageCounters>();
  auto function = std::make_shared<PythonFunction>(
      std::move(fn), result, std::move(declared), std::move(identity),
      counters);
  return {std::move(function), std::move(counters), "thread"};
}

DatasetFunctionHandle make_python_dataset_function(PyRef fn, Spec declared,
                                                   std::string identity) {
  auto counters = std::make_shared<StageCounters>();
  auto function = std::make_shared<PythonDatasetFunction>(
      std::move(fn), std::move(declared), std::move(identity), counters);
  return {std::move(function), std::move(counters), "thread"};
}

ScanFunction make_python_scan(PyRef fn, Spec state_spec, Spec declared) {
  return [fn = std::move(fn), spec = std::move(state_spec),
          declared = std::move(declared)](
             const Element& state,
             const Element& element) -> StatusOr<std::pair<Element, Element>> {
    Gil gil;
    if (!gil.ok()) return cancelled();
    const Keyed keyed;
    const Owned first(to_python(state));
    if (first.get() == nullptr) throw PythonError::take(fn.get());
    const Owned value(call_on_element(fn.get(), first.get(), element));
    if (value.get() == nullptr) throw PythonError::take(fn.get());
    if (!PyTuple_Check(value.get()) || PyTuple_GET_SIZE(value.get()) != 2) {
      return invalid_argument(
          "the function must return (next state, output), it returned a value "
          "of type ",
          Py_TYPE(value.get())->tp_name);
    }
    PS_ASSIGN_OR_RETURN(
        Element next,
        from_python(PyTuple_GET_ITEM(value.get(), 0), Arrays::kCopy, &spec));
    PS_ASSIGN_OR_RETURN(Element out,
                        from_python(PyTuple_GET_ITEM(value.get(), 1),
                                    Arrays::kCopy, &declared));
    return std::pair(std::move(next), std::move(out));
  };
}

SequentialFactory make_python_generator(PyRef fn, Spec declared) {
  return [fn = std::move(fn), declared = std::move(declared)]()
             -> StatusOr<std::unique_ptr<SequentialSource>> {
    Gil gil;
    if (!gil.ok()) return cancelled();
    const Keyed keyed;
    const Owned made(
        in_interpreter([&] { return PyObject_CallNoArgs(fn.get()); }));
    if (made.get() == nullptr) throw PythonError::take(fn.get());
    PyObject* iterator = PyObject_GetIter(made.get());
    if (iterator == nullptr) {
      PyErr_Clear();
      return invalid_argument(
          "the function must give an iterator, it gave a value of type ",
          Py_TYPE(made.get())->tp_name);
    }
    return std::make_unique<PythonGenerator>(fn, adopt(iterator), declared);
  };
}

std::function<StatusOr<Element>(std::int64_t)> make_python_getitem(
    PyRef object, Spec declared) {
  return [object = std::move(object),
          declared = std::move(declared)](std::int64_t i) -> StatusOr<Element> {
    Gil gil;
    if (!gil.ok()) return cancelled();
    const Keyed keyed;
    const Owned index(PyLong_FromLongLong(i));
    const Owned value(in_interpreter(
        [&] { return PyObject_GetItem(object.get(), index.get()); }));
    if (value.get() == nullptr) throw PythonError::take(object.get());
    return from_python(value.get(), Arrays::kCopy, &declared);
  };
}

std::function<std::int64_t(std::int64_t)> make_python_number_function(
    PyRef fn) {
  return [fn = std::move(fn)](std::int64_t key) -> std::int64_t {
    Gil gil;
    if (!gil.ok()) return 0;
    const Owned argument(PyLong_FromLongLong(key));
    const Owned value(
        PyObject_CallFunctionObjArgs(fn.get(), argument.get(), nullptr));
    const Owned index(value.get() == nullptr ? nullptr
                                             : PyNumber_Index(value.get()));
    const long long number =
        index.get() == nullptr ? -1 : PyLong_AsLongLong(index.get());
    if (PyErr_Occurred() != nullptr) throw PythonError::take(fn.get());
    return number;
  };
}

}  // namespace penstock::python
