// Operations on strings by name: "strings.length", "strings.split", ...
//
// Elementwise ones work on all strings of a block at once. Strings are bytes;
// letters are those of ASCII.
#include <charconv>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "penstock/expr/image_specs.h"

namespace penstock::expr {
namespace {

Status check_strings(SpecArgs args, const Attributes& attributes,
                     std::size_t wanted = 1) {
  PS_RETURN_IF_ERROR(check_count(args, attributes, wanted));
  for (std::size_t i = 0; i < wanted; ++i) {
    if (args[i].dtype != DType::kString) {
      return invalid_argument("input must be strings, got ",
                              args[i].to_string());
    }
  }
  return absl::OkStatus();
}

LeafSpecs same_strings(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes));
  return std::vector<LeafSpec>{args[0]};
}

/// One argument of a block with a value for each row.
struct Strings {
  std::vector<std::string_view> values;
  Shape shape;               // [rows, ...]
  std::int64_t per_row = 1;  // values of a row
  bool skipped(const BlockCall& call, std::size_t i) const {
    return !call.skip.empty() &&
           call.skip[i / static_cast<std::size_t>(per_row)];
  }
};

Strings strings_of(const BlockCall& call, std::size_t arg) {
  Strings out;
  const Tensor& t = call.args[arg];
  const std::vector<std::string_view> own =
      t.rank() == 0 ? std::vector<std::string_view>{t.str()} : t.strs();
  if (call.batched[arg]) {
    out.values = own;
    out.shape = t.shape();
    out.per_row = call.rows == 0 ? 1 : t.num_elements() / call.rows;
  } else {
    out.shape = t.shape().prepended(call.rows);
    out.per_row = t.num_elements();
    for (std::int64_t r = 0; r < call.rows; ++r) {
      out.values.insert(out.values.end(), own.begin(), own.end());
    }
  }
  return out;
}

NativeOp block_op(std::string name, Infer infer,
                  Status (*kernel)(const BlockCall&, std::vector<Tensor>&)) {
  NativeOp op;
  op.name = std::move(name);
  op.infer = infer;
  op.block = kernel;
  return op;
}

// --- one string from one ----------------------------------------------------

template <class F>
Status changed(const BlockCall& call, std::vector<Tensor>& out, F&& change) {
  const Strings in = strings_of(call, 0);
  std::vector<std::string> made(in.values.size());
  std::vector<std::string_view> views(in.values.size());
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    if (in.skipped(call, i)) continue;
    made[i] = change(in.values[i]);
    views[i] = made[i];
  }
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::strings(views, in.shape));
  out.push_back(std::move(result));
  return absl::OkStatus();
}

Status lower(const BlockCall& call, std::vector<Tensor>& out) {
  return changed(call, out, [](std::string_view s) {
    return absl::AsciiStrToLower(to_absl(s));
  });
}

Status upper(const BlockCall& call, std::vector<Tensor>& out) {
  return changed(call, out, [](std::string_view s) {
    return absl::AsciiStrToUpper(to_absl(s));
  });
}

Status strip(const BlockCall& call, std::vector<Tensor>& out) {
  return changed(call, out, [](std::string_view s) {
    return std::string(absl::StripAsciiWhitespace(to_absl(s)));
  });
}

LeafSpecs lengths(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes));
  return std::vector<LeafSpec>{{DType::kInt32, args[0].shape}};
}

Status length(const BlockCall& call, std::vector<Tensor>& out) {
  PS_ASSIGN_OR_RETURN(const bool characters,
                      call.attributes.boolean("characters", false));
  const Strings in = strings_of(call, 0);
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<std::int32_t>(in.shape));
  const auto to = result.mutable_as<std::int32_t>();
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    std::size_t n = in.values[i].size();
    if (characters) {
      // Bytes that begin a character of UTF-8.
      n = 0;
      for (const char c : in.values[i]) {
        n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      }
    }
    to[i] = static_cast<std::int32_t>(n);
  }
  out.push_back(std::move(result));
  return absl::OkStatus();
}

Status substr_row(const RowCall& call, std::vector<Tensor>& out) {
  const Params params(call);
  PS_ASSIGN_OR_RETURN(const auto pos, params.integer("pos", 0));
  PS_ASSIGN_OR_RETURN(const auto len, params.integer("len", 0));
  const Tensor& in = call.args[0];
  std::vector<std::string_view> parts;
  for (std::int64_t i = 0; i < in.num_elements(); ++i) {
    const std::string_view s = in.rank() == 0 ? in.str() : in.str(i);
    const auto size = static_cast<std::int64_t>(s.size());
    if (pos > size || pos < -size) {
      return invalid_argument("pos ", pos, " is out of range for a string of ",
                              size, " bytes");
    }
    const std::int64_t first = pos < 0 ? pos + size : pos;
    const std::int64_t count =
        std::max<std::int64_t>(0, std::min(len, size - first));
    parts.push_back(s.substr(static_cast<std::size_t>(first),
                             static_cast<std::size_t>(count)));
  }
  if (in.rank() == 0) {
    out.push_back(Tensor::string(parts[0]));
    return absl::OkStatus();
  }
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::strings(parts, in.shape()));
  out.push_back(std::move(result));
  return absl::OkStatus();
}

// --- numbers ----------------------------------------------------------------

LeafSpecs numbers(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes));
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      attributes.dtype("dtype", DType::kFloat32));
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64 &&
      dtype != DType::kInt32 && dtype != DType::kInt64) {
    return invalid_argument(
        "out_type must be float32, float64, int32 or int64, got ",
        to_absl(dtype_name(dtype)));
  }
  return std::vector<LeafSpec>{{dtype, args[0].shape}};
}

bool parse_number(std::string_view text, float& out) {
  return absl::SimpleAtof(to_absl(text), &out);
}
bool parse_number(std::string_view text, double& out) {
  return absl::SimpleAtod(to_absl(text), &out);
}
bool parse_number(std::string_view text, std::int32_t& out) {
  return absl::SimpleAtoi(to_absl(text), &out);
}
bool parse_number(std::string_view text, std::int64_t& out) {
  return absl::SimpleAtoi(to_absl(text), &out);
}

template <class T>
Status to_numbers(const BlockCall& call, std::vector<Tensor>& out) {
  const Strings in = strings_of(call, 0);
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate<T>(in.shape));
  const auto to = result.template mutable_as<T>();
  std::int64_t failed = -1;
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    to[i] = T{};
    if (in.skipped(call, i) || parse_number(in.values[i], to[i])) continue;
    const auto row = static_cast<std::int64_t>(i) / in.per_row;
    if (row == failed) continue;
    failed = row;
    call.errors->emplace_back(
        row, invalid_argument("'", to_absl(in.values[i].substr(0, 80)),
                              "' is not a number of ",
                              to_absl(dtype_name(dtype_of<T>()))));
  }
  out.push_back(std::move(result));
  return absl::OkStatus();
}

Status to_number(const BlockCall& call, std::vector<Tensor>& out) {
  PS_ASSIGN_OR_RETURN(const DType dtype,
                      call.attributes.dtype("dtype", DType::kFloat32));
  switch (dtype) {
    case DType::kInt32:
      return to_numbers<std::int32_t>(call, out);
    case DType::kInt64:
      return to_numbers<std::int64_t>(call, out);
    case DType::kFloat64:
      return to_numbers<double>(call, out);
    default:
      return to_numbers<float>(call, out);
  }
}

// --- several strings --------------------------------------------------------

LeafSpecs joined(SpecArgs args, const Attributes& attributes) {
  if (args.empty()) return invalid_argument("inputs must not be empty");
  PS_RETURN_IF_ERROR(check_strings(args, attributes, args.size()));
  for (const LeafSpec& arg : args) {
    if (!arg.shape.has_rank() || arg.shape.rank() > 0) {
      return std::vector<LeafSpec>{arg};
    }
  }
  return std::vector<LeafSpec>{args[0]};
}

Status join_row(const RowCall& call, std::vector<Tensor>& out) {
  PS_ASSIGN_OR_RETURN(const std::string separator,
                      call.attributes.text("separator", ""));
  Shape shape;
  for (const Tensor& t : call.args) {
    if (t.rank() == 0) continue;
    if (shape.rank() > 0 && shape != t.shape()) {
      return invalid_argument("inputs must have one shape, got ",
                              shape.to_string(), " and ",
                              t.shape().to_string());
    }
    shape = t.shape();
  }
  std::vector<std::string> made;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    std::string text;
    for (std::size_t k = 0; k < call.args.size(); ++k) {
      if (k > 0) text += separator;
      const Tensor& t = call.args[k];
      text += t.rank() == 0 ? t.str() : t.str(i);
    }
    made.push_back(std::move(text));
  }
  if (shape.rank() == 0) {
    out.push_back(Tensor::string(made[0]));
    return absl::OkStatus();
  }
  const std::vector<std::string_view> views(made.begin(), made.end());
  PS_ASSIGN_OR_RETURN(Tensor result, Tensor::strings(views, shape));
  out.push_back(std::move(result));
  return absl::OkStatus();
}

void split_into(std::string_view text, std::string_view separator,
                std::vector<std::string_view>& out) {
  if (!separator.empty()) {
    for (;;) {
      const std::size_t at = text.find(separator);
      out.push_back(text.substr(0, at));
      if (at == std::string_view::npos) return;
      text.remove_prefix(at + separator.size());
    }
  }
  std::size_t i = 0;
  while (i < text.size()) {
    const auto space = [&](std::size_t k) {
      return absl::ascii_isspace(static_cast<unsigned char>(text[k]));
    };
    while (i < text.size() && space(i)) ++i;
    const std::size_t first = i;
    while (i < text.size() && !space(i)) ++i;
    if (i > first) out.push_back(text.substr(first, i - first));
  }
}

LeafSpecs split_spec(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes));
  if (!args[0].shape.has_rank() || args[0].shape.rank() > 1) {
    return invalid_argument("input must be a string or a batch of strings, ",
                            "got ", args[0].to_string());
  }
  std::vector<LeafSpec> specs{{DType::kString, PartialShape{kUnknownDim}}};
  if (args[0].shape.rank() == 1) {
    const std::int64_t n = args[0].shape[0];
    specs.push_back(
        {DType::kInt64, PartialShape{n == kUnknownDim ? n : n + 1}});
  }
  return specs;
}

Status split_row(const RowCall& call, std::vector<Tensor>& out) {
  PS_ASSIGN_OR_RETURN(const std::string separator,
                      call.attributes.text("sep", ""));
  const Tensor& in = call.args[0];
  std::vector<std::string_view> parts;
  std::vector<std::int64_t> splits = {0};
  for (std::int64_t i = 0; i < in.num_elements(); ++i) {
    split_into(in.rank() == 0 ? in.str() : in.str(i), separator, parts);
    splits.push_back(static_cast<std::int64_t>(parts.size()));
  }
  PS_ASSIGN_OR_RETURN(
      Tensor values,
      Tensor::strings(parts, Shape{static_cast<std::int64_t>(parts.size())}));
  out.push_back(std::move(values));
  if (in.rank() == 1) out.push_back(Tensor::from(splits));
  return absl::OkStatus();
}

LeafSpecs compared(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes, 2));
  const PartialShape& a = args[0].shape;
  const PartialShape& b = args[1].shape;
  if (!a.has_rank() || !b.has_rank()) {
    return std::vector<LeafSpec>{{DType::kBool, PartialShape()}};
  }
  return std::vector<LeafSpec>{{DType::kBool, a.rank() == 0 ? b : a}};
}

StatusOr<Tensor> equal(const RowCall& call) {
  const Tensor& a = call.args[0];
  const Tensor& b = call.args[1];
  if (a.rank() > 0 && b.rank() > 0 && a.shape() != b.shape()) {
    return invalid_argument("shapes must be equal, got ", a.shape().to_string(),
                            " and ", b.shape().to_string());
  }
  PS_ASSIGN_OR_RETURN(
      Tensor out, Tensor::allocate<bool>(a.rank() > 0 ? a.shape() : b.shape()));
  const auto to = out.mutable_as<bool>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    to[i] = (a.rank() == 0 ? a.str() : a.str(at)) ==
            (b.rank() == 0 ? b.str() : b.str(at));
  }
  return out;
}

LeafSpecs one_of(SpecArgs args, const Attributes& attributes) {
  PS_RETURN_IF_ERROR(check_strings(args, attributes));
  if (!args[0].shape.has_rank() || args[0].shape.rank() != 1) {
    return invalid_argument("input must have one dimension, got ",
                            args[0].to_string());
  }
  return std::vector<LeafSpec>{{DType::kString, PartialShape(Shape{})}};
}

StatusOr<Tensor> item(const RowCall& call) {
  PS_ASSIGN_OR_RETURN(const auto index, Params(call).integer("index", 0));
  const std::int64_t n = call.args[0].num_elements();
  if (index < -n || index >= n) {
    return make_error(StatusCode::kOutOfRange, "index ", index,
                      " is out of bounds for axis 0 with size ", n);
  }
  return call.args[0].row(index < 0 ? index + n : index);
}

}  // namespace

void add_string_ops(std::vector<NativeOp>& out) {
  out.push_back(block_op("strings.lower", same_strings, lower));
  out.push_back(block_op("strings.upper", same_strings, upper));
  out.push_back(block_op("strings.strip", same_strings, strip));
  out.push_back(block_op("strings.length", lengths, length));
  out.push_back(block_op("strings.to_number", numbers, to_number));
  const auto row = [&](const char* name, Infer infer,
                       Status (*kernel)(const RowCall&, std::vector<Tensor>&)) {
    NativeOp op;
    op.name = name;
    op.infer = infer;
    op.row = kernel;
    out.push_back(std::move(op));
  };
  row("strings.substr", same_strings, substr_row);
  row("strings.join", joined, join_row);
  row("strings.split", split_spec, split_row);
  out.push_back(row_op("strings.equal", compared, equal));
  out.push_back(row_op("strings.item", one_of, item));
}

}  // namespace penstock::expr
