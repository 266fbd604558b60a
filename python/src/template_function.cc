// Functions that give datasets, traced: templates of a graph.
//
// A template is the graph of one nested dataset in which some sources are
// holes. For each element a program computes the arguments of these sources,
// without the GIL; the nodes above them are made again around the operators
// they already have, which are immutable and shared. A hole may also stand for
// a dataset that is part of the element, such as a window.
#include "template_function.h"

#include <nanobind/stl/optional.h>

#include <map>
#include <mutex>
#include <shared_mutex>

#include "bindings.h"
#include "convert.h"
#include "penstock/expr/evaluate.h"
#include "penstock/file_io.h"

namespace penstock::python {
namespace {

using I64 = std::int64_t;
using Text = std::string;

/// Stands for a source that depends on the element. It never runs.
class Hole final : public Operator {
 public:
  explicit Hole(Spec spec) : spec_(std::move(spec)) {}
  std::string_view op() const override { return "source"; }
  std::string describe() const override { return "source(of the element)"; }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return Cardinality::unknown();
  }
  void add_to(Fingerprint&) const override {}
  std::vector<Part> lower() const override { return {}; }

 private:
  const Spec spec_;
};

using Factory = std::function<Dataset(const Element& argument)>;

I64 number(const Element& argument, std::size_t i) {
  return argument[i].value<I64>();
}

FileNames file_of(const Element& argument) {
  return FileNames(Text(argument[0].str()));
}

Factory factory_of(const Text& kind, const nb::tuple& o) {
  if (kind == "range") {
    return [name = nb::cast<Text>(o[0])](const Element& a) {
      if (a.size() == 1) return Dataset::range(0, number(a, 0), 1, name);
      const I64 step = a.size() == 3 ? number(a, 2) : 1;
      return Dataset::range(number(a, 0), number(a, 1), step, name);
    };
  }
  if (kind == "from_tensors") {
    return [name = nb::cast<Text>(o[0])](const Element& a) {
      return Dataset::from_tensors(a, name);
    };
  }
  if (kind == "from_tensor_slices") {
    return [name = nb::cast<Text>(o[0])](const Element& a) {
      return Dataset::from_tensor_slices(a, name);
    };
  }
  if (kind == "tfrecord") {
    TFRecordOptions options{
        .compression = nb::cast<Text>(o[0]),
        .num_parallel_reads = nb::cast<I64>(o[1]),
        .verify = nb::cast<bool>(o[2]),
        .index = use_index(nb::cast<std::optional<bool>>(o[4])),
        .max_record_bytes = nb::cast<I64>(o[3]),
        .name = nb::cast<Text>(o[5])};
    return [options](const Element& a) {
      return Dataset::tfrecord(file_of(a), options);
    };
  }
  if (kind == "text_lines") {
    TextLinesOptions options{.compression = nb::cast<Text>(o[0]),
                             .num_parallel_reads = nb::cast<I64>(o[1]),
                             .skip_lines = nb::cast<I64>(o[2]),
                             .max_record_bytes = nb::cast<I64>(o[3]),
                             .name = nb::cast<Text>(o[4])};
    return [options](const Element& a) {
      return Dataset::text_lines(file_of(a), options);
    };
  }
  if (kind == "fixed_length_records") {
    FixedLengthOptions options{
        .header_bytes = nb::cast<I64>(o[1]),
        .footer_bytes = nb::cast<I64>(o[2]),
        .compression = nb::cast<Text>(o[3]),
        .num_parallel_reads = nb::cast<I64>(o[4]),
        .index = use_index(nb::cast<std::optional<bool>>(o[5])),
        .name = nb::cast<Text>(o[6])};
    return [options, size = nb::cast<I64>(o[0])](const Element& a) {
      return Dataset::fixed_length_records(file_of(a), size, options);
    };
  }
  throw Error(invalid_argument("there is no template of ", kind));
}

class TemplateFunction final : public DatasetFunction {
 public:
  struct Source {
    NodeRef hole;
    Text kind;
    Factory make;
    std::int64_t leaf = -1;  // of the element, which is that dataset
  };

  TemplateFunction(expr::ProgramRef program, NodeRef top,
                   std::vector<Source> sources)
      : program_(std::move(program)),
        top_(std::move(top)),
        sources_(std::move(sources)) {
    std::map<const Node*, int> numbers;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      numbers[sources_[i].hole.get()] = static_cast<int>(i);
    }
    result_ = add(top_, numbers);
    for (const std::int32_t i : program_->outputs()) {
      const expr::Op op = program_->nodes()[static_cast<std::size_t>(i)].op;
      direct_ = direct_ && (op == expr::Op::kInput || op == expr::Op::kConst);
    }
    Fingerprint fp;
    fp.add(program_->fingerprint());
    fp.add(top_->fingerprint());
    for (const Source& source : sources_) {
      fp.add(source.kind);
      if (source.leaf >= 0) fp.add(static_cast<std::uint64_t>(source.leaf));
    }
    identity_ = "template:" + fp.hex();
  }

  StatusOr<Spec> output_spec(const Spec&) const override { return top_->spec; }
  std::string identity() const override { return identity_; }

  StatusOr<NodeRef> call(const Element& element) const override {
    if (result_ < 0) return top_;  // the same for every element
    PS_RETURN_IF_ERROR(program_->input_spec().check(element));
    std::vector<Tensor> outputs;
    PS_RETURN_IF_ERROR(arguments_of(element, outputs));
    absl::InlinedVector<NodeRef, 4> made;
    const Structure& arguments = *program_->output_spec().structure();
    auto leaf = outputs.begin();
    try {
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        const Structure* structure = arguments.children()[i];
        const auto end =
            leaf + static_cast<std::ptrdiff_t>(structure->num_leaves());
        if (sources_[i].leaf >= 0) {
          PS_ASSIGN_OR_RETURN(NodeRef node,
                              dataset_in(element, sources_[i].leaf));
          made.push_back(std::move(node));
          continue;
        }
        made.push_back(sources_[i]
                           .make(Element(structure, Element::Leaves(leaf, end)))
                           .node());
        leaf = end;
      }
    } catch (const Error& error) {
      return error.status();
    }
    for (const Step& step : steps_) {
      std::vector<NodeRef> inputs;
      for (const Input& input : step.inputs) {
        inputs.push_back(input.made < 0
                             ? input.fixed
                             : made[static_cast<std::size_t>(input.made)]);
      }
      PS_ASSIGN_OR_RETURN(
          NodeRef node,
          Node::make(step.node->op, std::move(inputs), step.node->name));
      made.push_back(std::move(node));
    }
    return made[static_cast<std::size_t>(result_)];
  }

 private:
  struct Input {
    int made = -1;  // number of a node that is made for each element, or
    NodeRef fixed;
  };
  struct Step {
    NodeRef node;
    std::vector<Input> inputs;
  };

  static StatusOr<NodeRef> dataset_in(const Element& element, I64 leaf) {
    const Tensor& value = element[static_cast<std::size_t>(leaf)];
    const auto* dataset =
        value.dtype() == DType::kObject
            ? dynamic_cast<const DatasetObject*>(value.object())
            : nullptr;
    if (dataset == nullptr) {
      return invalid_argument("leaf ", leaf, " of the element is no dataset");
    }
    return dataset->node;
  }

  Status arguments_of(const Element& element,
                      std::vector<Tensor>& outputs) const {
    const auto& nodes = program_->nodes();
    outputs.reserve(program_->outputs().size());
    if (direct_) {
      for (const std::int32_t i : program_->outputs()) {
        const expr::Node& node = nodes[static_cast<std::size_t>(i)];
        outputs.push_back(
            node.op == expr::Op::kConst
                ? node.constant
                : element[static_cast<std::size_t>(node.ints[0])]);
      }
      return absl::OkStatus();
    }
    expr::Rows rows;
    rows.count = 1;
    rows.batched = false;
    rows.inputs = {element.leaves().data(), element.leaves().size()};
    expr::RowErrors errors;
    PS_RETURN_IF_ERROR(expr::evaluate(*program_, rows, outputs, errors));
    return errors.empty() ? absl::OkStatus() : errors[0].second;
  }

  /// The number of `node` among those made for each element; -1: it is fixed.
  int add(const NodeRef& node, std::map<const Node*, int>& numbers) {
    const auto known = numbers.find(node.get());
    if (known != numbers.end()) return known->second;
    Step step{node, {}};
    bool open = false;
    for (const NodeRef& input : node->inputs) {
      const int number = add(input, numbers);
      open = open || number >= 0;
      step.inputs.push_back({number, input});
    }
    if (!open) return numbers[node.get()] = -1;
    steps_.push_back(std::move(step));
    return numbers[node.get()] =
               static_cast<int>(sources_.size() + steps_.size()) - 1;
  }

  const expr::ProgramRef program_;
  const NodeRef top_;
  const std::vector<Source> sources_;
  std::vector<Step> steps_;
  int result_ = -1;
  bool direct_ = true;  // arguments are leaves of the element, or constants
  std::string identity_;
};

class LateTemplate final : public DatasetFunction {
 public:
  LateTemplate(PyRef specialize, DatasetFunctionRef fallback, Spec declared,
               std::string identity)
      : specialize_(std::move(specialize)),
        fallback_(std::move(fallback)),
        declared_(std::move(declared)),
        identity_(std::move(identity)) {}

  StatusOr<Spec> output_spec(const Spec&) const override { return declared_; }
  std::string identity() const override { return identity_; }

  StatusOr<NodeRef> call(const Element& element) const override {
    return InTurn(*this).call(element);
  }
  std::unique_ptr<Calls> calls() const override {
    return std::make_unique<InTurn>(*this);
  }

 private:
  /// Calls the function itself only where there is no template.
  class InTurn final : public Calls {
   public:
    explicit InTurn(const LateTemplate& of) : of_(of) {}

    StatusOr<NodeRef> call(const Element& element) override {
      DatasetFunctionRef chosen;
      if (!of_.find(element, chosen)) {
        plain_.reset();  // it may hold the GIL, which `make` asks for
        chosen = of_.make(element);
      }
      if (chosen) {
        plain_.reset();
        return chosen->call(element);
      }
      if (!plain_) plain_ = of_.fallback_->calls();
      return plain_->call(element);
    }

   private:
    const LateTemplate& of_;
    std::unique_ptr<Calls> plain_;
  };

  static constexpr std::size_t kMaxTemplates = 64;
  struct Made {
    Spec spec;
    DatasetFunctionRef function;  // null: there is no template
  };

  bool find(const Element& element, DatasetFunctionRef& out) const {
    const std::shared_lock lock(mutex_);
    for (const Made& made : made_) {
      if (!made.spec.check(element).ok()) continue;
      out = made.function;
      return true;
    }
    return made_.size() >= kMaxTemplates;
  }

  /// With dimensions left open, so that all of one rank share a template; or
  /// with them, for a function that reads them.
  DatasetFunctionRef make(const Element& element) const {
    const Spec exact = Spec::of(element);
    Spec open = exact;
    for (LeafSpec& leaf : open.leaves()) {
      for (std::size_t i = 0; i < leaf.shape.rank(); ++i) {
        leaf.shape.set(i, kUnknownDim);
      }
    }
    Made made{open, ask(open)};
    if (!made.function) made = {exact, ask(exact)};
    const std::unique_lock lock(mutex_);
    made_.push_back(made);
    return made.function;
  }

  DatasetFunctionRef ask(const Spec& spec) const {
    const Gil gil;
    if (!gil.ok()) return nullptr;
    return in_interpreter([&]() -> DatasetFunctionRef {
      const Owned argument(spec_to_python(spec));
      const Owned result(
          argument.get() == nullptr
              ? nullptr
              : PyObject_CallOneArg(specialize_.get(), argument.get()));
      if (result.get() == nullptr) {
        PyErr_Clear();
        return nullptr;
      }
      DatasetFunctionHandle* handle = nullptr;
      if (!nb::try_cast(nb::handle(result.get()), handle) ||
          handle == nullptr) {
        return nullptr;
      }
      return handle->ref;
    });
  }

  const PyRef specialize_;
  const DatasetFunctionRef fallback_;
  const Spec declared_;
  const std::string identity_;
  mutable std::shared_mutex mutex_;
  mutable std::vector<Made> made_;
};

}  // namespace

DatasetFunctionHandle make_late_template(nb::callable specialize,
                                         const DatasetFunctionHandle& fallback,
                                         Spec declared, std::string identity) {
  return {
      std::make_shared<LateTemplate>(ref(specialize), fallback.ref,
                                     std::move(declared), std::move(identity)),
      fallback.counters, "native"};
}

Dataset make_template_hole(Spec spec) {
  NodeRef node = value_or_raise(
      Node::make(std::make_shared<Hole>(std::move(spec)), {}, ""));
  return Dataset::of(Tensor::object(make_ref<DatasetObject>(std::move(node))));
}

DatasetFunctionHandle make_template_function(expr::ProgramRef program,
                                             const Dataset& prototype,
                                             const nb::list& sources) {
  std::vector<TemplateFunction::Source> made;
  for (nb::handle item : sources) {
    const auto source = nb::cast<nb::tuple>(item);
    auto kind = nb::cast<Text>(source[1]);
    const auto options = nb::cast<nb::tuple>(source[2]);
    if (kind == "element") {
      made.push_back({nb::cast<const Dataset&>(source[0]).node(),
                      std::move(kind), nullptr, nb::cast<I64>(options[0])});
      continue;
    }
    Factory factory = factory_of(kind, options);
    made.push_back({nb::cast<const Dataset&>(source[0]).node(), std::move(kind),
                    std::move(factory)});
  }
  return {std::make_shared<TemplateFunction>(std::move(program),
                                             prototype.node(), std::move(made)),
          nullptr, "native"};
}

}  // namespace penstock::python
