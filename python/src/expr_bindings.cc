// Programs for the tracer: _penstock.Program and what it needs of NumPy.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "convert.h"
#include "interpreter.h"
#include "numpy_api.h"
#include "penstock/expr/evaluate.h"
#include "penstock/expr/image_fusion.h"
#include "penstock/expr/load_op_library.h"
#include "penstock/expr/loops.h"
#include "penstock/expr/native_ops.h"
#include "penstock/expr/program.h"
#include "penstock/expr/random_values.h"
#include "penstock/memory/ragged.h"
#include "penstock/ops/native_function.h"
#include "template_function.h"
#include "text.h"

// Needs what numpy_api.h includes.
#include <numpy/ufuncobject.h>

namespace penstock::python {
namespace {

using expr::Attribute;
using expr::Op;
using expr::Program;

/// A program that is written first and shared once it is finished.
struct PyProgram {
  std::shared_ptr<Program> program;
  bool finished = false;
};

Op op_of(const std::string& name) {
  Op op = Op::kInput;
  if (!expr::op_from_name(name, op)) {
    throw Error(invalid_argument("there is no operation ", name));
  }
  return op;
}

DType dtype_or_raise(nb::handle dtype) {
  if (dtype.is_none()) return DType::kInvalid;
  const DType found = dtype_from_numpy(dtype.ptr());
  if (found == DType::kInvalid) {
    throw Error(invalid_argument("this dtype has no native form"));
  }
  return found;
}

void throw_unless_ok(const Status& status) {
  if (!status.ok()) throw Error(status);
}

nb::object steal_or_raise(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

Element element_of(nb::handle value, Arrays arrays = Arrays::kCopy) {
  return value_or_raise(from_python(value.ptr(), arrays));
}

Attribute attribute_of(nb::handle value) {
  if (value.is_none()) return std::monostate();
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return nb::cast<std::int64_t>(value);
  if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyArray_DescrCheck(value.ptr())) return dtype_or_raise(value);
  if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
    const nb::sequence list = nb::borrow<nb::sequence>(value);
    bool integers = true;
    bool texts = true;
    for (nb::handle item : list) {
      integers = integers && PyLong_Check(item.ptr());
      texts = texts && PyUnicode_Check(item.ptr());
    }
    if (integers) return nb::cast<std::vector<std::int64_t>>(value);
    if (texts) return nb::cast<std::vector<std::string>>(value);
    return nb::cast<std::vector<double>>(value);
  }
  const Element element = element_of(value);
  if (element.size() != 1) {
    throw Error(invalid_argument("an attribute must be one value"));
  }
  return element[0];
}

expr::Attributes attributes_of(nb::dict values) {
  expr::Attributes attributes;
  for (const auto& [key, value] : values) {
    attributes.set(nb::cast<std::string>(key), attribute_of(value));
  }
  return attributes;
}

/// (dtype or None, shape or None); unknown dimensions are None.
nb::tuple describe_leaf(const LeafSpec& spec) {
  nb::object dtype = nb::none();
  if (spec.dtype == DType::kString) {
    dtype = steal_or_raise(
        reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_OBJECT)));
  } else if (PyObject* found = numpy_dtype(spec.dtype)) {
    dtype = nb::borrow(found);
  } else {
    PyErr_Clear();  // unknown, or a nested dataset
  }
  nb::object shape = nb::none();
  if (spec.shape.has_rank()) {
    nb::list dims;
    for (std::size_t i = 0; i < spec.shape.rank(); ++i) {
      if (spec.shape[i] == kUnknownDim)
        dims.append(nb::none());
      else
        dims.append(nb::int_(spec.shape[i]));
    }
    shape = nb::tuple(dims);
  }
  return nb::make_tuple(dtype, shape);
}

nb::object nest_of_numbers(const Structure* structure) {
  Element::Leaves leaves;
  for (std::size_t i = 0; i < structure->num_leaves(); ++i) {
    leaves.push_back(Tensor::scalar(static_cast<std::int64_t>(i)));
  }
  return steal_or_raise(to_python(Element(structure, std::move(leaves))));
}

/// What the program gives for one element.
nb::object run_element(const PyProgram& self, nb::object value,
                       std::uint64_t key) {
  const Element element = element_of(value, Arrays::kShare);
  throw_unless_ok(self.program->input_spec().check(element));
  expr::Rows rows;
  rows.count = 1;
  rows.batched = false;
  rows.inputs = {element.leaves().data(), element.leaves().size()};
  rows.random_key = [key](std::int64_t) { return key; };
  std::vector<Tensor> outputs;
  expr::RowErrors errors;
  Status status;
  {
    const WorkingWithoutGil released;
    status = expr::evaluate(*self.program, rows, outputs, errors);
  }
  if (status.ok() && !errors.empty()) status = errors[0].second;
  throw_unless_ok(status);
  return steal_or_raise(
      to_python(Element(self.program->output_spec().structure(),
                        Element::Leaves(outputs.begin(), outputs.end()))));
}

/// Whether what the program gives is what the user declared.
bool fits(const PyProgram& self, nb::object signature) {
  const Spec wanted = value_or_raise(spec_from_python(signature.ptr()));
  const Spec& given = self.program->output_spec();
  if (!wanted.known()) return true;
  if (wanted.structure() != given.structure()) return false;
  for (std::size_t i = 0; i < wanted.leaves().size(); ++i) {
    const LeafSpec& a = wanted.leaves()[i];
    const LeafSpec& b = given.leaves()[i];
    if ((a.dtype != DType::kInvalid && a.dtype != b.dtype) ||
        !PartialShape::compatible(a.shape, b.shape)) {
      return false;
    }
  }
  return true;
}

FunctionHandle late_function(nb::callable specialize,
                             const FunctionHandle& fallback,
                             nb::object declared, const std::string& kind,
                             std::string identity) {
  Spec spec;
  if (!declared.is_none()) {
    spec = value_or_raise(spec_from_python(declared.ptr()));
  } else if (kind == "predicate") {
    spec = Spec::scalar<bool>();
  } else if (kind == "number") {
    spec = Spec::scalar<std::int64_t>();
  }
  const PyRef callback = ref(specialize);
  const auto ask = [callback](const Spec& element) -> expr::ProgramRef {
    const Gil gil;
    if (!gil.ok()) return nullptr;
    return in_interpreter([&]() -> expr::ProgramRef {
      const Owned argument(spec_to_python(element));
      if (argument.get() == nullptr) {
        PyErr_Clear();
        return nullptr;
      }
      const Owned result(PyObject_CallOneArg(callback.get(), argument.get()));
      if (result.get() == nullptr) {
        PyErr_Clear();
        return nullptr;
      }
      PyProgram* program = nullptr;
      if (!nb::try_cast(nb::handle(result.get()), program) ||
          program == nullptr) {
        return nullptr;
      }
      return program->program;
    });
  };
  return {ops::make_late_native_function(ask, fallback.ref, std::move(spec),
                                         std::move(identity)),
          fallback.counters, "native", fallback.controls, fallback.automatic};
}

// The loop of a ufunc for values of one type throughout, taken as it is: it
// needs no GIL and the ufunc lives as long as the process.
void set_numpy_loop(const std::string& name, nb::object object) {
  const auto* const ufunc = reinterpret_cast<PyUFuncObject*>(object.ptr());
  const Op op = op_of(name);
  static constexpr std::pair<int, DType> kTypes[] = {
      {NPY_HALF, DType::kFloat16},
      {NPY_FLOAT, DType::kFloat32},
      {NPY_DOUBLE, DType::kFloat64}};
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* const types = ufunc->types + i * ufunc->nargs;
    for (const auto& [number, dtype] : kTypes) {
      bool all = true;
      for (int k = 0; k < ufunc->nargs; ++k) all = all && types[k] == number;
      if (!all || expr::math_loop(op, dtype).fn != nullptr) continue;
      expr::MathLoop loop;
      loop.fn = reinterpret_cast<expr::MathLoop::Fn>(
          reinterpret_cast<void*>(ufunc->functions[i]));
      loop.data =
          ufunc->data != nullptr ? const_cast<void*>(ufunc->data[i]) : nullptr;
      // NumPy's half loops give other bits for one value than for many.
      loop.one_by_one = dtype == DType::kFloat16;
      expr::set_math_loop(op, dtype, loop);
    }
  }
}

nb::object random_values(const std::string& kind, nb::handle dtype,
                         std::uint64_t key, std::uint64_t call,
                         std::int64_t bound,
                         const std::vector<std::int64_t>& shape) {
  const auto number = kind == "uniform"  ? expr::RandomKind::kUniform
                      : kind == "normal" ? expr::RandomKind::kNormal
                      : kind == "below"  ? expr::RandomKind::kBelow
                                         : expr::RandomKind::kPermutation;
  const DType type = dtype_or_raise(dtype);
  Tensor tensor = value_or_raise(
      Tensor::allocate(type, Shape(std::span<const std::int64_t>(shape))));
  expr::fill_random(number, type, key, call, bound, tensor.num_elements(),
                    tensor.mutable_data());
  return steal_or_raise(tensor_to_python(tensor));
}

/// (state, element) -> (next state, output), by a program of both.
ScanFunction scan_of(expr::ProgramRef program) {
  return [program = std::move(program)](
             const Element& state,
             const Element& element) -> StatusOr<std::pair<Element, Element>> {
    Element::Leaves leaves(state.leaves().begin(), state.leaves().end());
    for (const Tensor& leaf : element.leaves()) leaves.push_back(leaf);
    const Spec& spec = program->input_spec();
    if (leaves.size() != spec.leaves().size()) {
      return invalid_argument("the state and an element of ", leaves.size(),
                              " values, the function was traced for ",
                              spec.leaves().size());
    }
    const Element both(spec.structure(), std::move(leaves));
    PS_RETURN_IF_ERROR(spec.check(both));
    expr::Rows rows;
    rows.count = 1;
    rows.batched = false;
    rows.inputs = {both.leaves().data(), both.leaves().size()};
    std::vector<Tensor> outputs;
    expr::RowErrors errors;
    PS_RETURN_IF_ERROR(expr::evaluate(*program, rows, outputs, errors));
    if (!errors.empty()) return errors[0].second;
    const auto& parts = program->output_spec().structure()->children();
    const auto cut =
        outputs.begin() + static_cast<std::ptrdiff_t>(parts[0]->num_leaves());
    return std::pair(Element(parts[0], Element::Leaves(outputs.begin(), cut)),
                     Element(parts[1], Element::Leaves(cut, outputs.end())));
  };
}

/// A native operation on the spot.
nb::object call_native(const std::string& name, nb::tuple args,
                       nb::dict attributes, std::uint64_t key,
                       std::uint64_t call) {
  std::vector<Spec> specs;
  std::vector<Element> elements;
  for (nb::handle arg : args) {
    elements.push_back(element_of(arg, Arrays::kShare));
    specs.push_back(Spec::of(elements.back()));
    if (elements.back().size() != 1) {
      throw Error(invalid_argument(name, ": an argument is not one tensor"));
    }
  }
  Program program = value_or_raise(Program::make(Spec::tuple(specs)));
  std::vector<std::int32_t> inputs;
  Element::Leaves leaves;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    inputs.push_back(static_cast<std::int32_t>(i));
    leaves.push_back(elements[i][0]);
  }
  const std::int32_t node =
      value_or_raise(program.add(Op::kNative, inputs,
                                 {.ints = {static_cast<std::int64_t>(call)},
                                  .name = name,
                                  .attributes = attributes_of(attributes)}));
  const std::size_t n = program.nodes().back().specs.size();
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t from[] = {node};
    outputs.push_back(value_or_raise(program.add(
        Op::kResult, from, {.ints = {static_cast<std::int64_t>(i)}})));
  }
  throw_unless_ok(program.set_result(
      n == 1 ? Structure::leaf() : Structure::leaves(n), outputs));
  expr::Rows rows;
  rows.count = 1;
  rows.batched = false;
  rows.inputs = {leaves.data(), leaves.size()};
  rows.random_key = [key](std::int64_t) { return key; };
  std::vector<Tensor> results;
  expr::RowErrors errors;
  Status status;
  {
    const WorkingWithoutGil released;
    status = expr::evaluate(program, rows, results, errors);
  }
  if (status.ok() && !errors.empty()) status = errors[0].second;
  throw_unless_ok(status);
  return steal_or_raise(
      to_python(Element(program.output_spec().structure(),
                        Element::Leaves(results.begin(), results.end()))));
}

}  // namespace

void bind_expr(nb::module_& m) {
  nb::class_<PyProgram>(m, "Program")
      .def(nb::new_([](nb::object spec) {
             return PyProgram{std::make_shared<Program>(value_or_raise(
                 Program::make(value_or_raise(spec_from_python(spec.ptr())))))};
           }),
           nb::arg("spec"))
      .def_static("decode",
                  [](nb::bytes bytes) {
                    return PyProgram{
                        std::make_shared<Program>(value_or_raise(
                            Program::decode({bytes.c_str(), bytes.size()}))),
                        true};
                  })
      .def("encode",
           [](const PyProgram& self) {
             const std::string bytes = self.program->encode();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__reduce__",
           [](nb::object self) {
             return nb::make_tuple(
                 nb::module_::import_("penstock._trace").attr("decode_program"),
                 nb::make_tuple(self.attr("encode")()));
           })
      .def(
          "add",
          [](PyProgram& self, const std::string& op,
             const std::vector<std::int32_t>& inputs,
             std::vector<std::int64_t> ints, nb::object dtype, bool keepdims,
             std::string name, nb::dict attributes) {
            if (self.finished) {
              throw Error(invalid_argument("the program is finished"));
            }
            expr::NodeOptions options;
            options.ints = std::move(ints);
            options.dtype = dtype_or_raise(dtype);
            options.keepdims = keepdims;
            options.name = std::move(name);
            options.attributes = attributes_of(attributes);
            return value_or_raise(
                self.program->add(op_of(op), inputs, std::move(options)));
          },
          nb::arg("op"), nb::arg("inputs"), nb::arg("ints"),
          nb::arg("dtype").none(), nb::arg("keepdims"), nb::arg("name"),
          nb::arg("attributes"))
      .def("constant",
           [](PyProgram& self, nb::object value) {
             const Element element = element_of(value);
             if (element.size() != 1) {
               throw Error(invalid_argument("a constant must be one value"));
             }
             return value_or_raise(self.program->add_constant(element[0]));
           })
      .def("describe",
           [](const PyProgram& self, std::int32_t node) {
             if (node < 0 || static_cast<std::size_t>(node) >=
                                 self.program->nodes().size()) {
               throw Error(invalid_argument("there is no value ", node));
             }
             return describe_leaf(self.program->spec(node));
           })
      .def("num_results",
           [](const PyProgram& self, std::int32_t node) {
             return self.program->nodes()
                 .at(static_cast<std::size_t>(node))
                 .specs.size();
           })
      .def("input_nest",
           [](const PyProgram& self) {
             return nest_of_numbers(self.program->input_spec().structure());
           })
      .def_prop_ro("spreads",
                   [](const PyProgram& self) {
                     return spreads(self.program->input_spec().structure());
                   })
      .def(
          "finish",
          [](PyProgram& self, nb::object nest,
             const std::vector<std::vector<std::int32_t>>& splits) {
            // A ragged value is one leaf of `nest`, its values; its row
            // splits are in `splits`, at the leaf's place.
            const Element element = element_of(nest);
            std::vector<std::int32_t> outputs;
            std::vector<int> ranks;
            for (std::size_t i = 0; i < element.size(); ++i) {
              outputs.push_back(
                  static_cast<std::int32_t>(element[i].value<std::int64_t>()));
              ranks.push_back(0);
              if (i >= splits.size()) continue;
              outputs.insert(outputs.end(), splits[i].begin(), splits[i].end());
              ranks.back() = static_cast<int>(splits[i].size());
            }
            throw_unless_ok(self.program->set_result(
                with_ragged_ranks(element.structure(), ranks),
                std::move(outputs)));
            self.finished = true;
          },
          nb::arg("nest"),
          nb::arg("splits") = std::vector<std::vector<std::int32_t>>())
      .def_prop_ro(
          "output_spec",
          [](const PyProgram& self) {
            return steal_or_raise(spec_to_python(self.program->output_spec()));
          })
      .def("nest_spec",
           [](const PyProgram& self, nb::object nest) {
             const Element element = element_of(nest);
             std::vector<LeafSpec> leaves;
             for (const Tensor& leaf : element.leaves()) {
               leaves.push_back(self.program->spec(
                   static_cast<std::int32_t>(leaf.value<std::int64_t>())));
             }
             return steal_or_raise(
                 spec_to_python(Spec(element.structure(), std::move(leaves))));
           })
      .def_prop_ro("random",
                   [](const PyProgram& self) { return self.program->random(); })
      .def("template",
           [](const PyProgram& self, const Dataset& prototype,
              nb::list sources) {
             return make_template_function(self.program, prototype, sources);
           })
      .def("scan",
           [](const PyProgram& self) {
             const Structure* out = self.program->output_spec().structure();
             if (!self.finished || self.program->random() ||
                 out->children().size() != 2) {
               throw Error(invalid_argument("this is no program of a scan"));
             }
             return ScanHandle{scan_of(self.program)};
           })
      .def("fits", &fits)
      .def_prop_ro("fusion",
                   [](const PyProgram& self) {
                     return expr::fuse_images(self.program).note;
                   })
      .def_prop_ro(
          "fingerprint",
          [](const PyProgram& self) { return self.program->fingerprint(); })
      .def("__len__",
           [](const PyProgram& self) { return self.program->nodes().size(); })
      .def("__str__",
           [](const PyProgram& self) { return self.program->to_string(); })
      .def("run", &run_element, nb::arg("element").none(), nb::arg("key") = 0)
      .def("function", [](const PyProgram& self) {
        if (!self.finished) {
          throw Error(invalid_argument("the program is not finished"));
        }
        return FunctionHandle{ops::make_native_function(self.program), nullptr,
                              "native"};
      });
  m.def("late_function", &late_function, nb::arg("specialize"),
        nb::arg("fallback"), nb::arg("declared").none(), nb::arg("kind"),
        nb::arg("identity"));
  m.def(
      "late_template",
      [](nb::callable specialize, const DatasetFunctionHandle& fallback,
         nb::object declared, std::string identity) {
        Spec spec;
        if (!declared.is_none()) {
          spec = value_or_raise(spec_from_python(declared.ptr()));
        }
        return make_late_template(specialize, fallback, std::move(spec),
                                  std::move(identity));
      },
      nb::arg("specialize"), nb::arg("fallback"), nb::arg("declared").none(),
      nb::arg("identity"));
  m.def("template_hole", [](nb::object spec) {
    return make_template_hole(value_or_raise(spec_from_python(spec.ptr())));
  });
  m.def("set_numpy_loop", &set_numpy_loop);
  m.def("random_values", &random_values);
  m.def("call_native", &call_native, nb::arg("name"), nb::arg("args"),
        nb::arg("attributes"), nb::arg("key"), nb::arg("call"));
  m.def("native_ops", &expr::native_op_names);
  // (name, draws random values) of each operation.
  m.def("load_op_library", [](const std::string& path) {
    std::vector<std::pair<std::string, bool>> out;
    for (std::string& name : value_or_raise(expr::load_op_library(path))) {
      const bool random = expr::find_native_op(name)->random;
      out.emplace_back(std::move(name), random);
    }
    return out;
  });
}

}  // namespace penstock::python
