// The parent's side of a call: rows into the arena, a message, results out.
#include "process_function.h"

#include <algorithm>
#include <optional>

#include "convert.h"
#include "errors.h"
#include "penstock/graph/block_hint.h"
#include "penstock/runtime/scheduler.h"
#include "wire.h"
#include "workers.h"

namespace penstock::python {
namespace {

// A crossing costs a core some 100 us: four switches between the worker, who
// idles meanwhile, and the thread that waits for it. Blocks of 3 ms kept two
// workers at work for 0.957 of the time, these for 0.974.
constexpr double kBlockNs = 6e6;
// A block that takes this long has rows far dearer than those before.
constexpr std::int64_t kOverdueNs = 20'000'000;
constexpr std::size_t kSlackBytes = 64 << 10;

class ProcessFunction final : public Function {
 public:
  ProcessFunction(std::string pickled, Result result, Spec declared,
                  std::string identity, std::shared_ptr<StageCounters> counters,
                  std::shared_ptr<ProcessControls> controls)
      : pickled_(std::move(pickled)),
        number_(next_number.fetch_add(1)),
        result_(result),
        declared_(std::move(declared)),
        identity_(std::move(identity)),
        counters_(std::move(counters)),
        controls_(std::move(controls)) {}
  // Workers outlive it, and would keep what it captured for good.
  ~ProcessFunction() override {
    life_.reset();
    WorkerPool::instance().forget_gone();
  }
  ProcessFunction(const ProcessFunction&) = delete;
  ProcessFunction& operator=(const ProcessFunction&) = delete;

  StatusOr<Spec> output_spec(const Spec& /*input*/) const override {
    if (result_ == Result::kPredicate) return Spec::scalar<bool>();
    if (result_ == Result::kNumber) return Spec::scalar<std::int64_t>();
    return declared_;
  }
  std::string identity() const override { return identity_; }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    ask_for_block_ns(kBlockNs);
    Results results(static_cast<std::size_t>(in.size()));
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < in.size(); ++row) {
      auto& result = results[static_cast<std::size_t>(row)];
      if (ErrorRef error = in.error_ref(row)) {
        result.error = std::move(error);
      } else {
        rows.push_back(row);
      }
    }
    results.resize(
        static_cast<std::size_t>(run(in, context, std::move(rows), results)));
    BlockBuilder builder;
    builder.reserve(static_cast<std::int64_t>(results.size()));
    for (RowResult& result : results) {
      if (result.error) {
        builder.add_error(std::move(result.error));
      } else {
        builder.add(std::move(result.element));
      }
    }
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(in.origins());
    return absl::OkStatus();
  }

 private:
  struct RowResult {
    Element element;
    ErrorRef error;
  };
  using Results = std::vector<RowResult>;

  /// How one attempt at a block ended.
  struct Outcome {
    enum class Kind { kDone, kDied, kHung, kFailed };
    Kind kind = Kind::kFailed;
    Status status;          // kFailed: of every row
    std::string end;        // kDied, kHung: of the worker
    std::int64_t row = -1;  // ... and the row it was at
    Ref<Buffer> memory;     // kDone
    std::size_t length = 0;
  };

  void fail(const Block& in, CallContext& context, std::int64_t row,
            const Status& status, Results& results) const {
    results[static_cast<std::size_t>(row)].error =
        context.error(status, in.origins().at(row));
  }

  /// Computes `rows`; gives the first row of `in` that was left to others. A
  /// worker's death costs one more try of all of them; from the second on, the
  /// row it died at.
  std::int64_t run(const Block& in, CallContext& context,
                   std::vector<std::int64_t> rows, Results& results) const {
    bool again = true;
    while (!rows.empty()) {
      Outcome outcome = attempt(in, context, rows, results);
      if (rows.empty()) break;  // none of them could cross
      switch (outcome.kind) {
        case Outcome::Kind::kDone: {
          const std::size_t done = take(in, context, rows, outcome, results);
          return done < rows.size() ? rows[done] : in.size();
        }
        case Outcome::Kind::kFailed:
          for (const std::int64_t row : rows) {
            fail(in, context, row, outcome.status, results);
          }
          return in.size();
        case Outcome::Kind::kDied:
          if (again) {
            again = false;
            continue;
          }
          break;
        case Outcome::Kind::kHung:
          break;
      }
      const Status status(StatusCode::kAborted, outcome.end);
      if (outcome.row < 0 ||
          outcome.row >= static_cast<std::int64_t>(rows.size())) {
        // Not the fault of a row: the worker could not even start.
        for (const std::int64_t row : rows) {
          fail(in, context, row, status, results);
        }
        return in.size();
      }
      fail(in, context, rows[static_cast<std::size_t>(outcome.row)], status,
           results);
      rows.erase(rows.begin() + outcome.row);
    }
    return in.size();
  }

  /// A worker that has said something, or died.
  StatusOr<std::unique_ptr<Worker>> acquire_started(
      WorkerPool& pool, const std::function<bool()>& cancelled) const {
    const NoCallYet starting;
    auto worker = pool.acquire(controls_->workers, cancelled);
    if (worker.ok()) pool.wait_until_started(**worker, cancelled);
    return worker;
  }

  Outcome attempt(const Block& in, CallContext& context,
                  std::vector<std::int64_t>& rows, Results& results) const {
    Outcome outcome;
    const auto cancelled = [&] { return context.cancelled(); };
    auto arena = Arena::instance();
    if (!arena.ok()) {
      outcome.status = arena.status();
      return outcome;
    }
    WireWriter writer;
    std::vector<std::int64_t> crossing;
    for (const std::int64_t row : rows) {
      Status status =
          writer.add(in.element(row), context.random_key(in.origins(), row));
      if (status.ok()) {
        crossing.push_back(row);
      } else {
        fail(in, context, row,
             annotate(status, "cannot cross to a worker process: "), results);
      }
    }
    rows = std::move(crossing);
    if (rows.empty()) return outcome;
    auto input = (*arena)->allocate(writer.size());
    const double guess = bytes_per_row_.load(std::memory_order_relaxed);
    auto output = (*arena)->allocate(
        static_cast<std::size_t>(1.25 * guess *
                                 static_cast<double>(rows.size())) +
        kSlackBytes);
    if (!input.ok() || !output.ok()) {
      outcome.status = input.ok() ? output.status() : input.status();
      return outcome;
    }
    writer.write((*input)->data());

    WorkerPool& pool = WorkerPool::instance();
    auto worker = acquire_started(pool, cancelled);
    if (!worker.ok()) {
      outcome.status = worker.status();
      return outcome;
    }
    // The core that this call holds is the worker's.
    std::optional<WorksElsewhere> working;
    if (controls_->may_wait && (*worker)->process() > 0) {
      working.emplace((*worker)->process());
    } else {
      working.emplace();
    }
    Message call;
    call.function = number_;
    call.offset = (*arena)->offset_of(**input);
    call.length = writer.size();
    call.out = (*arena)->offset_of(**output);
    call.capacity = (*output)->size();
    call.patience_ns = context.overdue_flag != nullptr ? kOverdueNs : 0;
    call.lines = sampling() ? 1 : 0;
    Ref<Buffer> code;  // stays until the worker has read it
    bool alive = introduce(**worker, **arena, code) && (*worker)->send(call);
    Message reply;
    auto received = Worker::Received::kDied;
    while (alive) {
      received =
          (*worker)->receive(reply, controls_->timeout_ns.load(), cancelled);
      if (received != Worker::Received::kMessage) break;
      if (reply.kind == Message::kDone) break;
      auto larger = (*arena)->allocate(reply.length);
      if (!larger.ok()) {
        outcome.status = larger.status();
        drop(*std::move(worker));
        return outcome;
      }
      output = std::move(larger);
      call.kind = Message::kGrant;
      call.out = (*arena)->offset_of(**output);
      call.capacity = (*output)->size();
      alive = (*worker)->send(call);
      received = Worker::Received::kDied;
    }
    if (received == Worker::Received::kMessage) {
      pool.give_back(*std::move(worker), controls_->workers);
      outcome.kind = Outcome::Kind::kDone;
      outcome.memory = *std::move(output);
      outcome.length =
          std::min<std::size_t>(reply.length, outcome.memory->size());
      counters_->work_ns.fetch_add(reply.work_ns, std::memory_order_relaxed);
      counters_->worker_cpu_ns.fetch_add(reply.cpu_ns,
                                         std::memory_order_relaxed);
      take_lines(reply, *outcome.memory);
      return outcome;
    }
    outcome.row = (*worker)->row();
    const std::string end = drop(*std::move(worker));
    if (received == Worker::Received::kCancelled) {
      outcome.status = absl::CancelledError("cancelled");
    } else if (received == Worker::Received::kTimeout) {
      outcome.kind = Outcome::Kind::kHung;
      outcome.end =
          absl::StrCat("the call took longer than worker_timeout (",
                       static_cast<double>(controls_->timeout_ns.load()) / 1e9,
                       " s) and its worker process was ended");
    } else {
      outcome.kind = Outcome::Kind::kDied;
      outcome.end = absl::StrCat("the worker process ", end);
    }
    return outcome;
  }

  /// Gives the worker the function, if it does not have it.
  bool introduce(Worker& worker, Arena& arena, Ref<Buffer>& code) const {
    if (worker.knows(number_)) return true;
    auto memory = arena.allocate(pickled_.size());
    if (!memory.ok()) return false;
    code = *std::move(memory);
    std::copy(pickled_.begin(), pickled_.end(),
              reinterpret_cast<char*>(code->data()));
    Message message;
    message.kind = Message::kFunction;
    message.function = number_;
    message.offset = arena.offset_of(*code);
    message.length = pickled_.size();
    message.result = static_cast<std::uint64_t>(result_);
    worker.learned(number_, life_);
    return worker.send(message);
  }

  void take_lines(const Message& reply, const Buffer& memory) const {
    if (reply.lines == 0 || reply.length > memory.size() ||
        reply.lines > memory.size() - reply.length) {
      return;
    }
    const auto* begin = reinterpret_cast<const char*>(memory.data());
    counters_->lines.add({begin + reply.length, reply.lines});
  }

  std::string drop(std::unique_ptr<Worker> worker) const {
    std::string end = worker->kill();
    worker.reset();
    WorkerPool::instance().lost(controls_->workers);
    return end;
  }

  /// Gives the number of `rows` that were computed: all, unless the worker
  /// might leave some.
  std::size_t take(const Block& in, CallContext& context,
                   const std::vector<std::int64_t>& rows,
                   const Outcome& outcome, Results& results) const {
    auto read = read_wire({outcome.memory->data(), outcome.length},
                          outcome.memory, nullptr);
    const std::size_t least = context.overdue_flag != nullptr ? 1 : rows.size();
    if (read.ok() && (read->size() < least || read->size() > rows.size())) {
      read = absl::DataLossError("a worker process lost results");
    }
    if (!read.ok()) {
      for (const std::int64_t row : rows) {
        fail(in, context, row, read.status(), results);
      }
      return rows.size();
    }
    const std::size_t done = read->size();
    counters_->calls.fetch_add(static_cast<std::int64_t>(done),
                               std::memory_order_relaxed);
    const double bytes =
        static_cast<double>(outcome.length) / static_cast<double>(done);
    const double known = bytes_per_row_.load(std::memory_order_relaxed);
    bytes_per_row_.store(std::max(bytes, 0.9 * known),
                         std::memory_order_relaxed);
    const auto arena = Arena::instance();
    const bool copy = arena.ok() && (*arena)->crowded();
    for (std::size_t i = 0; i < done; ++i) {
      WireRow& row = (*read)[i];
      if (!row.failure.empty()) {
        raised(in, context, rows[i], row.failure, results);
        continue;
      }
      Status status = declared_.check(row.element);
      if (status.ok() && copy) status = copy_out(row.element);
      if (!status.ok()) {
        fail(in, context, rows[i], status, results);
        continue;
      }
      results[static_cast<std::size_t>(rows[i])].element =
          std::move(row.element);
    }
    return done;
  }

  static Status copy_out(Element& element) {
    for (Tensor& leaf : element.mutable_leaves()) {
      PS_ASSIGN_OR_RETURN(leaf, leaf.compact());
    }
    return absl::OkStatus();
  }

  /// The exception that the function raised over there.
  void raised(const Block& in, CallContext& context, std::int64_t row,
              const std::string& failure, Results& results) const {
    if (failure.front() == kStatusFailure) {
      fail(in, context, row, absl::InvalidArgumentError(failure.substr(1)),
           results);
      return;
    }
    Gil gil;
    if (!gil.ok()) {
      fail(in, context, row, absl::CancelledError("the interpreter exits"),
           results);
      return;
    }
    const Owned bytes(PyBytes_FromStringAndSize(
        failure.data(), static_cast<Py_ssize_t>(failure.size())));
    PyObject* exception = PyObject_CallFunctionObjArgs(
        python_type("load_failure"), bytes.get(), nullptr);
    PythonError error = exception == nullptr
                            ? PythonError::take(this, "process")
                            : PythonError::of(exception, this, "process");
    Status status = error.status();
    results[static_cast<std::size_t>(row)].error =
        context.error(std::move(status), in.origins().at(row),
                      std::make_exception_ptr(error));
  }

  static inline std::atomic<std::uint32_t> next_number{1};
  const std::string pickled_;
  const std::uint32_t number_;
  const Result result_;
  const Spec declared_;
  const std::string identity_;
  const std::shared_ptr<StageCounters> counters_;
  const std::shared_ptr<ProcessControls> controls_;
  mutable std::atomic<double> bytes_per_row_{0};
  std::shared_ptr<const void> life_ = std::make_shared<int>();
};

}  // namespace

FunctionRef make_process_function(std::string pickled, Result result,
                                  Spec declared, std::string identity,
                                  std::shared_ptr<StageCounters> counters,
                                  std::shared_ptr<ProcessControls> controls) {
  return std::make_shared<ProcessFunction>(
      std::move(pickled), result, std::move(declared), std::move(identity),
      std::move(counters), std::move(controls));
}

}  // namespace penstock::python
