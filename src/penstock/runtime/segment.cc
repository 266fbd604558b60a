// Segments: claims of consecutive rows, executed by any worker.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/graph/block_hint.h"
#include "penstock/memory/placement.h"
#include "penstock/memory/string_memory.h"
#include "penstock/runtime/pipe.h"

namespace penstock {
namespace {

// Work per block: long enough that a hand-over does not count (1 us where
// blocks follow each other closely, 10 to 20 between calls that take long:
// cpu_bound), short enough that workers share the tail of a stream evenly.
constexpr double kTargetNs = 2'000'000;
// Of longer calls a block takes this: who waits for the first would wait for
// the others of the block, too.
constexpr double kLongCallNs = 250'000;
constexpr double kLongCallsTargetNs = 1'000'000;
constexpr double kLeastTargetNs = 100'000;
// Handling a block costs each stage nearly a microsecond, so a long chain takes
// longer blocks: else its cost would grow with the square of its length.
constexpr double kTargetNsPerLink = 10'000;
constexpr double kTargetBytes = 256 * 1024;
// Stages that ask for longer blocks get as many times more bytes as these are
// longer than this.
constexpr double kByteScaleNs = 50'000;
constexpr double kMaxByteScale = 16;
// Of rows so large that each would be a block by itself; with one stage there
// is no other that would find them in the cache.
constexpr double kLargeRows = 8;
// Times as many bytes as else, if a block is a whole group then.
constexpr double kGroupBytes = 4;
constexpr std::int64_t kNativeFirstRows = 16;
constexpr std::size_t kMaxParts = 64;
// Parts of so many bytes are not joined: copying these costs what handling
// another block does.
constexpr std::int64_t kJoinedBytes = 64 * 1024;
// From here on pieces are joined row by row, not block by block.
constexpr std::int64_t kManyParts = 4;
constexpr std::int64_t kShortPart = 64;  // rows
constexpr std::int64_t kSampleEvery = 64;
// The first block is short and finds nothing in the cache: another one soon.
constexpr std::int64_t kSampleEarly = 8;
constexpr double kLongBlockNs = 1e6;
// Share of its time that a block which keeps its core is on the CPU.
constexpr double kKeptCore = 0.9;

Block error_block(std::int64_t rows, const Origins& origins,
                  const ErrorRef& error) {
  Block block(nullptr, {}, rows, origins);
  for (std::int64_t i = 0; i < rows; ++i) block.errors().emplace_back(i, error);
  return block;
}

using FirstBytes = absl::InlinedVector<const std::byte*, 4>;

// Where each column's first row lies.
FirstBytes first_bytes(const Block& block) {
  FirstBytes first;
  if (block.empty()) return first;
  for (const Column& column : block.columns()) {
    if (column.packed()) {
      first.push_back(column.tensor().data());
    } else if (!column.rows().empty()) {
      first.push_back(column.rows().front().data());
    }
  }
  return first;
}

// Bytes of the columns that are views of those which lay at `before`.
std::int64_t shared_bytes(const Block& block, const FirstBytes& before) {
  std::int64_t bytes = 0;
  for (const Column& column : block.columns()) {
    const std::byte* first = nullptr;
    if (column.packed()) {
      first = column.tensor().data();
    } else if (!column.rows().empty()) {
      first = column.rows().front().data();
    }
    if (first == nullptr) continue;
    if (std::find(before.begin(), before.end(), first) != before.end()) {
      bytes += column.byte_size();
    }
  }
  return bytes;
}

// Offers the rows' places in the batches they will become.
class BatchSink final : public RowSink {
 public:
  explicit BatchSink(const Work::BatchMemory& memory) : memory_(memory) {
    if (memory.empty()) return;
    placement_.dtype = memory.row_spec.dtype;
    placement_.shape = memory.row_spec.shape.to_shape();
  }
  Placement* offer(std::int64_t row) override {
    const auto& pieces = memory_.pieces;
    while (next_ < pieces.size() &&
           row >= pieces[next_].first + pieces[next_].count) {
      ++next_;
    }
    if (next_ == pieces.size()) return nullptr;
    const Work::BatchMemory::Piece& piece = pieces[next_];
    if (row < piece.first) return nullptr;
    placement_.buffer = piece.buffer;
    placement_.data = piece.buffer->data() +
                      (piece.offset + row - piece.first) * memory_.row_bytes;
    placement_.taken = false;
    return &placement_;
  }

 private:
  const Work::BatchMemory& memory_;
  std::size_t next_ = 0;
  Placement placement_;
};

}  // namespace

std::string SegmentPipe::label() const {
  std::string text;
  if (chain) {
    absl::StrAppend(&text, chain->base_stage->label);
    for (auto it = chain->maps.rbegin(); it != chain->maps.rend(); ++it) {
      absl::StrAppend(&text, " ", it->stage->label);
    }
  }
  for (const Link& link : links) {
    absl::StrAppend(&text, text.empty() ? "" : " ", link.stage->label);
  }
  return text.empty() ? "gather" : text;
}

bool SegmentPipe::no_more() const {
  if (!given_back_.empty()) return false;
  return from_index ? next_index >= end_index : input->exhausted();
}

bool SegmentPipe::idle() const {
  return active == 0 && (!input || input->idle());
}

std::int64_t SegmentPipe::block_rows() const {
  std::int64_t rows = rows_target_;
  if (rows == 0) {
    rows = user_code || bytes_per_row_ == 0
               ? granularity
               : std::min(kNativeFirstRows, static_cast<std::int64_t>(
                                                kTargetBytes / bytes_per_row_));
  }
  rows = std::min(rows, run_.config().max_block_rows);
  if (rows > align) {
    rows -= rows % align;
  } else if (2 * rows >= align && rows_target_ > 0 &&
             align <= run_.config().max_block_rows &&
             ns_per_row_ * static_cast<double>(align) < kLongBlockNs) {
    rows = align;  // half a group more costs less than joining two
  }
  if (granularity > 1) rows -= rows % granularity;
  return std::max(rows, granularity);
}

void SegmentPipe::account_wait(int reason) {
  if (reason == wait_reason_) return;
  const std::int64_t now = run_.claim_time();
  if (wait_reason_ != kNone) waits_[wait_reason_] += now - wait_since_;
  wait_reason_ = reason;
  wait_since_ = now;
}

bool SegmentPipe::find(const Demand& demand, ClaimKind kind, Work& work) {
  const std::int64_t extra = beyond_limit(demand);
  std::int64_t allowed = allowance(demand, extra);
  if (!script_.empty()) {
    // An order that is being repeated may want a later row first.
    const Scripted& last = script_.back();
    allowed = std::max(allowed, last.ordinal + last.rows - ordinal_);
  }
  const bool resume = !given_back_.empty();
  // What was given back was within bounds when it was claimed, and counts as on
  // its way; but with prefetch(0) no call starts while nobody waits.
  std::int64_t startable = allowed;
  if (resume && (out.limit != 0 || demand.rows > 0)) {
    const std::int64_t rest = given_back_.front().rest.rows.size();
    startable = std::max<std::int64_t>(1, allowance(demand, extra + rest));
  }
  const bool starved = !resume && (from_index ? next_index >= end_index
                                              : input->out.ready_rows() == 0);

  const bool nothing_coming = active == 0 && out.ready_rows() == 0;
  if (starved && !script_.empty() && no_more()) abandon_script();
  bool may_run = startable > 0 && !starved && (cap == 0 || active < cap);
  switch (kind) {
    case ClaimKind::kCpu:
      may_run = may_run && !blocking && run_.cpu_free();
      break;
    case ClaimKind::kElastic:
      may_run = may_run && blocking && active < width;
      break;
    case ClaimKind::kHelp:
      may_run = may_run && !user_code;
      break;
  }
  int reason = starved ? kInput : kNone;
  if (may_run && !has_credit()) {
    may_run = false;
    reason = kOutput;
  }
  if (may_run) {
    std::int64_t rows = block_rows();
    if (startable < kUnlimited / granularity) {
      rows = std::min(rows, startable * granularity);
    }
    const double per_row = bytes_to_claim();
    const std::int64_t available =
        run_.spendable(demand.critical) +
        (resume ? given_back_.front().charge.bytes() : 0);
    if (static_cast<double>(rows) * per_row > static_cast<double>(available)) {
      rows = static_cast<std::int64_t>(
          std::max(0.0, static_cast<double>(available)) / per_row);
      rows -= rows % granularity;
      if (rows < granularity) {
        rows = demand.critical && nothing_coming ? granularity : 0;
      }
    }
    if (rows > 0) {
      if (work.dry_run) return true;
      work.pipe = this;
      work.kind = kind;
      // One element that a spec says is larger will be refused when it is made.
      const double most = static_cast<double>(run_.config().memory_budget);
      work.reservation = Charge(
          &run_.account(), static_cast<std::int64_t>(std::min(
                               static_cast<double>(rows) * per_row, most)));
      if (resume) {
        claim_given_back(rows, work);
      } else if (!claim_input(rows, demand.critical, work)) {
        return false;  // find_work() looks again
      }
      work.sample =
          claims_ == 0 || claims_ == kSampleEarly ||
          (claims_ % kSampleEvery == 0 &&
           run_.claim_time() - sampled_at_ >= kTimedApartNs) ||
          ns_per_row_ * static_cast<double>(work.input_rows) > kLongBlockNs;
      if (work.sample) sampled_at_ = run_.claim_time();
      ++claims_;
      ++active;
      account_wait(kNone);
      return true;
    }
    reason = kMemory;
  }
  // Beside running calls, only a lack of memory keeps others from starting.
  if (active == 0 || reason == kMemory || wait_reason_ == kMemory) {
    account_wait(reason);
  }
  if (!input) return false;
  Demand upstream;
  upstream.rows = allowed >= kUnlimited / granularity
                      ? kUnlimited
                      : std::max<std::int64_t>(0, allowed) * granularity;
  upstream.critical = demand.critical && nothing_coming && starved;
  return input->find(upstream, kind, work);
}

Stage* SegmentPipe::last_stage() const {
  if (!links.empty()) return links.back().stage;
  return chain ? chain->base_stage : nullptr;
}

// The last blocks of a stream are shorter, so that all workers end together:
// none takes more than half of its share of what is left, down to where a
// hand-over would count.
std::int64_t SegmentPipe::last_rows(std::int64_t rows) const {
  const std::int64_t share =
      (end_index - next_index) / (2 * std::max(1, run_.cpu_budget()));
  if (rows <= share || ns_per_row_ == 0) return rows;
  const auto least = static_cast<std::int64_t>(kLeastTargetNs / ns_per_row_);
  std::int64_t n = std::max({share, least, std::int64_t{1}});
  n -= n % align;  // parts of a group are copied together
  return n > 0 ? std::min(rows, n) : rows;
}

bool SegmentPipe::claim_input(std::int64_t rows, bool critical, Work& work) {
  if (!ordered) rows = scripted_limit(rows);
  if (from_index) {
    std::int64_t n = last_rows(std::min(rows, end_index - next_index));
    // First blocks are short. The others are whole groups long, but must also
    // end where groups do, or each group would be joined from two of them.
    const std::int64_t over = (next_index + n) % align;
    if (ordered && n > over) n -= over;
    work.from_index = true;
    work.indices.path = chain->path;
    work.indices.begin = next_index;
    work.indices.count = n;
    work.input_rows = n;
    next_index += n;
  } else {
    input->out.take(rows, granularity, work.input);
    // Joining parts may copy them, so only small ones are worth it.
    while (input_ordered && work.input.size < rows / 4 &&
           work.input.byte_size() < kJoinedBytes &&
           input->out.ready_rows() > 0 && work.input.parts.size() < kMaxParts) {
      Item more = input->out.take(rows - work.input.size, granularity);
      for (Rows& part : more.parts) work.input.add(std::move(part));
    }
    work.input_rows = work.input.size;
  }
  work.expected_rows = (work.input_rows + granularity - 1) / granularity;
  if (ordered) {
    work.slot = out.append(work.expected_rows);
    if (into_batches) claim_batch_memory(work, critical);
    return true;
  }
  const std::int64_t first = ordinal_;
  ordinal_ += work.input_rows;
  Scripted* scripted = nullptr;
  if (!script_.empty() && script_.front().ordinal <= first) {
    scripted = &script_.front();
  }
  if (scripted == nullptr) {
    work.slot = out.append(work.expected_rows);
  } else {
    scripted->ordinal += work.input_rows;
    scripted->rows -= work.input_rows;
    const bool dropped = scripted->drop;
    work.slot = scripted->slot;
    if (scripted->rows == 0) {
      script_.pop_front();
    } else if (!dropped) {
      // The rest of the range follows it directly.
      scripted->slot = out.append_after(work.slot, 0);
      scripted->slot->scripted = true;
      ++scripted_pending_;
    }
    if (dropped) {
      close_claim(
          open_claims_.emplace(first, OpenClaim{work.input_rows, {}}).first);
      work = Work();
      run_.note_passed_over();
      return false;
    }
  }
  work.slot->ordinal = first;
  work.slot->input_rows = work.input_rows;
  open_claims_.emplace(first, OpenClaim{work.input_rows, input_mark(work)});
  return true;
}

bool SegmentPipe::only_checks() const {
  return !chain && !from_index &&
         std::all_of(links.begin(), links.end(),
                     [](const Link& l) { return l.traits.only_checks; });
}

Rows SegmentPipe::passed_on(const Work& work) const {
  if (!only_checks() || work.resumed || work.input.parts.size() != 1) return {};
  const Rows& rows = work.input.parts.front();
  return !rows.is_lazy() && rows.contiguous() ? rows : Rows();
}

// A block may end at any row, so the rest is a block like any other; only the
// link that makes groups of rows must have them whole.
bool SegmentPipe::may_give_back(std::size_t link) const {
  return granularity == 1 || (ordered && link > 0);
}

bool SegmentPipe::one_to_one(std::size_t begin, std::size_t end) const {
  return std::all_of(links.begin() + static_cast<std::ptrdiff_t>(begin),
                     links.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Link& link) { return link.traits.one_to_one; });
}

void SegmentPipe::claim_given_back(std::int64_t rows, Work& work) {
  GivenBack& first = given_back_.front();
  Work::Rest& rest = first.rest;
  // A place is named by the rows before it: those that come out, or those that
  // came in. Where neither number is known, one worker takes all.
  const bool by_output = one_to_one(rest.link, links.size());
  const bool by_input = granularity == 1 && one_to_one(0, rest.link);
  const std::int64_t all = rest.rows.size();
  const std::int64_t n =
      by_output || by_input ? std::min(rows / granularity, all) : all;
  work.slot = first.slot;
  work.resumed = rest;
  work.batch_memory = rest.batch_memory;
  work.input_rows = n * granularity;
  work.expected_rows = n;
  // Its batch memory is paid for already.
  Charge paid = first.charge.split(first.charge.bytes() / all * n);
  work.reservation.merge(paid,
                         std::max(work.reservation.bytes(), paid.bytes()));
  if (n == all) {
    given_back_.pop_front();
    return;
  }
  work.resumed->rows = rest.rows.slice(0, n);
  out.shorten(work.slot, n);
  first.slot = out.append_after(work.slot, all - n);
  if (!ordered) split_claim(*work.slot, n, *first.slot);
  rest.rows = rest.rows.slice(n, all);
  rest.input = rest.input.after(n);
  rest.mark = by_output ? rest.mark.after(n) : behind_filters(rest.input);
  rest.tag += n;
  rest.batch_memory = rest.batch_memory.behind(n);
}

Mark SegmentPipe::input_mark(const Work& work) const {
  if (!work.from_index) return work.input.mark;
  auto snapshot = make_ref<Snapshot>();
  Encoder own;
  own.i64(work.indices.begin);
  own.i64(chain->num_shards);
  own.i64(chain->period);
  snapshot->own = std::move(own).take();
  return Mark{std::move(snapshot), 0};
}

Mark SegmentPipe::behind_filters(Mark mark) const {
  for (int i = 0; i < filters; ++i) {
    auto snapshot = make_ref<Snapshot>();
    snapshot->at_start = true;  // filters have no state
    snapshot->inputs.push_back(std::move(mark));
    mark = Mark{std::move(snapshot), 0};
  }
  return mark;
}

// The input's mark is not needed any more.
Mark SegmentPipe::output_mark(Work& work) const {
  if (work.resumed) return work.resumed->mark;
  // Given when the place in the order is known.
  if (!ordered) return {};
  return behind_filters(work.from_index ? input_mark(work)
                                        : std::move(work.input.mark));
}

Mark SegmentPipe::take_first_mark() {
  if (!ordered) return std::move(first_);
  const Mark first = input ? input->take_first_mark() : Mark{};
  return first.snapshot ? behind_filters(first) : Mark{};
}

StatusOr<Block> SegmentPipe::materialize(Work& work) {
  std::vector<Block> blocks;
  if (work.from_index) {
    const StringMemoryScope strings(strings_for_caller ? string_memory()
                                                       : nullptr);
    PS_RETURN_IF_ERROR(chain->read(work.indices, run_.cancel_flag(), blocks));
  } else {
    const auto parts = static_cast<std::int64_t>(work.input.parts.size());
    if (parts >= kManyParts && work.input.size < kShortPart * parts &&
        !work.input.parts.front().is_lazy()) {
      return join_rows(work.input.parts);
    }
    if (parts == 1 && !work.input.parts.front().is_lazy()) {
      return work.input.parts.front().take_block();
    }
    for (Rows& part : work.input.parts) {
      if (!part.is_lazy()) {
        PS_ASSIGN_OR_RETURN(Block block, part.take_block());
        blocks.push_back(std::move(block));
        continue;
      }
      IndexRun run;
      run.path = chain->path;
      run.count = part.size();
      if (part.contiguous()) {
        run.begin = part.at(0);
      } else {
        std::vector<std::int64_t> list;
        list.reserve(static_cast<std::size_t>(part.size()));
        for (std::int64_t i = 0; i < part.size(); ++i) {
          list.push_back(part.at(i));
        }
        run.list =
            std::make_shared<const std::vector<std::int64_t>>(std::move(list));
      }
      PS_RETURN_IF_ERROR(chain->read(run, run_.cancel_flag(), blocks));
    }
  }
  if (blocks.size() == 1) return std::move(blocks.front());
  return join_blocks(blocks);
}

void SegmentPipe::run(Work& work) {
  const Clock& clock = run_.scheduler().clock();
  const std::int64_t cpu_start = work.sample ? clock.thread_cpu() : 0;
  const std::int64_t lock_start = LockWait::total_ns();

  Scheduler& scheduler = run_.scheduler();
  WorkCounters& counters = work_counters();
  counters = {};
  const auto file_counters = [&](Stage* stage) {
    if (!counters.any()) return;
    if (stage != nullptr) work.done.emplace_back(stage, counters);
    counters = {};
  };
  // The block that came in becomes the one that goes out, if it is whole.
  Ref<SharedBlock> shared;
  if (!work.resumed && !work.from_index && work.input.parts.size() == 1) {
    shared = work.input.parts.front().take_whole();
  }
  const bool in_place = bool(shared);
  Rows passed = in_place ? Rows() : passed_on(work);
  if (!in_place) shared = make_ref<SharedBlock>(Block());
  Block& block = shared->block;
  if (work.resumed) {
    block = std::move(work.resumed->rows);
  } else if (!in_place) {
    UserCall call(scheduler, chain && chain->user_code, &run_,
                  chain ? chain->base_stage : nullptr);
    auto read = materialize(work);
    call.end();
    file_counters(chain ? chain->base_stage : nullptr);
    if (read.ok()) {
      block = *std::move(read);
    } else {
      auto error = std::make_shared<ElementError>();
      error->status = read.status();
      if (chain) error->stage = chain->base_stage->label;
      block = error_block(work.input_rows, {}, error);
    }
  }

  CallContext context;
  context.epoch = epoch;
  context.cancel_flag = run_.cancel_flag();
  context.path = path;
  context.reservation = &work.reservation;
  context.replaced = &work.quarantined;
  context.tag = work.resumed      ? work.resumed->tag
                : work.from_index ? work.indices.begin
                                  : work.input.tag;
  std::int64_t mark_ns = work.started;
  const auto mark = [&] {
    const std::int64_t t = clock.now();
    work.stage_ns.push_back(t - mark_ns);
    mark_ns = t;
  };
  // A trace wants when stages ended, not what they cost the CPU.
  const bool marks = work.sample || work.tracer != nullptr;
  if (work.sample) work.stage_bytes.push_back(block.byte_size());
  if (marks) mark();
  const std::size_t errors_before = block.errors().size();
  std::optional<BatchSink> sink;
  if (!work.batch_memory.empty()) sink.emplace(work.batch_memory);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const bool last = i + 1 == links.size();
    if (work.resumed && i < work.resumed->link) {
      work.rows_out.push_back(0);
      if (work.sample) {
        work.stage_bytes.push_back(0);
        work.stage_shared.push_back(0);
      }
      if (marks) mark();
      continue;
    }
    context.overdue_flag =
        link.traits.may_stop && !work.left && may_give_back(i)
            ? scheduler.overdue()
            : nullptr;
    context.sink = last && sink ? &*sink : nullptr;
    context.stage = &link.stage->info;
    context.stage_salt = link.draws_for()->salt;
    const std::int64_t rows = block.size();
    const FirstBytes before = work.sample ? first_bytes(block) : FirstBytes();
    UserCall call(scheduler, link.traits.user_code, &run_, link.stage);
    Status status;
    if (!run_.cancelled()) status = link.transform->apply(block, context);
    call.end();
    if (!status.ok()) {
      auto error = context.error(std::move(status), block.origins().at(0));
      block = error_block(block.size(), block.origins(), error);
    }
    if (context.left) {
      const std::int64_t done = rows - context.left->size();
      const Mark from = work.resumed ? work.resumed->input : input_mark(work);
      work.left = Work::Rest{*std::exchange(context.left, std::nullopt),
                             i,
                             {},
                             from.after(done),
                             context.tag + done,
                             work.batch_memory.behind(done),
                             {}};
    }
    work.rows_out.push_back(block.size());
    file_counters(link.stage);
    if (work.sample) {
      work.stage_bytes.push_back(block.byte_size());
      work.stage_shared.push_back(shared_bytes(block, before));
    }
    if (marks) mark();
  }
  work.block_ns = take_asked_block_ns();
  work.output.mark = output_mark(work);
  work.output.tag = 0;
  work.bytes = block.byte_size();
  work.errors = static_cast<std::int64_t>(block.errors().size());
  work.passed_on = !passed.empty() && block.errors().size() == errors_before &&
                   work.bytes <= run_.config().memory_budget;
  if (work.bytes > run_.config().memory_budget) {
    refuse_oversized(block);
    work.bytes = block.byte_size();
    work.errors = static_cast<std::int64_t>(block.errors().size());
  }
  // Inputs are let go before the result is filed: their bytes are free then.
  Charge input_charge = std::move(shared->charge);
  work.input_bytes = work.input.byte_size() + input_charge.bytes();
  if (work.left) {
    std::int64_t paid = 0;
    for (const auto& piece : work.left->batch_memory.pieces) {
      paid += piece.count * work.left->batch_memory.row_bytes;
    }
    work.reservation.resize(work.bytes + paid);
    work.left_charge = work.reservation.split(paid);
  } else {
    work.reservation.merge(input_charge, work.bytes);
  }
  work.bytes += context.charged_bytes;
  if (work.passed_on) {
    work.reservation.reset();
    work.output.add(std::move(passed));
  } else if (!block.empty()) {
    shared->charge = std::move(work.reservation);
    work.output.add(Rows(BlockRef(std::move(shared))));
  }
  if (work.left) {
    work.left->mark = work.output.mark.after(work.output.size);
    work.left->keep = work.resumed ? std::move(work.resumed->keep)
                                   : std::move(work.input.parts);
    if (in_place) {
      work.left->keep.clear();
      work.left->keep.push_back(Rows(
          BlockRef(make_ref<SharedBlock>(Block(), std::move(input_charge)))));
    }
  }
  input_charge.reset();
  work.input.parts.clear();
  if (work.resumed) work.resumed->keep.clear();
  if (sink) work.batch_memory = {};
  work.finished = clock.now();
  work.lock_wait_ns = LockWait::total_ns() - lock_start;
  if (work.sample) work.cpu_ns = clock.thread_cpu() - cpu_start;
}

void SegmentPipe::learn(const Work& work) {
  const std::int64_t left = work.left ? work.left->rows.size() : 0;
  const auto rows = static_cast<double>(
      std::max<std::int64_t>(1, work.input_rows - left * granularity));
  double ns =
      static_cast<double>(work.finished - work.started - work.lock_wait_ns) /
      rows;
  // A block during which the thread lost its core says little; one that was
  // given back says that the rows are not what they were.
  const bool anew = ns_per_row_ == 0 || work.left;
  if (!anew) ns = std::min(ns, 4 * ns_per_row_);
  const double bytes = static_cast<double>(work.bytes) / rows;
  const double weight = anew ? 1.0 : 0.25;
  ns_per_row_ += weight * (ns - ns_per_row_);
  bytes_per_row_ += weight * (bytes - bytes_per_row_);
  if (filters > 0 && work.output.size > 0) {
    const double kept = static_cast<double>(work.bytes) /
                        static_cast<double>(work.output.size * granularity);
    bytes_per_kept_row_ += weight * (kept - bytes_per_kept_row_);
  }
  if (work.sample && !work.resumed) {
    // What it read is held by nobody else; what it was given is.
    double most = 0;
    for (std::size_t i = 0; i + 1 < work.stage_bytes.size(); ++i) {
      const auto from = static_cast<double>(work.stage_bytes[i]);
      const auto to = static_cast<double>(work.stage_bytes[i + 1]);
      // A view of what came in is no more bytes.
      const auto seen = static_cast<double>(work.stage_shared[i]);
      most = std::max(most, i > 0 || chain ? from + to - seen : to);
    }
    // Stages before the one that gave rows back had them all.
    const double passing =
        std::max(0.0, most - static_cast<double>(work.bytes)) /
        static_cast<double>(work.input_rows);
    passing_per_row_ = std::max(passing, (passing_per_row_ + passing) / 2);
  }
  Stage* const stage = last_stage();
  if (stage != nullptr && !work.passed_on) {
    // Not written without need: the other cores have it in their caches.
    if (stage->bytes_per_row.load(std::memory_order_relaxed) !=
        bytes_per_row_) {
      stage->bytes_per_row.store(bytes_per_row_, std::memory_order_relaxed);
    }
    const auto least = static_cast<double>(granularity);
    const double made = bytes * least;
    const double taken = static_cast<double>(work.input_bytes) / rows * least;
    run_.note_step(stage, made + passing_per_row_ * least + taken, made);
  }
  const double target_ns =
      std::max({ns_per_row_ < kLongCallNs ? kTargetNs : kLongCallsTargetNs,
                static_cast<double>(work.block_ns),
                kTargetNsPerLink * static_cast<double>(links.size())});
  const double byte_scale =
      std::clamp(work.block_ns / kByteScaleNs, 1.0, kMaxByteScale);
  const double by_time = target_ns / std::max(ns_per_row_, 0.01);
  double by_bytes =
      std::max(byte_scale * kTargetBytes / std::max(bytes_per_row_, 1.0),
               links.size() == 1 ? kLargeRows : 1.0);
  // A whole group is handed on as it lies, parts of one are copied together.
  const auto group = static_cast<double>(align);
  if (links.size() <= 1 && group <= std::min(by_time, kGroupBytes * by_bytes)) {
    by_bytes = std::max(by_bytes, group);
  }
  const double target = std::min(by_time, by_bytes);
  const double grown = 2.0 * rows;
  const std::int64_t rounded =
      static_cast<std::int64_t>(std::min(target, grown) + 0.5);
  rows_target_ = std::max(granularity, rounded);
}

void SegmentPipe::complete(Work& work) {
  --active;
  ++completed_calls;
  learn(work);
  if (into_batches && work.output.size > 0) {
    learn_row_shape(work.output.parts.front().block());
  }
  for (const ErrorRef& error : work.quarantined) {
    run_.quarantine(*error, true);
  }
  const std::int64_t elapsed = work.finished - work.started;
  unshared_ns_ += elapsed;
  const std::int64_t given_back = work.left ? work.left->rows.size() : 0;
  const std::int64_t done =
      std::max<std::int64_t>(1, work.input_rows - given_back * granularity);
  unshared_rows_ += done;
  if (chain && chain->base_stage != nullptr && !work.resumed) {
    StageStats& stats = chain->base_stage->stats;
    stats.elements += work.input_rows;
    ++stats.blocks;
    if (active >= stats.max_parallelism) stats.max_parallelism = active + 1;
    for (const IndexChain::Map& map : chain->maps) {
      map.stage->stats.elements += work.input_rows;
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    StageStats& stats = links[i].stage->stats;
    if (links[i].last) stats.elements += work.rows_out[i];
    for (Stage* stage : links[i].joined) {
      stage->stats.elements += work.rows_out[i];
    }
    ++stats.blocks;
    if (active >= stats.max_parallelism) stats.max_parallelism = active + 1;
  }
  for (const auto& [stage, counters] : work.done) {
    stage->stats.work.add(counters);
  }
  if (work.sample && elapsed > 0) {
    for (std::size_t i = 0; i < work.stage_bytes.size(); ++i) {
      if (i == 0 && (!chain || work.resumed)) continue;
      StageStats& stats =
          i == 0 ? chain->base_stage->stats : links[i - 1].stage->stats;
      stats.sampled_rows += i == 0 ? work.input_rows : work.rows_out[i - 1];
      stats.sampled_bytes += work.stage_bytes[i];
    }
    shares_.clear();
    for (const std::int64_t ns : work.stage_ns) {
      shares_.push_back(static_cast<double>(ns) / static_cast<double>(elapsed));
    }
    cpu_ns_per_row_ =
        static_cast<double>(work.cpu_ns) / static_cast<double>(done);
    const bool kept_core = static_cast<double>(work.cpu_ns) >
                           kKeptCore * static_cast<double>(elapsed);
    if (kept_core || cpu_shares_.empty()) cpu_shares_ = shares_;
    for (const Link& link : links) ++link.stage->stats.cpu_samples;
    share_time();
  }
  if (!links.empty()) {
    if (links.back().last) links.back().stage->stats.bytes += work.bytes;
    if (work.errors > 0) links.back().stage->stats.errors += work.errors;
  } else if (chain) {
    chain->base_stage->stats.bytes += work.bytes;
  }
  if (work.left) {
    const std::int64_t left = work.left->rows.size();
    out.shorten(work.slot, work.output.size);
    const SlotRef rest = out.append_after(work.slot, left);
    if (!ordered) split_claim(*work.slot, work.input_rows - left, *rest);
    given_back_.push_front(
        {rest, *std::move(work.left), std::move(work.left_charge)});
  }
  // Until an order that is being repeated is through, nothing may overtake.
  const bool overtake = !ordered && scripted_pending_ == 0;
  if (work.slot->scripted) --scripted_pending_;
  out.fill(work.slot, std::move(work.output), work.finished, overtake);
}

}  // namespace penstock
