#include "penstock/expr/load_op_library.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

#include "penstock/expr/native_ops.h"
#include "penstock/expr/op_library.h"

namespace penstock::expr {
namespace {

static_assert(static_cast<int>(op::DType::kBool) ==
              static_cast<int>(DType::kBool));
static_assert(static_cast<int>(op::DType::kInt64) ==
              static_cast<int>(DType::kInt64));
static_assert(static_cast<int>(op::DType::kUInt8) ==
              static_cast<int>(DType::kUInt8));
static_assert(static_cast<int>(op::DType::kUInt64) ==
              static_cast<int>(DType::kUInt64));
static_assert(static_cast<int>(op::DType::kFloat16) ==
              static_cast<int>(DType::kFloat16));
static_assert(static_cast<int>(op::DType::kFloat32) ==
              static_cast<int>(DType::kFloat32));
static_assert(static_cast<int>(op::DType::kFloat64) ==
              static_cast<int>(DType::kFloat64));
static_assert(static_cast<int>(op::DType::kString) ==
              static_cast<int>(DType::kString));

constexpr int kMaxResults = 16;

/// Which entry an operation's name stands for.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, const penstock_op_entry*> entries;
};
Loaded& loaded() {
  static auto* const table = new Loaded;
  return *table;
}
const penstock_op_entry* loaded_from(const std::string& name) {
  Loaded& table = loaded();
  const std::lock_guard lock(table.mutex);
  const auto it = table.entries.find(name);
  return it == table.entries.end() ? nullptr : it->second;
}
void remember(const std::string& name, const penstock_op_entry* entry) {
  Loaded& table = loaded();
  const std::lock_guard lock(table.mutex);
  table.entries[name] = entry;
}

/// The engine's side of one call.
struct Host {
  const Attributes* attributes = nullptr;
  std::vector<Tensor>* results = nullptr;
  Status status;
};
Host& host_of(void* host) { return *static_cast<Host*>(host); }

bool place(Host& host, std::int32_t result) {
  if (host.results == nullptr || result < 0 || result >= kMaxResults) {
    return false;
  }
  if (static_cast<std::size_t>(result) >= host.results->size()) {
    host.results->resize(static_cast<std::size_t>(result) + 1);
  }
  return true;
}

Shape shape_of(std::int32_t rank, const std::int64_t* dims) {
  return Shape(
      std::span<const std::int64_t>(dims, static_cast<std::size_t>(rank)));
}

void* allocate(void* self, std::int32_t result, std::int32_t dtype,
               std::int32_t rank, const std::int64_t* dims) {
  Host& host = host_of(self);
  if (!place(host, result) || rank < 0 || rank > PENSTOCK_OP_MAX_RANK ||
      dtype <= 0 || dtype >= static_cast<std::int32_t>(DType::kString)) {
    host.status = invalid_argument("a result of no known kind");
    return nullptr;
  }
  for (std::int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      host.status = invalid_argument("a result with a negative dimension");
      return nullptr;
    }
  }
  auto tensor =
      Tensor::allocate(static_cast<DType>(dtype), shape_of(rank, dims));
  if (!tensor.ok()) {
    host.status = tensor.status();
    return nullptr;
  }
  Tensor& made = (*host.results)[static_cast<std::size_t>(result)];
  made = *std::move(tensor);
  return made.mutable_data();
}

void set_strings(void* self, std::int32_t result, std::int32_t rank,
                 const std::int64_t* dims, const char* const* data,
                 const std::int64_t* sizes) {
  Host& host = host_of(self);
  if (!place(host, result)) return;
  Tensor& made = (*host.results)[static_cast<std::size_t>(result)];
  if (rank == 0) {
    made = Tensor::string({data[0], static_cast<std::size_t>(sizes[0])});
    return;
  }
  const Shape shape = shape_of(rank, dims);
  std::vector<std::string_view> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    values.emplace_back(data[i], static_cast<std::size_t>(sizes[i]));
  }
  auto strings = Tensor::strings(values, shape);
  if (strings.ok())
    made = *std::move(strings);
  else
    host.status = strings.status();
}

void fail(void* self, const char* message) {
  Host& host = host_of(self);
  if (host.status.ok()) host.status = invalid_argument(message);
}

int number(void* self, const char* name, double* value) {
  const auto got = host_of(self).attributes->number(name, *value);
  if (!got.ok())
    fail(self, std::string(got.status().message()).c_str());
  else
    *value = *got;
  return host_of(self).attributes->has(name) ? 1 : 0;
}

int integer(void* self, const char* name, std::int64_t* value) {
  const auto got = host_of(self).attributes->integer(name, *value);
  if (!got.ok())
    fail(self, std::string(got.status().message()).c_str());
  else
    *value = *got;
  return host_of(self).attributes->has(name) ? 1 : 0;
}

int text(void* self, const char* name, const char** value, std::int64_t* size) {
  const Attribute* found = host_of(self).attributes->find(name);
  const auto* string =
      found == nullptr ? nullptr : std::get_if<std::string>(found);
  if (string == nullptr) return 0;
  *value = string->data();
  *size = static_cast<std::int64_t>(string->size());
  return 1;
}

constexpr penstock_op_host kHost = {allocate, set_strings, fail,
                                    number,   integer,     text};

StatusOr<std::vector<LeafSpec>> infer(const penstock_op_entry& entry,
                                      std::span<const LeafSpec> args,
                                      const Attributes& attributes) {
  std::vector<penstock_op_spec> given;
  for (const LeafSpec& arg : args) {
    penstock_op_spec spec = {static_cast<std::int32_t>(arg.dtype), -1, {}};
    if (arg.shape.has_rank()) {
      if (arg.shape.rank() > PENSTOCK_OP_MAX_RANK) {
        return invalid_argument("takes at most ", int{PENSTOCK_OP_MAX_RANK},
                                " dimensions, got ", arg.to_string());
      }
      spec.rank = static_cast<std::int32_t>(arg.shape.rank());
      for (std::size_t i = 0; i < arg.shape.rank(); ++i) {
        spec.dims[i] = arg.shape[i];
      }
    }
    given.push_back(spec);
  }
  Host host{&attributes, nullptr, {}};
  penstock_op_spec results[kMaxResults] = {};
  penstock_op_infer call = {
      &kHost,       &host,       static_cast<std::int32_t>(given.size()),
      given.data(), kMaxResults, results};
  const std::int32_t n = entry.infer(&call);
  PS_RETURN_IF_ERROR(host.status);
  if (n < 1 || n > kMaxResults) return invalid_argument("it gives no results");
  std::vector<LeafSpec> out;
  for (std::int32_t i = 0; i < n; ++i) {
    LeafSpec spec;
    if (results[i].dtype < 0 ||
        results[i].dtype > static_cast<std::int32_t>(DType::kString)) {
      return invalid_argument("a result of no known dtype");
    }
    spec.dtype = static_cast<DType>(results[i].dtype);
    if (results[i].rank >= 0) {
      spec.shape = PartialShape(shape_of(results[i].rank, results[i].dims));
    }
    out.push_back(std::move(spec));
  }
  return out;
}

Status run(const penstock_op_entry& entry, const RowCall& row,
           std::vector<Tensor>& out) {
  std::vector<penstock_op_tensor> args;
  // A rank-0 string has no offsets of its own.
  std::vector<std::array<std::int64_t, 2>> lengths(row.args.size());
  std::vector<Tensor> copies(row.args.size());  // of strings with gaps
  for (std::size_t i = 0; i < row.args.size(); ++i) {
    if (row.args[i].string_gap() > 0) {
      PS_ASSIGN_OR_RETURN(copies[i], row.args[i].compact());
    }
    const Tensor& t = copies[i].defined() ? copies[i] : row.args[i];
    penstock_op_tensor arg = {static_cast<std::int32_t>(t.dtype()),
                              static_cast<std::int32_t>(t.rank()),
                              t.shape().dims().data(), t.data(), nullptr};
    if (t.dtype() == DType::kString) {
      if (t.rank() == 0) {
        lengths[i] = {0, static_cast<std::int64_t>(t.str().size())};
        arg.data = t.str().data();
        arg.offsets = lengths[i].data();
      } else {
        arg.data = t.string_bytes();
        arg.offsets = t.string_offsets();
      }
    }
    args.push_back(arg);
  }
  Host host{&row.attributes, &out, {}};
  penstock_op_call call = {&kHost, &host,
                           static_cast<std::int32_t>(args.size()), args.data(),
                           row.random_key};
  const std::int32_t status = entry.run(&call);
  PS_RETURN_IF_ERROR(host.status);
  if (status != 0) return invalid_argument("it failed without a message");
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) {
      return invalid_argument("result ", i, " was not given");
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> load_op_library(const std::string& path) {
  // Registered operations point into it: it is never closed.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return make_error(StatusCode::kNotFound, "load_op_library: '", path,
                      "': ", why == nullptr ? "cannot be loaded" : why);
  }
  using Entry = const penstock_op_list* (*)();
  const auto entry = reinterpret_cast<Entry>(
      reinterpret_cast<void*>(dlsym(library, "penstock_op_library")));
  if (entry == nullptr) {
    return invalid_argument("load_op_library: '", path,
                            "' has no operations: it must include "
                            "penstock/expr/op_library.h");
  }
  const penstock_op_list& list = *entry();
  if (list.abi != PENSTOCK_OP_ABI) {
    return make_error(StatusCode::kFailedPrecondition, "load_op_library: '",
                      path, "' was built for interface ", list.abi,
                      ", this is ", int{PENSTOCK_OP_ABI});
  }
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < list.count; ++i) {
    const penstock_op_entry& item = list.entries[i];
    names.emplace_back(item.name);
    NativeOp op;
    op.name = item.name;
    op.infer = [&item](std::span<const LeafSpec> args,
                       const Attributes& attributes) {
      return infer(item, args, attributes);
    };
    op.row = [&item](const RowCall& call, std::vector<Tensor>& out) {
      return run(item, call, out);
    };
    op.blocking = (item.flags & op::kBlocking) != 0;
    op.random = (item.flags & op::kRandom) != 0;
    op.version = item.version;
    const Status status = register_native_op(std::move(op));
    // The same library once more; another one of the same name is refused.
    if (!status.ok() && !(status.code() == StatusCode::kAlreadyExists &&
                          loaded_from(item.name) == &item)) {
      return annotate(status, absl::StrCat("load_op_library: '", path, "': "));
    }
    remember(item.name, &item);
  }
  return names;
}

}  // namespace penstock::expr
