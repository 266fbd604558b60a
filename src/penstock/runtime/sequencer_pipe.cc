// Sequencers: state machines that one worker at a time advances.
#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/runtime/pipe.h"

namespace penstock {
namespace {

constexpr std::int64_t kRoomRows = 16 * 1024;
// What cuts rows into groups passes them on as they lie: as many as a block of
// small ones has, or each of its blocks would be handled twice.
constexpr std::int64_t kGroupedRoomRows = 64 * 1024;
constexpr int kMaxStepsPerClaim = 64;
// User code that took this long hands its results on before it is called again.
constexpr std::int64_t kUserStepsNs = 50'000;
constexpr std::size_t kInboxItems = 32;
// User code of unknown cost: from one row up, while a claim stays this short.
constexpr std::int64_t kUserClaimNs = 100'000;
constexpr std::int64_t kSampleSteps = 128;
constexpr std::int64_t kLongClaimNs = 1'000'000;
constexpr std::int64_t kInboxBytes = std::int64_t{1} << 20;

// An input had given nothing yet. Good for a state before the first element
// only: an unordered stage upstream cannot repeat its order from there.
bool starts_from_scratch(const Snapshot& snapshot) {
  for (const Mark& mark : snapshot.inputs) {
    if (!mark.snapshot) return true;
  }
  return false;
}

}  // namespace

class PipeInputs final : public Inputs {
 public:
  explicit PipeInputs(SequencerPipe& pipe) : pipe_(pipe) {}

  std::int64_t available(int i) const override { return at(i).rows; }
  bool ended(int i) const override { return at(i).ended; }
  Mark mark(int i) const override { return at(i).next(); }

  Rows peek(int i, std::int64_t max) const override {
    const Rows& part = at(i).items.front().parts.front();
    return part.size() <= max ? part : part.slice(0, max);
  }

  Rows take(int i, std::int64_t max) override {
    auto& input = at(i);
    Item& item = input.items.front();
    const std::int64_t rows = std::min(max, item.parts.front().size());
    Item head = split_item(item, rows);
    input.rows -= rows;
    input.bytes -= head.byte_size();
    if (item.size == 0) {
      input.tail = item.mark;
      input.items.pop_front();
    }
    return std::move(head.parts.front());
  }

  Status check_again(const Rows& rows, std::int64_t row) const override {
    if (!pipe_.run_.config().no_errors_before || rows.is_lazy()) {
      return absl::OkStatus();
    }
    const ElementError* error = rows.block().error_at(rows.at(row));
    return error != nullptr && error->loses_rows() ? error->to_status()
                                                   : absl::OkStatus();
  }

  StatusOr<int> open(const NodeRef& dataset, PathRef path,
                     int restored) override {
    return open_in(pipe_.epoch, dataset, std::move(path), restored);
  }

  StatusOr<int> open_in(const Epoch& epoch, const NodeRef& dataset,
                        PathRef path, int restored) override {
    Mark mark;
    if (restored >= 0) {
      const auto k = static_cast<std::size_t>(restored);
      if (k >= pipe_.restored_opened_.size()) {
        return absl::DataLossError(
            "state: a nested dataset's place is missing");
      }
      mark = pipe_.restored_opened_[k];
    } else if (!pipe_.restored_openings_.empty()) {
      mark = std::move(pipe_.restored_openings_.front());
      pipe_.restored_openings_.pop_front();
    }
    PS_ASSIGN_OR_RETURN(
        std::unique_ptr<Pipe> opened,
        pipe_.plan_nested(dataset, epoch, path, mark, pipe_.bounded));
    SequencerPipe::Input input;
    input.pipe = opened.get();
    input.tail =
        mark.snapshot ? mark : opened->take_first_mark().after(mark.skip);
    if (restored < 0) {
      auto opening = make_ref<Opening>(input.tail);
      pipe_.last_opening_->next.store(Ref<Opening>(opening).detach(),
                                      std::memory_order_release);
      pipe_.last_opening_ = std::move(opening);
    }
    std::size_t at = 0;
    while (at < pipe_.inputs_.size() &&
           (pipe_.inputs_[at].pipe != nullptr || pipe_.inputs_[at].closing)) {
      ++at;
    }
    if (at == pipe_.inputs_.size()) pipe_.inputs_.emplace_back();
    pipe_.inputs_[at] = std::move(input);
    const int number = static_cast<int>(at);
    pipe_.opened_.emplace_back(number, std::move(opened));
    return number;
  }

  std::optional<Turn> scripted() const override {
    if (pipe_.script_.empty()) return std::nullopt;
    return pipe_.script_.front();
  }

  void close(int i) override {
    auto& input = at(i);
    if (input.pipe == nullptr) return;
    input = {};
    input.ended = true;
    input.closing = true;
    pipe_.closed_.push_back(i);
  }

 private:
  SequencerPipe::Input& at(int i) const {
    return pipe_.inputs_[static_cast<std::size_t>(i)];
  }
  SequencerPipe& pipe_;
};

class PipeOutputs final : public Outputs {
 public:
  PipeOutputs(SequencerPipe& pipe, std::int64_t room, Charge& reservation)
      : pipe_(pipe), room_(room), reservation_(reservation) {}

  std::int64_t room() const override { return room_; }
  void emit(Rows rows) override {
    if (!rows.empty()) item.add(std::move(rows));
  }
  void emit_block(Block block) override {
    const std::int64_t bytes = block.byte_size();
    errors += static_cast<std::int64_t>(block.errors().size());
    made_bytes += bytes;
    emit(Rows(BlockRef(
        make_ref<SharedBlock>(std::move(block), reservation_.split(bytes)))));
  }
  void emit_error(Status status, Origin origin) override {
    auto error = std::make_shared<ElementError>();
    error->status = std::move(status);
    error->stage = pipe_.stage_->label;
    error->element = origin.to_string();
    Block block(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
    block.errors().emplace_back(0, std::move(error));
    ++errors;
    emit(Rows(BlockRef(make_ref<SharedBlock>(std::move(block)))));
  }
  void set_tag(std::int64_t tag) override { item.tag = tag; }
  void chose(const Turn& turn) override {
    pipe_.append_delivery(turn.ordinal, turn.rows);
    if (pipe_.script_.empty()) return;
    Turn& scripted = pipe_.script_.front();
    scripted.rows -= turn.rows;
    if (scripted.rows <= 0) pipe_.script_.pop_front();
  }
  void skipped(const ErrorRef& error) override { quarantined.push_back(error); }

  Item item;
  std::vector<ErrorRef> quarantined;
  std::int64_t errors = 0;
  std::int64_t made_bytes = 0;

 private:
  SequencerPipe& pipe_;
  const std::int64_t room_;
  Charge& reservation_;
};

class PipeSnapshot final : public SnapshotWriter {
 public:
  explicit PipeSnapshot(SequencerPipe& pipe) : pipe_(pipe) {
    for (int i = 0; i < pipe.traits_.num_inputs; ++i) {
      snapshot_->inputs.push_back(
          pipe.inputs_[static_cast<std::size_t>(i)].next());
    }
  }
  void set_input(int input, Mark mark) override {
    snapshot_->inputs[static_cast<std::size_t>(input)] = std::move(mark);
  }
  int add_opened(int input) override {
    return add_opened_mark(
        pipe_.inputs_[static_cast<std::size_t>(input)].next());
  }
  int add_opened_mark(Mark mark) override {
    snapshot_->opened.push_back(std::move(mark));
    return static_cast<int>(snapshot_->opened.size()) - 1;
  }
  Ref<const Snapshot> finish(bool at_start) {
    snapshot_->own = std::move(own).take();
    snapshot_->at_start = at_start;
    snapshot_->opening.set(pipe_.last_opening_);
    snapshot_->openings.assign(pipe_.restored_openings_.begin(),
                               pipe_.restored_openings_.end());
    if (pipe_.unordered_) {
      pipe_.append_delivery(0, 0);  // what follows hangs on it
      snapshot_->delivery.set(pipe_.last_delivery_);
    }
    return std::move(snapshot_);
  }

 private:
  SequencerPipe& pipe_;
  Ref<Snapshot> snapshot_ = make_ref<Snapshot>();
};

SequencerPipe::SequencerPipe(Run& run, std::shared_ptr<const Sequencer> op,
                             Stage* stage)
    : Pipe(run),
      op_(std::move(op)),
      traits_(op_->traits()),
      stage_(stage),
      held_(&run.account(), 0),
      holds_rows_(dynamic_cast<const HoldsRows*>(op_.get())),
      looks_ahead_(dynamic_cast<const LooksAhead*>(op_.get())) {
  if (traits_.user_code) run.note_user_code();
}

SequencerPipe::~SequencerPipe() { note_kept(0); }

void SequencerPipe::note_kept(std::int64_t bytes) {
  if (bytes != noted_kept_) run_.add_kept(bytes - noted_kept_);
  noted_kept_ = bytes;
}

void SequencerPipe::add_input(std::unique_ptr<Pipe> pipe, const Mark& mark) {
  Input input;
  input.pipe = pipe.get();
  input.tail = mark.snapshot ? mark : pipe->take_first_mark().after(mark.skip);
  inputs_.push_back(std::move(input));
  pipes_.push_back(std::move(pipe));
}

Status SequencerPipe::start(const SequencerContext& context, const Mark& mark) {
  input_specs_.assign(context.input_specs.begin(), context.input_specs.end());
  SequencerContext own = context;
  own.input_specs = input_specs_;
  unordered_ = !traits_.deterministic.value_or(run_.config().deterministic);
  own.unordered = unordered_;
  PS_ASSIGN_OR_RETURN(state_, op_->make_state(own));
  if (mark.snapshot) {
    Decoder decoder(mark.snapshot->own);
    restored_opened_ = mark.snapshot->opened;
    restored_openings_.assign(mark.snapshot->openings.begin(),
                              mark.snapshot->openings.end());
    mark.snapshot->opening.set(last_opening_);
    if (unordered_) {
      append_delivery(0, 0);
      mark.snapshot->delivery.set(last_delivery_);
      for (const auto& [ordinal, rows] : mark.snapshot->deliveries) {
        script_.push_back({ordinal, rows});
      }
    }
    PS_RETURN_IF_ERROR(op_->restore(*state_, decoder));
    PS_RETURN_IF_ERROR(
        decoder.status(absl::StrCat("state of ", stage_->label)));
    snapshot_ = mark.snapshot;
    bound_first_input();
    return absl::OkStatus();
  }
  bound_first_input();
  // Also where the inputs start from scratch: what is opened may keep no order,
  // and its beginnings hang on the snapshot.
  snapshot_ = take_snapshot(true);
  first_ = Mark{snapshot_, 0};
  return absl::OkStatus();
}

void SequencerPipe::append_delivery(std::int64_t ordinal, std::int64_t rows) {
  auto delivery = make_ref<Delivery>(ordinal, rows);
  if (last_delivery_) {
    last_delivery_->next.store(Ref<Delivery>(delivery).detach(),
                               std::memory_order_release);
  }
  last_delivery_ = std::move(delivery);
}

bool SequencerPipe::opened_has_news() const {
  for (auto i = static_cast<std::size_t>(traits_.num_inputs); i < pipes_.size();
       ++i) {
    if (pipes_[i] == nullptr) continue;
    if (pipes_[i]->out.ready_rows() > 0 ||
        (pipes_[i]->exhausted() && !inputs_[i].ended)) {
      return true;
    }
  }
  return false;
}

int SequencerPipe::active_inputs() const {
  int n = 0;
  for (auto i = static_cast<std::size_t>(traits_.num_inputs); i < pipes_.size();
       ++i) {
    n += pipes_[i] != nullptr && !pipes_[i]->idle() ? 1 : 0;
  }
  return n;
}

bool SequencerPipe::idle() const {
  if (running_) return false;
  for (const auto& pipe : pipes_) {
    if (pipe && !pipe->idle()) return false;
  }
  return true;
}

void SequencerPipe::refill(Input& input, std::int64_t wanted) {
  if (input.pipe == nullptr) return;
  Exchange& from = input.pipe->out;
  while (from.ready_rows() > 0 &&
         (input.rows < wanted ||
          (input.items.size() < kInboxItems && input.bytes < kInboxBytes))) {
    Item item = from.take(kUnlimited);
    input.rows += item.size;
    input.bytes += item.byte_size();
    input.items.push_back(std::move(item));
  }
  input.ended = input.pipe->exhausted();
}

// Behind a prefetch(n) demand bounds all inputs.
void SequencerPipe::bound_first_input() {
  if (!looks_ahead_ || bounded || pipes_.empty() || !pipes_[0]) return;
  const std::int64_t rows = looks_ahead_->rows_worth_having(*state_);
  pipes_[0]->out.limit =
      rows == LooksAhead::kAllRows
          ? kUnlimited
          : std::max<std::int64_t>(0, rows - inputs_[0].rows);
}

// A source and a function of the user make bytes that nobody has charged yet;
// the others pass rows on.
std::int64_t SequencerPipe::affordable_rows(const Demand& demand) const {
  const bool passes_on =
      !pipes_.empty() && (!traits_.user_code || bytes_per_row_ == 0);
  if (traits_.opens_inputs || passes_on) return kUnlimited;
  const std::int64_t available = run_.spendable(demand.critical);
  const auto rows = static_cast<std::int64_t>(static_cast<double>(available) /
                                              std::max(bytes_per_row_, 1.0));
  const bool reserve = demand.critical && out.ready_rows() == 0;
  return std::max<std::int64_t>(rows, reserve ? 1 : 0);
}

std::int64_t SequencerPipe::rows_for(std::int64_t outputs) const {
  const double rows = static_cast<double>(outputs) * need_.per_output;
  if (rows >= static_cast<double>(kUnlimited)) return need_.rows;
  return std::max(need_.rows, static_cast<std::int64_t>(rows) - need_.held);
}

std::int64_t SequencerPipe::made(int input) const {
  const auto i = static_cast<std::size_t>(input);
  return inputs_[i].rows + pipes_[i]->out.total_rows();
}

bool SequencerPipe::startable(std::size_t i) const {
  return traits_.max_active == 0 || active_inputs() < traits_.max_active ||
         i < static_cast<std::size_t>(traits_.num_inputs) || !pipes_[i]->idle();
}

bool SequencerPipe::find_rows(int input, std::int64_t rows, bool critical,
                              ClaimKind kind, Work& work) {
  const auto i = static_cast<std::size_t>(input);
  const Demand demand{rows - inputs_[i].rows, critical};
  return pipes_[i] != nullptr && startable(i) &&
         pipes_[i]->find(demand, kind, work);
}

bool SequencerPipe::find_in_turns(std::int64_t outputs, bool critical,
                                  ClaimKind kind, Work& work) {
  const TurnOrder& turns = *need_.turns;
  if (turns.cycle == 0) return find_drawn(outputs, critical, kind, work);
  if (turns.any_order) return find_in_any_order(outputs, kind, work);
  std::int64_t to_open = 0;
  for (std::size_t place = 0; place < turns.inputs.size(); ++place) {
    const std::int64_t rows = turns.rows_within(place, outputs);
    if (rows == 0) break;
    const int input = turns.inputs[place];
    const bool first = critical && place == 0;
    if (input == TurnOrder::kToOpen) {
      if (find_rows(0, ++to_open, first, kind, work)) return true;
    } else if (input != TurnOrder::kAtHand &&
               find_rows(input, rows, first, kind, work)) {
      return true;
    }
  }
  return turns.cycle == 1 && find_one_by_one(outputs, kind, work);
}

bool SequencerPipe::find_drawn(std::int64_t outputs, bool critical,
                               ClaimKind kind, Work& work) {
  // One that ends leaves its outputs to others, which nobody knows before.
  const std::vector<int>& drawn = need_.turns->inputs;
  const std::size_t n =
      std::min(drawn.size(), static_cast<std::size_t>(outputs));
  absl::InlinedVector<std::int64_t, 16> rows(pipes_.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (drawn[i] >= 0) ++rows[static_cast<std::size_t>(drawn[i])];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (drawn[i] < 0) continue;
    // All that it gives among those outputs, at the first of them.
    const std::int64_t of_input =
        std::exchange(rows[static_cast<std::size_t>(drawn[i])], 0);
    if (of_input > 0 &&
        find_rows(drawn[i], of_input, critical && i == 0, kind, work)) {
      return true;
    }
  }
  const std::vector<int>& by = need_.turns->next;
  return !by.empty() && find_rows(by.front(), outputs, false, kind, work);
}

bool SequencerPipe::find_one_by_one(std::int64_t outputs, ClaimKind kind,
                                    Work& work) {
  const TurnOrder& turns = *need_.turns;
  std::int64_t before = 0;
  if (turns.inputs.front() >= 0) {
    int last = turns.inputs.front();
    auto next = turns.next.begin();
    while (true) {
      if (!pipes_[static_cast<std::size_t>(last)]->no_more()) return false;
      before += made(last);
      if (before >= outputs) return false;
      if (next == turns.next.end()) break;
      last = *next++;
      if (find_rows(last, outputs - before, false, kind, work)) return true;
    }
  }
  const auto rest = static_cast<double>(outputs - before);
  const double to_open = std::clamp(rest * turns.opened_per_output, 1.0, rest);
  return find_rows(0, static_cast<std::int64_t>(to_open), false, kind, work);
}

bool SequencerPipe::find_in_any_order(std::int64_t outputs, ClaimKind kind,
                                      Work& work) {
  std::int64_t to_open = 0;
  std::int64_t left = outputs;
  for (const int input : need_.turns->inputs) {
    if (input == TurnOrder::kToOpen) ++to_open;
    if (input >= 0) left -= made(input);
  }
  left = std::max<std::int64_t>(left, 0);
  const auto inputs = static_cast<std::int64_t>(need_.turns->inputs.size());
  const std::int64_t each = std::max<std::int64_t>(1, outputs / inputs);
  for (const int input : need_.turns->inputs) {
    if (input < 0) continue;
    // Rows on their way may have been given back.
    const std::int64_t rows =
        std::min(std::max(each, made(input)), made(input) + left);
    if (find_rows(input, rows, false, kind, work)) return true;
  }
  to_open = std::min(to_open, left);
  return to_open > 0 && find_rows(0, to_open, false, kind, work);
}

bool SequencerPipe::find(const Demand& demand, ClaimKind kind, Work& work) {
  const std::int64_t allowed = allowance(demand, 0);
  const auto needed = static_cast<std::size_t>(need_.input);
  const bool waits_for_input =
      !ended_ && !running_ && need_.kind == Step::Kind::kNeed &&
      pipes_[needed] != nullptr && pipes_[needed]->out.ready_rows() == 0 &&
      !pipes_[needed]->exhausted() && !has_rows(need_.also) &&
      !(need_.any_opened && opened_has_news());
  // A source whose calls wait needs no core: it runs beside those that do.
  const bool waits = traits_.user_code && pipes_.empty() &&
                     stage_->blocking.load(std::memory_order_relaxed);
  const bool may_run = kind == ClaimKind::kCpu       ? run_.cpu_free() && !waits
                       : kind == ClaimKind::kElastic ? waits
                                                     : !traits_.user_code;
  const std::int64_t affordable = affordable_rows(demand);
  if (!ended_ && !running_ && !waits_for_input && may_run && allowed > 0 &&
      affordable > 0 && has_credit()) {
    if (work.dry_run) return true;
    running_ = true;
    critical_ = demand.critical && out.empty();
    room_ = std::min({allowed, affordable, run_.config().max_block_rows,
                      traits_.user_code     ? user_room_
                      : traits_.groups_rows ? kGroupedRoomRows
                                            : kRoomRows});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      refill(inputs_[i], i == needed ? need_.rows : 1);
    }
    if (wait_since_ != 0) {
      wait_input_ns_ += run_.claim_time() - wait_since_;
      wait_since_ = 0;
    }
    work.pipe = this;
    work.kind = kind;
    // For what the steps make; what they pass on is charged already.
    const double made =
        affordable == kUnlimited
            ? 0
            : std::min(bytes_per_row_ * static_cast<double>(room_),
                       static_cast<double>(run_.config().memory_budget));
    work.reservation = Charge(&run_.account(), static_cast<std::int64_t>(made));
    return true;
  }
  if (waits_for_input && wait_since_ == 0) wait_since_ = run_.claim_time();
  if (ended_) return false;
  // Upstream, the input waited for first. While a worker runs a step the inputs
  // are its own.
  const bool unbounded = allowed == kUnlimited;
  Demand upstream;
  if (waits_for_input) {
    upstream.critical = demand.critical && out.empty();
    if (!unbounded && need_.turns != nullptr) {
      if (allowed > 0 &&
          find_in_turns(allowed, upstream.critical, kind, work)) {
        return true;
      }
    } else {
      upstream.rows = unbounded ? kUnlimited
                      : allowed > 0
                          ? std::max<std::int64_t>(
                                0, rows_for(allowed) - inputs_[needed].rows)
                          : 0;
      if (startable(needed) && pipes_[needed]->find(upstream, kind, work)) {
        return true;
      }
    }
  }
  upstream.critical = false;
  upstream.rows = unbounded ? kUnlimited : 0;
  for (std::size_t k = 0; k < pipes_.size(); ++k) {
    const std::size_t i = (needed + k) % pipes_.size();
    if (pipes_[i] == nullptr || (waits_for_input && i == needed) ||
        !startable(i)) {
      continue;
    }
    if (!unbounded && traits_.side_by_side && !running_) {
      upstream.rows = std::max<std::int64_t>(0, allowed - inputs_[i].rows);
    }
    if (pipes_[i]->find(upstream, kind, work)) return true;
  }
  return false;
}

Ref<const Snapshot> SequencerPipe::take_snapshot(bool at_start) {
  PipeSnapshot writer(*this);
  op_->save(*state_, writer);
  return writer.finish(at_start);
}

void SequencerPipe::fail(Status status, Work& work, bool restore_failed) {
  auto error = std::make_shared<ElementError>();
  error->status = std::move(status);
  error->restore_failed = restore_failed;
  error->ends_stage = true;
  error->stage = stage_->label;
  Block block(nullptr, {}, 1, {});
  block.errors().emplace_back(0, std::move(error));
  Item item;
  item.mark = Mark{snapshot_, since_snapshot_};
  item.add(Rows(BlockRef(make_ref<SharedBlock>(std::move(block)))));
  work.emitted.push_back(std::move(item));
  work.step = Step::end();
}

// A window of positions alone may want more than the system has.
StatusOr<Step> SequencerPipe::take_step(Inputs& in, Outputs& out) {
  try {
    return op_->step(*state_, in, out);
  } catch (const std::bad_alloc&) {
    const std::string_view remedy = op_->memory_need(*state_).remedy;
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no memory for what it holds",
                     remedy.empty() ? "" : "; ", to_absl(remedy)));
  }
}

void SequencerPipe::run(Work& work) {
  const Clock& clock = run_.scheduler().clock();
  // CPU time is measured for long claims and for some of the others.
  work.sample = long_claims_ || (claims_ % kSampleSteps == 0 &&
                                 work.started - sampled_at_ >= kTimedApartNs);
  if (work.sample) sampled_at_ = work.started;
  ++claims_;
  const std::int64_t cpu_start = work.sample ? clock.thread_cpu() : 0;
  WorkCounters& counters = work_counters();
  counters = {};
  PipeInputs in(*this);
  UserCall call(run_.scheduler(), traits_.user_code, &run_, stage_);
  std::int64_t emitted = 0;
  std::int64_t bytes = 0;
  // Rows that move from the inputs to the state and on to the output are
  // charged all the time, and once.
  const Settlement settlement(run_.account());
  for (int i = 0; i < kMaxStepsPerClaim && !run_.cancelled(); ++i) {
    // A snapshot inside a script would have to hold the rest of it.
    if (script_.empty() &&
        (traits_.snapshot_interval == 0 ||
         since_snapshot_ >= traits_.snapshot_interval ||
         (since_snapshot_ == 0 && starts_from_scratch(*snapshot_)))) {
      snapshot_ = take_snapshot();
      since_snapshot_ = 0;
    }
    PipeOutputs out(*this, std::max<std::int64_t>(1, room_ - emitted),
                    work.reservation);
    const auto step = take_step(in, out);
    if (!step.ok()) {
      fail(step.status(), work);
      break;
    }
    work.step = *step;
    work.errors += out.errors;
    work.made_bytes += out.made_bytes;
    std::move(out.quarantined.begin(), out.quarantined.end(),
              std::back_inserter(work.quarantined));
    if (out.item.size > 0) {
      out.item.mark = Mark{snapshot_, since_snapshot_};
      since_snapshot_ += out.item.size;
      emitted += out.item.size;
      bytes += out.item.byte_size();
      work.emitted.push_back(std::move(out.item));
    }
    if (work.step.kind != Step::Kind::kMore) break;
    if (emitted >= room_ || bytes >= run_.soft_limit() / 2) break;
    if (traits_.user_code && emitted > 0 &&
        clock.now() - work.started > kUserStepsNs) {
      break;
    }
  }
  call.end();
  work.reservation.reset();
  held_.resize(op_->held_bytes(*state_));
  work.bytes = bytes;
  if (counters.any()) work.done.emplace_back(stage_, counters);
  work.finished = clock.now();
  if (work.sample) work.cpu_ns = clock.thread_cpu() - cpu_start;
  long_claims_ = work.finished - work.started > kLongClaimNs;
}

void SequencerPipe::complete(Work& work) {
  running_ = false;
  for (auto& [number, pipe] : opened_) {
    const auto i = static_cast<std::size_t>(number);
    if (pipes_.size() <= i) pipes_.resize(i + 1);
    pipes_[i] = std::move(pipe);
  }
  opened_.clear();
  for (int number : closed_) {
    const auto i = static_cast<std::size_t>(number);
    inputs_[i].closing = false;
    if (pipes_[i]) run_.retire(std::move(pipes_[i]));
  }
  closed_.clear();
  const std::int64_t kept =
      held_.bytes() + (holds_rows_ ? holds_rows_->row_bytes(*state_) : 0);
  // One that has rows to give may let them go.
  note_kept(work.step.kind == Step::Kind::kNeed ? kept : 0);
  std::int64_t made = 0;
  for (const Item& item : work.emitted) made += item.size;
  if (made > 0) {
    bytes_per_row_ =
        static_cast<double>(work.made_bytes) / static_cast<double>(made);
  }
  if (work.step.kind == Step::Kind::kNeed && run_.account().available() <= 0) {
    // Bytes that only this stage could let go, and it wants more of them. What
    // other inputs have ready goes out with what it waits for.
    const Input& waited = inputs_[static_cast<std::size_t>(work.step.input)];
    const std::int64_t inbox = waited.bytes;
    const std::int64_t held = kept + inbox;
    const std::int64_t budget = run_.config().memory_budget;
    // The consumer waits for this stage, so no other will let anything go.
    const bool alone = critical_ && work.emitted.empty() && held > 0;
    const std::int64_t all = run_.kept() + inbox;
    if (held >= budget || (alone && all >= budget)) {
      MemoryNeed need = op_->memory_need(*state_);
      if (need.bytes == 0) {
        need.bytes = scaled_bytes(inbox, work.step.rows, waited.rows);
      }
      fail(
          absl::ResourceExhaustedError(absl::StrCat(
              "holds ", held, " bytes ",
              held < budget ? absl::StrCat("(", all, " with the other stages) ")
                            : "",
              "and needs ",
              need.bytes > held ? absl::StrCat(need.bytes) : "more",
              ", but memory_budget is ", budget, " bytes; raise memory_budget",
              need.remedy.empty() ? "" : " or ", to_absl(need.remedy))),
          work);
    }
  }
  if (traits_.user_code && !work.emitted.empty()) {
    const std::int64_t elapsed = work.finished - work.started;
    if (elapsed < kUserClaimNs / 2) {
      user_room_ = std::min(2 * user_room_, kRoomRows);
    } else if (elapsed > kUserClaimNs && made >= room_) {
      // A step that gave less than it might, as one of a file gives a part of
      // what was read, takes as long with less room.
      user_room_ = std::max<std::int64_t>(1, user_room_ / 2);
    }
  }
  StageStats& stats = stage_->stats;
  ++stats.blocks;
  const std::int64_t elapsed_ns = work.finished - work.started;
  stats.busy_ns += elapsed_ns;
  if (work.sample && elapsed_ns > 0) {
    cpu_share_ =
        static_cast<double>(work.cpu_ns) / static_cast<double>(elapsed_ns);
    ++stats.cpu_samples;
  }
  stats.cpu_ns +=
      static_cast<std::int64_t>(cpu_share_ * static_cast<double>(elapsed_ns));
  for (const auto& [stage, done] : work.done) stage->stats.work.add(done);
  if (last) stats.bytes += work.bytes;
  stats.errors += work.errors;
  for (const ErrorRef& error : work.quarantined) {
    run_.quarantine(*error, false);
  }
  stats.max_parallelism = 1;
  for (Item& item : work.emitted) {
    if (last) stats.elements += item.size;
    const SlotRef slot = out.append(item.size);
    out.fill(slot, std::move(item), work.finished);
  }
  need_ = work.step;
  bound_first_input();
  if (need_.kind == Step::Kind::kEnd) {
    if (out.left_to_drop() > 0) {
      // The consumer had seen these elements once; ending quietly would lose
      // what followed them.
      Work missing;
      fail(absl::FailedPreconditionError(absl::StrCat(
               "cannot be restored: it ended ", out.left_to_drop(),
               " elements before the saved place; a source must give the same "
               "elements again")),
           missing, true);
      out.fill(out.append(1), std::move(missing.emitted.front()),
               work.finished);
    }
    ended_ = true;
    for (auto& pipe : pipes_) {
      if (pipe) run_.retire(std::move(pipe));
    }
    inputs_.clear();
    pipes_.clear();
    state_.reset();
    held_.reset();
    note_kept(0);
  }
}

void SequencerPipe::collect_stats(std::vector<PipeStats>& stats,
                                  std::int64_t now) const {
  for (const auto& pipe : pipes_) {
    if (pipe) pipe->collect_stats(stats, now);
  }
  stage_->stats.blocking = stage_->blocking.load(std::memory_order_relaxed);
  PipeStats pipe;
  pipe.stages = stage_->label;
  pipe.wait_input_ns =
      wait_input_ns_ + (wait_since_ != 0 ? now - wait_since_ : 0);
  pipe.wait_order_ns = out.order_wait();
  pipe.ready_bytes = out.ready_bytes();
  stats.push_back(std::move(pipe));
}

void SequencerPipe::explain(std::string& text,
                            const std::string& indent) const {
  for (std::size_t i = 0; i < pipes_.size(); ++i) {
    if (!pipes_[i]) continue;
    const bool branch = traits_.num_inputs > 1;
    pipes_[i]->explain(text, branch ? indent + "  " : indent);
  }
  absl::StrAppend(&text, indent, "sequencer ", stage_->label);
  if (out.limit != kUnlimited) {
    absl::StrAppend(&text, " at most ", out.limit, " ahead");
  }
  absl::StrAppend(&text, "\n");
}

void SequencerPipe::for_each_segment(
    const std::function<void(SegmentPipe&)>& visit) {
  for (const auto& pipe : pipes_) {
    if (pipe) pipe->for_each_segment(visit);
  }
}

void SequencerPipe::trace(const Work& work, TraceWriter& trace) const {
  std::int64_t rows = 0;
  for (const Item& item : work.emitted) rows += item.size;
  trace.add(TraceEvent::Kind::kStage, &stage_->label, work.started,
            work.finished, rows);
}

void SequencerPipe::running(std::vector<std::string>& labels) const {
  for (const auto& pipe : pipes_) {
    if (pipe) pipe->running(labels);
  }
  if (running_ && traits_.user_code) labels.push_back(stage_->label);
}

}  // namespace penstock
