// Sequential sources of the user: from_generator, from_source.
//
// A sequencer without inputs, of user code. A step reads until 50 us or 256 KiB
// are full, so that a slow source delivers each element as it comes and a fast
// one travels in blocks; blocks start at one element and double. The source is
// opened by the first step (planning and explain() call no user code) and
// destroyed by the last.
//
// State: the number of elements given, and the last place the source could save
// with its number. A restore continues there, or at the start, and reads
// forward.
#include "penstock/ops/from_source/sequential.h"

#include <algorithm>
#include <exception>

#include "penstock/base/clock.h"
#include "penstock/graph/element_key.h"
#include "penstock/ops/function.h"

namespace penstock {
namespace {

constexpr char kAdvancedUrl[] = "penstock/cursor_advanced";

}  // namespace

Status element_error(Status status) {
  if (!status.ok()) status.SetPayload(kAdvancedUrl, absl::Cord());
  return status;
}

bool cursor_advanced(const Status& status) {
  return status.GetPayload(kAdvancedUrl).has_value();
}

namespace ops {
namespace {

constexpr std::int64_t kStepNs = 50'000;
constexpr std::int64_t kStepBytes = 256 * 1024;
constexpr std::int64_t kMaxRows = 4096;

struct Place {
  std::string bytes;
  std::int64_t position = 0;
};

struct Reading final : SequencerState {
  const StageInfo* stage = nullptr;
  const std::atomic<bool>* cancel_flag = nullptr;
  const Clock* clock = nullptr;
  PathRef path;

  std::unique_ptr<SequentialSource> source;
  bool opened = false;          // once, perhaps before a restore
  std::int64_t position = 0;    // elements given, errors included
  std::int64_t skipped_to = 0;  // while restoring: elements read again
  std::int64_t rows = 1;        // of the next block
  /// The last place the source could save; save() moves it on.
  mutable std::optional<Place> place;
  Epoch epoch;
  std::uint64_t salt = 0;

  /// Of the element that is read next; before the first one, of none.
  std::uint64_t key() const {
    return element_key(epoch, salt,
                       Origin{path, source ? skipped_to : -1}.key());
  }
  bool cancelled() const {
    return cancel_flag != nullptr &&
           cancel_flag->load(std::memory_order_relaxed);
  }
  bool restoring() const { return skipped_to < position; }
  ErrorRef error(Status status, std::exception_ptr cause = nullptr,
                 bool last = true) const {
    auto error = std::make_shared<ElementError>();
    error->ends_source = last;
    error->status = std::move(status);
    error->restore_failed = restoring() || (opened && !source);
    if (stage) error->stage = stage->to_string();
    error->element = Origin{path, position}.to_string();
    error->cause = std::move(cause);
    return error;
  }
};

/// What one call of next() came to.
struct Read {
  enum class Kind { kElement, kError, kLastError, kEnd };
  Kind kind = Kind::kEnd;
  Element element;
  ErrorRef error;
};

class Sequential final : public SequencerOp {
 public:
  Sequential(SequentialFactory open, SequentialOptions options)
      : open_(std::move(open)), options_(std::move(options)) {}

  std::string_view op() const override { return options_.op; }
  std::string describe() const override {
    return absl::StrCat(options_.op,
                        "(fn), a restore without save() reads from the start");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return options_.spec;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return options_.cardinality;
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(options_.identity);
    fp.add(options_.spec.to_string());
    fp.add(static_cast<std::uint64_t>(options_.cardinality.value()));
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = 0;
    traits.user_code = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Reading>();
    state->stage = context.stage;
    state->cancel_flag = context.cancel_flag;
    state->clock = context.clock ? context.clock : &Clock::real();
    state->path = context.path;
    state->epoch = context.epoch;
    state->salt = context.stage_salt;
    return state;
  }

  StatusOr<Step> step(SequencerState& s, Inputs&, Outputs& out) const override {
    auto& state = s.as<Reading>();
    const std::int64_t wanted =
        std::min({out.room(), state.rows, declared_left(state)});
    if (wanted <= 0) return end(state);
    const std::int64_t start = state.clock->now();
    if (!state.source) {
      if (ErrorRef error = open(state)) return last_error(state, out, error);
      // The next snapshot tells a restore that opening has once succeeded.
      state.opened = true;
      return Step::more();
    }
    while (state.restoring()) {
      if (state.cancelled() || state.clock->now() - start > kStepNs) {
        return Step::more();
      }
      Read read = call(state);
      if (read.kind == Read::Kind::kLastError) {
        return last_error(state, out, read.error);
      }
      if (read.kind == Read::Kind::kEnd) {
        return last_error(
            state, out,
            state.error(absl::FailedPreconditionError(absl::StrCat(
                "cannot be restored: it ended after ", state.skipped_to,
                " elements, the saved place is behind ", state.position,
                "; a source must give the same elements again, or implement "
                "save()"))));
      }
      ++state.skipped_to;
    }

    const std::int64_t first = state.position;
    std::int64_t bytes = 0;
    BlockBuilder block;
    Step next = Step::more();
    while (block.size() < wanted && !state.cancelled()) {
      Read read = call(state);
      if (read.kind == Read::Kind::kEnd && declared_left(state) > 0 &&
          !options_.cardinality.is_unknown()) {
        read.kind = Read::Kind::kLastError;
        read.error = state.error(absl::FailedPreconditionError(absl::StrCat(
            "ended after ", state.position, " elements, declared were ",
            options_.cardinality.to_string())));
      }
      if (read.kind == Read::Kind::kEnd) {
        next = end(state);
        break;
      }
      if (read.kind == Read::Kind::kElement) {
        bytes += read.element.byte_size();
        block.add(std::move(read.element));
      } else {
        block.add_error(std::move(read.error));
      }
      ++state.position;
      ++state.skipped_to;
      if (read.kind == Read::Kind::kLastError) {
        next = end(state);
        break;
      }
      if (bytes > kStepBytes || state.clock->now() - start > kStepNs) break;
    }
    if (block.size() == state.rows) {
      state.rows = std::min(2 * state.rows, kMaxRows);
    }
    if (block.size() > 0) {
      PS_ASSIGN_OR_RETURN(Block made, block.finish());
      made.set_origins(Origins(state.path, first));
      out.emit_block(std::move(made));
    }
    return next;
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Reading>();
    if (state.source && !state.restoring()) {
      try {
        if (std::optional<std::string> bytes = state.source->save()) {
          state.place = Place{*std::move(bytes), state.position};
        }
      } catch (...) {
        // No place here: an earlier one serves.
        (void)status_of_current_exception();
      }
    }
    writer.own.boolean(state.opened);
    writer.own.i64(state.position);
    writer.own.boolean(state.place.has_value());
    if (state.place) {
      writer.own.bytes(state.place->bytes);
      writer.own.i64(state.place->position);
    }
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Reading>();
    state.opened = own.boolean();
    state.position = own.i64();
    if (own.boolean()) {
      Place place;
      place.bytes = std::string(own.bytes());
      place.position = own.i64();
      if (place.position < 0 || place.position > state.position) own.fail();
      state.skipped_to = place.position;
      state.place = std::move(place);
    }
    if (state.position < 0) own.fail();
    return own.status(options_.op);
  }

 private:
  std::int64_t declared_left(const Reading& state) const {
    if (!options_.cardinality.finite()) return kMaxRows;
    return options_.cardinality.value() - state.position;
  }

  /// Opens the source, at the saved place if there is one. Null when all went
  /// well.
  ErrorRef open(Reading& state) const {
    const ElementKey key(state.key());
    try {
      auto source = open_();
      if (!source.ok()) return state.error(source.status());
      if (!*source) {
        return state.error(
            absl::InvalidArgumentError("the function gave a null source"));
      }
      if (state.place) {
        const Status status = (*source)->restore(state.place->bytes);
        if (!status.ok()) return state.error(status);
      }
      state.source = *std::move(source);
      return nullptr;
    } catch (...) {
      Status status = status_of_current_exception();
      return state.error(std::move(status), std::current_exception());
    }
  }

  Read call(Reading& state) const {
    Read read;
    const ElementKey key(state.key());
    try {
      auto next = state.source->next();
      if (!next.ok()) {
        const bool last = !cursor_advanced(next.status());
        read.kind = last ? Read::Kind::kLastError : Read::Kind::kError;
        read.error = state.error(next.status(), nullptr, last);
        return read;
      }
      if (!next->has_value()) return read;
      read.element = **std::move(next);
    } catch (...) {
      Status status = status_of_current_exception();
      read.kind = Read::Kind::kLastError;
      read.error = state.error(std::move(status), std::current_exception());
      return read;
    }
    Status status = check_source_element(options_.spec, read.element);
    read.kind = status.ok() ? Read::Kind::kElement : Read::Kind::kError;
    if (!status.ok()) read.error = state.error(std::move(status), {}, false);
    return read;
  }

  static StatusOr<Step> last_error(Reading& state, Outputs& out,
                                   ErrorRef error) {
    BlockBuilder block;
    block.add_error(std::move(error));
    PS_ASSIGN_OR_RETURN(Block made, block.finish());
    made.set_origins(Origins(state.path, state.position));
    out.emit_block(std::move(made));
    return end(state);
  }

  // The source goes here, where no lock is held: its destructor is the user's.
  static Step end(Reading& state) {
    state.source.reset();
    return Step::end();
  }

  SequentialFactory open_;
  SequentialOptions options_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_sequential(
    SequentialFactory open, SequentialOptions options) {
  if (!open) {
    return invalid_argument(options.op, ": fn must be callable, got none");
  }
  if (options.cardinality.value() < Cardinality::kUnknown) {
    return invalid_argument(
        options.op, ": cardinality must be >= 0, infinite or unknown, got ",
        options.cardinality.value());
  }
  return std::make_shared<Sequential>(std::move(open), std::move(options));
}

}  // namespace ops
}  // namespace penstock
