// The worker's side: one thread, which holds the GIL but while it waits.
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <unordered_map>

#include "convert.h"
#include "errors.h"
#include "penstock/base/work_counters.h"
#include "process_function.h"
#include "wire.h"
#include "workers.h"

namespace penstock::python {
namespace {

class Server {
 public:
  Server(int socket, std::byte* base, std::uint64_t slot, PyObject* loads,
         PyObject* dump_failure, PyObject* sampler)
      : socket_(socket),
        base_(base),
        progress_(reinterpret_cast<std::atomic<std::int64_t>*>(base + slot)),
        loads_(loads),
        dump_failure_(dump_failure),
        sampler_(sampler) {}

  void run() {
    Message message;
    message.kind = Message::kReady;
    if (!send(message)) return;
    while (receive(message)) {
      if (message.kind == Message::kFunction) {
        load(message);
      } else if (message.kind == Message::kForget) {
        forget(message.function);
      } else if (message.kind == Message::kCall) {
        if (!call(message)) return;
      }
    }
  }

 private:
  struct Loaded {
    PyObject* owner = nullptr;  // of the function; may be the same
    PyObject* function = nullptr;
    Result result = Result::kElement;
    Spec declared;
    std::string failure;  // why there is none
  };

  bool receive(Message& message) const {
    ssize_t got = 0;
    Py_BEGIN_ALLOW_THREADS;
    do {
      got = recv(socket_, &message, sizeof(message), 0);
    } while (got < 0 && errno == EINTR);
    Py_END_ALLOW_THREADS;
    return got == static_cast<ssize_t>(sizeof(message));
  }

  bool send(const Message& message) const {
    ssize_t sent = 0;
    do {
      sent = ::send(socket_, &message, sizeof(message), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(sizeof(message));
  }

  void load(const Message& message) {
    Loaded& loaded = functions_[message.function];
    loaded.result = static_cast<Result>(message.result);
    const Owned bytes(PyBytes_FromStringAndSize(
        reinterpret_cast<const char*>(base_ + message.offset),
        static_cast<Py_ssize_t>(message.length)));
    loaded.owner = loaded.function =
        PyObject_CallFunctionObjArgs(loads_, bytes.get(), nullptr);
    if (loaded.function == nullptr) {
      loaded.failure = failure(PythonError::take(nullptr));
    } else if (PyTuple_CheckExact(loaded.function)) {
      declare(loaded);
    }
  }

  void forget(std::uint32_t function) {
    const auto found = functions_.find(function);
    if (found == functions_.end()) return;
    const Owned owner(found->second.owner);
    functions_.erase(found);
  }

  /// A function and its output_signature came together.
  static void declare(Loaded& loaded) {
    PyObject* both = loaded.function;
    auto declared = spec_from_python(PyTuple_GET_ITEM(both, 1));
    if (!declared.ok()) {
      loaded.function = nullptr;
      loaded.failure = failure(declared.status());
      return;
    }
    loaded.declared = *std::move(declared);
    loaded.function = PyTuple_GET_ITEM(both, 0);  // kept by the owner
  }

  /// The exception, pickled; never empty.
  std::string failure(const PythonError& error) const {
    const Owned bytes(PyObject_CallFunctionObjArgs(dump_failure_,
                                                   error.exception(), nullptr));
    if (bytes.get() == nullptr || !PyBytes_Check(bytes.get())) {
      PyErr_Clear();
      return "?";
    }
    return {PyBytes_AS_STRING(bytes.get()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
  }

  /// The message of a status as a failure: no exception of the function's.
  static std::string failure(const Status& status) {
    return std::string(1, kStatusFailure) + std::string(status.message());
  }

  bool call(const Message& message) {
    const Clock& clock = Clock::real();
    const std::int64_t cpu_start = clock.thread_cpu();
    const std::int64_t started = clock.now();
    const auto impatient = [&] {
      return message.patience_ns > 0 &&
             clock.now() - started > message.patience_ns;
    };
    work_ns_ = 0;
    if (message.lines != 0) watch(functions_[message.function]);
    WireWriter writer;
    {
      std::vector<std::uint64_t> keys;
      // Arguments are views of the arena, which outlives this call only if the
      // parent keeps it: a function that keeps an argument keeps a copy.
      auto rows = read_wire({base_ + message.offset, message.length},
                            Ref<Buffer>(), &keys);
      const Loaded& loaded = functions_[message.function];
      for (std::size_t i = 0; rows.ok() && i < rows->size(); ++i) {
        if (i > 0 && impatient()) break;
        progress_->store(static_cast<std::int64_t>(i),
                         std::memory_order_relaxed);
        if (loaded.function == nullptr) {
          writer.add_failure(loaded.failure);
          continue;
        }
        current_element() = {true, keys[i], 0};
        one(loaded, (*rows)[i].element, writer);
      }
      current_element().active = false;
      drain_released();
    }
    Message reply;
    reply.kind = Message::kDone;
    reply.length = writer.size();
    std::byte* out = base_ + message.out;
    if (writer.size() > message.capacity) {
      reply.kind = Message::kNeed;
      Message grant;
      if (!send(reply) || !receive(grant)) return false;
      out = base_ + grant.out;
      reply.kind = Message::kDone;
    }
    writer.write(out);
    // Behind the results, if there is room; else with those of a later call.
    if (message.lines != 0 && out == base_ + message.out) {
      reply.lines =
          write_lines(out + reply.length, message.capacity - reply.length);
    }
    progress_->store(-1, std::memory_order_relaxed);
    reply.work_ns = work_ns_;
    reply.cpu_ns = clock.thread_cpu() - cpu_start;
    return send(reply);
  }

  /// Hot lines of the function are wanted until this call ends.
  void watch(const Loaded& loaded) const {
    if (loaded.function == nullptr) return;
    const Owned done(
        PyObject_CallMethod(sampler_, "begin", "(O)", loaded.function));
    if (done.get() == nullptr) PyErr_Clear();
  }

  /// Ends that; what was seen goes to `out`. Gives its length.
  std::uint64_t write_lines(std::byte* out, std::uint64_t room) const {
    const Owned text(PyObject_CallMethod(
        sampler_, "end", "(K)", static_cast<unsigned long long>(room)));
    if (text.get() == nullptr || !PyBytes_Check(text.get())) {
      PyErr_Clear();
      return 0;
    }
    const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(text.get()));
    if (size > room) return 0;
    std::memcpy(out, PyBytes_AS_STRING(text.get()), size);
    return size;
  }

  void one(const Loaded& loaded, Element& element, WireWriter& writer) {
    // Small arguments are copied, so that the function may keep and write them.
    for (Tensor& leaf : element.mutable_leaves()) {
      if (leaf.rank() > 0 || leaf.dtype() == DType::kString) {
        auto own = leaf.compact();
        if (own.ok()) leaf = *std::move(own);
      }
    }
    Owned value;
    {
      const TimeInto timer(work_ns_);
      value.reset(call_on_element(loaded.function, nullptr, element));
    }
    if (value.get() == nullptr) {
      writer.add_failure(failure(PythonError::take(nullptr)));
      return;
    }
    try {
      auto made = convert_result(value.get(), loaded.result, &loaded.declared);
      value.reset(nullptr);
      Status status = made.ok() ? writer.add(*made) : made.status();
      if (!status.ok()) writer.add_failure(failure(status));
    } catch (const PythonError& error) {
      writer.add_failure(failure(error));
    }
  }

  int socket_;
  std::byte* base_;
  std::atomic<std::int64_t>* progress_;
  PyObject* loads_;
  PyObject* dump_failure_;
  PyObject* sampler_;  // penstock._worker.Sampler
  std::unordered_map<std::uint32_t, Loaded> functions_;
  std::int64_t work_ns_ = 0;  // inside the function, of this call
};

}  // namespace

void serve(int socket, int arena, std::uint64_t reserved, std::uint64_t slot,
           PyObject* loads, PyObject* dump_failure, PyObject* sampler) {
  // Results come and go: large ones would be mapped, cleared and unmapped anew
  // each time.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  auto base = map_arena(arena, reserved);
  if (!base.ok()) throw Error(base.status());
  Server(socket, *base, slot, loads, dump_failure, sampler).run();
}

}  // namespace penstock::python
