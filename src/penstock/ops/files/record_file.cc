// One file cut into records: a sequencer without inputs.
//
// A step reads at most once and emits at most 256 KiB of records, so what is
// ready is handed on. It waits for the disk, so it counts as code that may
// block. State: offset and number of the next record; a restore seeks there,
// through a compressed stream by decompressing what lies before. A record that
// is refused is passed over without being held; until its end is found it is
// the next record.
#include "penstock/ops/files/record_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/io/http.h"
#include "penstock/ops/files/byte_stream.h"
#include "penstock/ops/files/packing.h"
#include "penstock/ops/flat_map/flat_map.h"

namespace penstock::ops {
namespace {

constexpr std::size_t kRead = std::size_t{1} << 20;
constexpr std::size_t kRemoteRead = std::size_t{8} << 20;
constexpr std::int64_t kStepBytes = 256 * 1024;
constexpr std::int64_t kStepRows = 4096;

struct Reading final : SequencerState {
  const StageInfo* stage = nullptr;
  PathRef path;

  bool opened = false;  // once, perhaps before a restore
  std::int64_t offset = 0;
  std::int64_t record = 0;

  std::unique_ptr<ByteStream> stream;
  Ref<Buffer> buffer;
  std::size_t begin = 0;  // of what is not yet cut
  std::size_t end = 0;
  bool at_end = false;
  bool jumped = false;
  bool passing_rest = false;  // the records have ended, the stream has not
  Status failed;  // of the stream, once what came before is handed on
  SplitOutput cut;
  std::vector<std::string_view> values;
};

Spec spec_of_records(const RecordFormat& format) {
  Spec record = Spec::tensor(DType::kString, PartialShape(Shape{}));
  if (!format.with_offsets) return record;
  return Spec::tuple(
      {record, Spec::tensor(DType::kInt64, PartialShape(Shape{}))});
}

class RecordFile final : public SequencerOp {
 public:
  RecordFile(RecordFormatRef format, std::string path)
      : format_(std::move(format)),
        path_(std::move(path)),
        spec_(spec_of_records(*format_)) {}

  std::string_view op() const override { return format_->op; }
  std::string describe() const override {
    return absl::StrCat(format_->op, "(", quoted_name(path_), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(format_->identity);
    fp.add(path_);
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
    state->path = OriginPath::of_file(context.path, path_);
    return state;
  }

  StatusOr<Step> step(SequencerState& s, Inputs&, Outputs& out) const override {
    auto& state = s.as<Reading>();
    if (!state.stream) {
      const Status status = open(state);
      if (!status.ok()) return last_error(state, out, status);
      state.opened = true;
      return Step::more();
    }
    if (state.passing_rest) return pass_rest(state, out);
    state.cut.clear();
    SplitInput in;
    in.bytes = {chars(state) + state.begin, state.end - state.begin};
    in.offset = state.offset;
    in.record = state.record;
    in.at_end = state.at_end;
    in.max_rows = std::min(out.room(), kStepRows);
    in.max_payload = kStepBytes;
    in.max_record_bytes = format_->max_record_bytes;
    if (state.begin < state.end || state.at_end) {
      in.jumped = std::exchange(state.jumped, false);
      format_->splitter->split(in, state.cut);
    }
    emit(state, in, out);
    state.begin += state.cut.consumed;
    state.offset += static_cast<std::int64_t>(state.cut.consumed);
    state.record += static_cast<std::int64_t>(state.cut.rows.size());
    if (state.cut.stop) {
      const auto& rows = state.cut.rows;
      const bool whole = rows.empty() || rows.back().error.ok();
      state.passing_rest = whole && state.stream->compressed() && !state.at_end;
      return state.passing_rest ? Step::more() : Step::end();
    }
    if (state.cut.jump >= 0) {
      const Status status = jump(state);
      if (!status.ok()) return last_error(state, out, status);
      return Step::more();
    }
    if (!state.cut.rows.empty()) return Step::more();
    const bool passing = state.cut.passing.active;
    if (state.at_end && state.begin == state.end && !passing) {
      return Step::end();
    }
    if (state.at_end && state.cut.consumed == 0) {
      return internal_error(format_->op, ": bytes are left at the end of '",
                            path_, "'");
    }
    if (state.at_end) return Step::more();
    if (!state.failed.ok()) return last_error(state, out, state.failed);
    const Status status = fill(state);
    if (!status.ok()) return last_error(state, out, status);
    return Step::more();
  }

  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Reading>();
    writer.own.boolean(state.opened);
    const SplitPassing& passing = state.cut.passing;
    // Below zero: the record there was refused and counted, and the next one is
    // being looked for.
    writer.own.i64(!passing.active ? state.offset
                   : passing.told  ? -1 - passing.begin
                                   : passing.begin);
    writer.own.i64(state.record);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Reading>();
    state.opened = own.boolean();
    state.offset = own.i64();
    state.record = own.i64();
    if (state.offset < 0) {
      const std::int64_t begin = -1 - state.offset;
      state.cut.passing.start(begin, absl::OkStatus());
      state.cut.passing.told = true;
      state.offset = begin == INT64_MAX ? begin : begin + 1;
    }
    if (state.record < 0) own.fail();
    return own.status(format_->op);
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    const auto& state = s.as<Reading>();
    return state.buffer ? static_cast<std::int64_t>(state.buffer->capacity())
                        : 0;
  }

 private:
  static char* chars(const Reading& state) {
    return state.buffer ? reinterpret_cast<char*>(
                              const_cast<Buffer*>(state.buffer.get())->data())
                        : nullptr;
  }

  Status open(Reading& state) const {
    PS_ASSIGN_OR_RETURN(state.stream,
                        ByteStream::open(*format_->fs, path_,
                                         format_->compression, format_->plain));
    if (state.offset > 0) return state.stream->skip_to(state.offset);
    return absl::OkStatus();
  }

  /// What follows the records of a compressed stream is padding, and a checksum
  /// of them all.
  StatusOr<Step> pass_rest(Reading& state, Outputs& out) const {
    if (!state.failed.ok()) return last_error(state, out, state.failed);
    state.begin = state.end = 0;
    const Status status = fill(state);
    if (!status.ok()) return last_error(state, out, status);
    return state.at_end ? Step::end() : Step::more();
  }

  /// Goes on where the splitter asked to, if the stream is that long.
  Status jump(Reading& state) const {
    PS_ASSIGN_OR_RETURN(state.jumped,
                        state.stream->jump(state.cut.jump, state.offset));
    if (state.jumped) state.offset = state.cut.jump;
    state.begin = state.end = 0;
    return absl::OkStatus();
  }

  /// Reads on, behind what is not yet cut.
  Status fill(Reading& state) const {
    const std::size_t kept = state.end - state.begin;
    std::size_t wanted = state.stream->remote() ? kRemoteRead : kRead;
    if (const std::int64_t left = state.stream->left(); left >= 0) {
      // Small files get small buffers.
      wanted = std::min(wanted, static_cast<std::size_t>(left) + 1);
    }
    // What is left of the last read is part of it: a little more than a power
    // of two would take memory of the next one.
    if (kept < wanted / 2) wanted -= kept;
    std::size_t capacity = kept + wanted;
    if (kept >= wanted) {  // of a record of unknown length
      const auto limit = static_cast<std::size_t>(format_->max_record_bytes);
      capacity = kept + std::max(wanted, std::min(kept, limit + 2 - kept));
    }
    if (state.cut.needed > kept) capacity = std::max(state.cut.needed, wanted);
    if (const std::int64_t left = state.stream->left();
        left >= 0 && capacity > kept + static_cast<std::size_t>(left)) {
      capacity = kept + static_cast<std::size_t>(left) + 1;
    }
    // Views of the old buffer may be in use: it is written again only if not.
    if (!state.buffer || state.buffer->size() < capacity ||
        !state.buffer->unique()) {
      Ref<Buffer> fresh = Buffer::allocate(capacity);
      if (!fresh) {
        return absl::ResourceExhaustedError(
            absl::StrCat("no memory for a buffer of ", capacity, " bytes"));
      }
      if (kept > 0) {
        std::memcpy(fresh->data(), chars(state) + state.begin, kept);
      }
      state.buffer = std::move(fresh);
    } else if (kept > 0 && state.begin > 0) {
      std::memmove(chars(state), chars(state) + state.begin, kept);
    }
    state.begin = 0;
    state.end = kept;
    const auto read = state.stream->read(chars(state) + kept, capacity - kept);
    if (!read.ok()) return read.status();
    state.end += *read;
    if (*read < capacity - kept) {
      // The end, or a damaged stream: only another read tells.
      char probe = 0;
      const auto more = state.stream->read(&probe, 1);
      if (more.ok() && *more == 0) {
        state.at_end = true;
      } else if (!more.ok()) {
        state.failed = more.status();
      } else {
        chars(state)[state.end++] = probe;
      }
    }
    return absl::OkStatus();
  }

  StatusOr<Block::Columns> columns_of(Reading& state,
                                      const SplitInput& in) const {
    const auto& rows = state.cut.rows;
    state.values.clear();
    for (const SplitRow& row : rows) {
      state.values.push_back(in.bytes.substr(row.begin, row.size));
    }
    Block::Columns columns;
    PS_ASSIGN_OR_RETURN(Column records,
                        strings_column(state.values, state.buffer));
    columns.push_back(std::move(records));
    if (!format_->with_offsets) return columns;
    PS_ASSIGN_OR_RETURN(Tensor offsets,
                        Tensor::allocate<std::int64_t>(
                            Shape{static_cast<std::int64_t>(rows.size())}));
    const auto to = offsets.mutable_as<std::int64_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      to[i] = in.offset + static_cast<std::int64_t>(rows[i].begin);
    }
    columns.emplace_back(std::move(offsets));
    return columns;
  }

  void emit(Reading& state, const SplitInput& in, Outputs& out) const {
    const auto& rows = state.cut.rows;
    if (rows.empty()) return;
    Block block;
    auto columns = columns_of(state, in);
    const auto n = static_cast<std::int64_t>(rows.size());
    const Origins origins(state.path, state.record);
    const Status whole = columns.status();
    if (whole.ok()) {
      block = Block(spec_.structure(), *std::move(columns), n, origins);
    } else {
      block = Block(nullptr, {}, n, origins);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const Status& status =
          whole.ok() ? rows[static_cast<std::size_t>(i)].error : whole;
      if (!status.ok()) {
        block.errors().emplace_back(i, error(state, status, state.record + i));
      }
    }
    out.emit_block(std::move(block));
  }

  ErrorRef error(const Reading& state, const Status& status,
                 std::int64_t record) const {
    auto error = std::make_shared<ElementError>();
    error->status = annotate(status, quoted_name(path_) + ": ");
    error->stage = state.stage->to_string();
    error->element = Origin{state.path, record}.to_string();
    return error;
  }

  StatusOr<Step> last_error(Reading& state, Outputs& out,
                            const Status& status) const {
    if (!state.cut.passing.error.ok()) {
      Block refused(nullptr, {}, 1, Origins(state.path, state.record));
      refused.errors().emplace_back(
          0, error(state, state.cut.passing.error, state.record));
      out.emit_block(std::move(refused));
      state.record += 1;
      state.cut.passing = {};
    }
    Block block(nullptr, {}, 1, Origins(state.path, state.record));
    auto made =
        std::make_shared<ElementError>(*error(state, status, state.record));
    made->restore_failed = state.opened && !state.stream;
    made->ends_source = true;
    block.errors().emplace_back(0, std::move(made));
    out.emit_block(std::move(block));
    state.record += 1;
    return Step::end();
  }

  const RecordFormatRef format_;
  const std::string path_;
  const Spec spec_;
};

class OpenFile final : public DatasetFunction {
 public:
  explicit OpenFile(RecordFormatRef format) : format_(std::move(format)) {}
  StatusOr<NodeRef> call(const Element& element) const override {
    if (element.size() != 1 || element[0].dtype() != DType::kString ||
        element[0].rank() != 0) {
      return invalid_argument("files must be strings, got ",
                              Spec::of(element).to_string());
    }
    return Node::make(make_record_file(format_, std::string(element[0].str())),
                      {});
  }
  StatusOr<Spec> output_spec(const Spec&) const override {
    return spec_of_records(*format_);
  }
  std::string identity() const override {
    return absl::StrCat(format_->op, ":", format_->identity);
  }

 private:
  const RecordFormatRef format_;
};

class RecordFiles final : public Operator {
 public:
  RecordFiles(RecordFormatRef format, RecordParts parts, int max_parallel)
      : format_(std::move(format)),
        parts_(std::move(parts)),
        max_parallel_(max_parallel) {}

  std::string_view op() const override { return format_->op; }
  std::string describe() const override {
    return absl::StrCat(format_->op, parts_.arguments);
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    const Spec& files = inputs[0];
    if (files.known() &&
        (files.leaves().size() != 1 || !files.structure()->is_leaf() ||
         (files.leaves()[0].dtype != DType::kString &&
          files.leaves()[0].dtype != DType::kInvalid) ||
         !PartialShape::compatible(files.leaves()[0].shape,
                                   PartialShape(Shape{})))) {
      return invalid_argument("files must be a dataset of strings, got ",
                              files.to_string());
    }
    return parts_.spec;
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return nested_cardinality(in[0]);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(format_->identity);
    fp.add(parts_.arguments);
  }
  std::string_view why_in_order() const override { return parts_.in_order; }
  std::vector<Part> lower() const override {
    std::vector<Part> parts =
        nested_parts(std::make_shared<OpenFile>(format_), max_parallel_, {});
    if (parts_.transform) parts.push_back({.transform = parts_.transform});
    return parts;
  }
  bool cheap() const override { return false; }

 private:
  const RecordFormatRef format_;
  const RecordParts parts_;
  const int max_parallel_;
};

}  // namespace

std::shared_ptr<const Operator> make_record_file(RecordFormatRef format,
                                                 std::string path) {
  return std::make_shared<RecordFile>(std::move(format), std::move(path));
}

StatusOr<std::shared_ptr<const Operator>> make_record_files(
    RecordFormatRef format, RecordParts parts, int max_parallel) {
  if (format->max_record_bytes < 1) {
    return invalid_argument(format->op, ": max_record_bytes must be >= 1, got ",
                            format->max_record_bytes);
  }
  return std::make_shared<RecordFiles>(std::move(format), std::move(parts),
                                       max_parallel);
}

}  // namespace penstock::ops
