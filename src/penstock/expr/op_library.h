// Native operations of your own, in a shared library.
//
//   #include <penstock/expr/op_library.h>
//   namespace op = penstock::op;
//
//   void scale(op::Call& call) {
//     const op::Tensor x = call.arg(0);
//     float* out = call.result_like<float>(0, x);
//     const auto by = static_cast<float>(call.number("by", 1.0));
//     const float* in = x.data<float>();
//     for (std::int64_t i = 0; i < x.size(); ++i) out[i] = in[i] * by;
//   }
//   PENSTOCK_OP("mine.scale", op::same_as_first, scale);
//
// Python loads it with ps.load_op_library(path) and calls it, traced or not.
// This header needs nothing else of Penstock: what passes between library and
// engine is plain C, so compilers and versions may differ. A kernel runs
// without the GIL, on any thread, many at once, and must depend on nothing but
// its arguments, parameters and random key. It may throw: the element is then
// an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): names that C can have
extern "C" {
// Changes with what follows; a library of another one is not loaded.
enum { PENSTOCK_OP_ABI = 1, PENSTOCK_OP_MAX_RANK = 8 };

struct penstock_op_tensor {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
  const void* data;        // numbers, or the bytes of strings
  const int64_t* offsets;  // of strings: one more than there are
};
struct penstock_op_spec {
  int32_t dtype;
  int32_t rank;                        // -1: not known
  int64_t dims[PENSTOCK_OP_MAX_RANK];  // -1: not known
};
// What the engine offers a running operation.
struct penstock_op_host {
  void* (*allocate)(void* host, int32_t result, int32_t dtype, int32_t rank,
                    const int64_t* dims);
  void (*set_strings)(void* host, int32_t result, int32_t rank,
                      const int64_t* dims, const char* const* data,
                      const int64_t* sizes);
  void (*fail)(void* host, const char* message);
  int (*number)(void* host, const char* name, double* value);
  int (*integer)(void* host, const char* name, int64_t* value);
  int (*text)(void* host, const char* name, const char** value, int64_t* size);
};
struct penstock_op_call {
  const penstock_op_host* api;
  void* host;
  int32_t num_args;
  const penstock_op_tensor* args;
  uint64_t random_key;
};
struct penstock_op_infer {
  const penstock_op_host* api;
  void* host;
  int32_t num_args;
  const penstock_op_spec* args;
  int32_t max_results;
  penstock_op_spec* results;
};
struct penstock_op_entry {
  const char* name;
  // The number of results, or -1 after fail().
  int32_t (*infer)(penstock_op_infer* call);
  int32_t (*run)(penstock_op_call* call);  // 0, or -1 after fail()
  int32_t flags;  // 1: may wait, 2: draws random values
  int32_t version;
};
struct penstock_op_list {
  int32_t abi;
  int32_t count;
  const penstock_op_entry* entries;
};
}
// NOLINTEND(readability-identifier-naming)

namespace penstock::op {

enum class DType : std::int32_t {
  kUnknown,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kString,
};
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::kInt8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::kInt16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::kInt32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::kInt64;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::kUInt8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return DType::kUInt16;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return DType::kUInt32;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return DType::kUInt64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kFloat32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kFloat64;
  else
    static_assert(sizeof(T) == 0, "not a type of tensors");
}

/// What is wrong; its text becomes the element's error.
class Failure : public std::exception {
 public:
  explicit Failure(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// An argument: read-only, alive during the call.
class Tensor {
 public:
  explicit Tensor(const penstock_op_tensor& t) : t_(&t) {}
  DType dtype() const { return static_cast<DType>(t_->dtype); }
  int rank() const { return t_->rank; }
  std::int64_t dim(int i) const { return t_->dims[i]; }
  const std::int64_t* dims() const { return t_->dims; }
  std::int64_t size() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank(); ++i) n *= dim(i);
    return n;
  }
  template <class T>
  const T* data() const {
    if (dtype() != dtype_of<T>()) {
      throw Failure("an argument has another dtype");
    }
    return static_cast<const T*>(t_->data);
  }
  std::string_view str(std::int64_t i = 0) const {
    if (dtype() != DType::kString) throw Failure("an argument is no string");
    const char* bytes = static_cast<const char*>(t_->data);
    return {bytes + t_->offsets[i],
            static_cast<std::size_t>(t_->offsets[i + 1] - t_->offsets[i])};
  }

 private:
  const penstock_op_tensor* t_;
};

/// Constant parameters, by name.
class Parameters {
 public:
  Parameters(const penstock_op_host* api, void* host)
      : api_(api), host_(host) {}
  double number(const char* name, double fallback) const {
    double value = fallback;
    return api_->number(host_, name, &value) != 0 ? value : fallback;
  }
  std::int64_t integer(const char* name, std::int64_t fallback) const {
    std::int64_t value = fallback;
    return api_->integer(host_, name, &value) != 0 ? value : fallback;
  }
  std::string text(const char* name, std::string fallback) const {
    const char* value = nullptr;
    std::int64_t size = 0;
    if (api_->text(host_, name, &value, &size) == 0) return fallback;
    return {value, static_cast<std::size_t>(size)};
  }

 protected:
  const penstock_op_host* api_;
  void* host_;
};

/// The call for one element.
class Call : public Parameters {
 public:
  explicit Call(penstock_op_call& c) : Parameters(c.api, c.host), c_(c) {}
  int num_args() const { return c_.num_args; }
  Tensor arg(int i) const {
    if (i < 0 || i >= c_.num_args) throw Failure("an argument is missing");
    return Tensor(c_.args[i]);
  }
  /// The same for the same element, whoever computes it.
  std::uint64_t random_key() const { return c_.random_key; }

  /// Memory for result `i`, to be written before the call ends.
  template <class T>
  T* result(int i, const std::int64_t* dims, int rank) {
    void* memory = api_->allocate(
        host_, i, static_cast<std::int32_t>(dtype_of<T>()), rank, dims);
    if (memory == nullptr) throw Failure("no memory for a result");
    return static_cast<T*>(memory);
  }
  template <class T>
  T* result(int i, std::initializer_list<std::int64_t> dims) {
    return result<T>(i, dims.begin(), static_cast<int>(dims.size()));
  }
  /// Of the shape of `like`.
  template <class T>
  T* result_like(int i, const Tensor& like) {
    return result<T>(i, like.dims(), like.rank());
  }
  void result_string(int i, std::string_view value) {
    const char* data = value.data();
    const auto size = static_cast<std::int64_t>(value.size());
    api_->set_strings(host_, i, 0, nullptr, &data, &size);
  }

 private:
  penstock_op_call& c_;
};

/// Dtype and shape as far as they are known when a function is traced.
struct Spec {
  DType dtype = DType::kUnknown;
  bool has_rank = false;
  std::vector<std::int64_t> dims;  // -1: not known

  Spec() = default;
  Spec(DType type, std::initializer_list<std::int64_t> shape)
      : dtype(type), has_rank(true), dims(shape) {}
};

/// Gives the specs of the results; throws Failure if arguments cannot be right.
using Infer = std::vector<Spec> (*)(const std::vector<Spec>& args,
                                    const Parameters& parameters);

inline std::vector<Spec> same_as_first(const std::vector<Spec>& args,
                                       const Parameters&) {
  if (args.empty()) throw Failure("takes one argument");
  return {args[0]};
}

namespace detail {

inline std::vector<penstock_op_entry>& entries() {
  static std::vector<penstock_op_entry> list;
  return list;
}

template <Infer kInfer>
std::int32_t infer(penstock_op_infer* call) {
  try {
    std::vector<Spec> args;
    for (std::int32_t i = 0; i < call->num_args; ++i) {
      const penstock_op_spec& from = call->args[i];
      Spec spec;
      spec.dtype = static_cast<DType>(from.dtype);
      spec.has_rank = from.rank >= 0;
      for (std::int32_t k = 0; k < from.rank; ++k) {
        spec.dims.push_back(from.dims[k]);
      }
      args.push_back(std::move(spec));
    }
    const std::vector<Spec> results =
        kInfer(args, Parameters(call->api, call->host));
    if (results.size() > static_cast<std::size_t>(call->max_results)) {
      throw Failure("too many results");
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      penstock_op_spec& to = call->results[i];
      to.dtype = static_cast<std::int32_t>(results[i].dtype);
      to.rank = results[i].has_rank
                    ? static_cast<std::int32_t>(results[i].dims.size())
                    : -1;
      if (to.rank > PENSTOCK_OP_MAX_RANK) throw Failure("too many dimensions");
      for (std::int32_t k = 0; k < to.rank; ++k) {
        to.dims[k] = results[i].dims[static_cast<std::size_t>(k)];
      }
    }
    return static_cast<std::int32_t>(results.size());
  } catch (const std::exception& e) {
    call->api->fail(call->host, e.what());
  } catch (...) {
    call->api->fail(call->host, "it threw something that is no exception");
  }
  return -1;
}

template <void (*kRun)(Call&)>
std::int32_t run(penstock_op_call* call) {
  try {
    Call wrapped(*call);
    kRun(wrapped);
    return 0;
  } catch (const std::exception& e) {
    call->api->fail(call->host, e.what());
  } catch (...) {
    call->api->fail(call->host, "it threw something that is no exception");
  }
  return -1;
}

struct Register {
  explicit Register(const penstock_op_entry& entry) {
    entries().push_back(entry);
  }
};

}  // namespace detail

constexpr int kBlocking = 1;  // may wait: it reads files
constexpr int kRandom = 2;    // uses random_key()

}  // namespace penstock::op

/// What ps.load_op_library() asks a library for.
extern "C" __attribute__((weak, visibility("default"))) const penstock_op_list*
penstock_op_library() {
  static penstock_op_list list;
  const auto& entries = penstock::op::detail::entries();
  list = {PENSTOCK_OP_ABI, static_cast<int32_t>(entries.size()),
          entries.data()};
  return &list;
}

#define PENSTOCK_OP_JOIN(a, b) a##b
#define PENSTOCK_OP_CONCAT(a, b) PENSTOCK_OP_JOIN(a, b)
/// PENSTOCK_OP("library.name", spec function, kernel), then flags if any.
#define PENSTOCK_OP(name, infer_fn, run_fn, ...)                        \
  static const ::penstock::op::detail::Register PENSTOCK_OP_CONCAT(     \
      penstock_op_, __COUNTER__)(                                       \
      penstock_op_entry{name, &::penstock::op::detail::infer<infer_fn>, \
                        &::penstock::op::detail::run<run_fn>,           \
                        (0 __VA_OPT__(| (__VA_ARGS__))), 1})
