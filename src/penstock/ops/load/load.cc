// save and load: a dataset in a directory of block files.
//
// load is an indexed source: it knows spec and cardinality from the metadata
// and reads blocks in parallel, in any order. Element i is found by taking one
// element of each shard in turn, shards that have ended left out; so elements
// that were saved in turns come back in their order. A damaged block is
// DataLoss in place of its elements.
#include "penstock/ops/load/load.h"

#include <algorithm>
#include <random>

#include "penstock/io/saved_spec.h"

namespace penstock::ops {
namespace {

constexpr char kMetadata[] = "/dataset.metadata";
constexpr std::int64_t kRowsPerFlush = 256;

struct SavedShard {
  std::string file;
  std::int64_t rows = 0;
};

struct Saved {
  Spec spec;
  std::vector<SavedShard> shards;
};

std::string encode_saved(const Saved& saved) {
  Encoder out;
  encode_spec(saved.spec, out);
  out.u64(saved.shards.size());
  for (const SavedShard& shard : saved.shards) {
    out.bytes(shard.file);
    out.i64(shard.rows);
  }
  return std::move(out).take();
}

StatusOr<Saved> decode_saved(std::string_view bytes) {
  Decoder in(bytes);
  Saved saved;
  PS_ASSIGN_OR_RETURN(saved.spec, decode_spec(in));
  const std::size_t n = in.count(2);
  for (std::size_t i = 0; i < n; ++i) {
    SavedShard shard{std::string(in.bytes()), in.i64()};
    if (shard.rows < 0 || shard.file.empty() ||
        shard.file.find('/') != std::string::npos) {
      in.fail();
    }
    saved.shards.push_back(std::move(shard));
  }
  PS_RETURN_IF_ERROR(in.status("metadata of a saved dataset"));
  return saved;
}

// Which shard and row element i is.
class RoundRobin {
 public:
  explicit RoundRobin(const std::vector<std::int64_t>& rows) {
    std::vector<std::int64_t> lengths = rows;
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    std::int64_t from = 0;
    for (std::int64_t to : lengths) {
      if (to == from) continue;
      // In rounds [from, to) the same shards take part.
      Phase phase{size_, from, {}};
      for (std::size_t s = 0; s < rows.size(); ++s) {
        if (rows[s] >= to) phase.shards.push_back(s);
      }
      size_ += (to - from) * static_cast<std::int64_t>(phase.shards.size());
      phases_.push_back(std::move(phase));
      from = to;
    }
  }
  std::int64_t size() const { return size_; }
  std::pair<std::size_t, std::int64_t> at(std::int64_t i) const {
    const auto after = std::upper_bound(
        phases_.begin(), phases_.end(), i,
        [](std::int64_t index, const Phase& p) { return index < p.begin; });
    const Phase& phase = *std::prev(after);
    const auto width = static_cast<std::int64_t>(phase.shards.size());
    const std::int64_t offset = i - phase.begin;
    return {phase.shards[static_cast<std::size_t>(offset % width)],
            phase.round + offset / width};
  }

 private:
  struct Phase {
    std::int64_t begin;  // index of its first element
    std::int64_t round;
    std::vector<std::size_t> shards;
  };
  std::vector<Phase> phases_;
  std::int64_t size_ = 0;
};

class Load final : public IndexedSourceOp {
 public:
  Load(std::string path, Spec spec, std::string identity,
       std::vector<std::shared_ptr<const BlockFile>> shards, RoundRobin order)
      : path_(std::move(path)),
        spec_(std::move(spec)),
        identity_(std::move(identity)),
        shards_(std::move(shards)),
        order_(std::move(order)) {}

  std::string_view op() const override { return "load"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("load('", path_, "')");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return order_.size();
  }
  void add_to(Fingerprint& fp) const override { fp.add(identity_); }
  std::int64_t size() const override { return order_.size(); }
  bool in_memory() const override { return false; }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    std::vector<Block> blocks;
    for (std::int64_t i = 0; i < run.count;) {
      const auto [shard, row] = order_.at(run.at(i));
      const BlockFile& file = *shards_[shard];
      const std::size_t number = file.find(row);
      // Rows that follow each other in one block go together.
      std::int64_t n = 1;
      const std::int64_t end = file.end(number);
      for (; i + n < run.count && row + n < end; ++n) {
        const auto next = order_.at(run.at(i + n));
        if (next.first != shard || next.second != row + n) break;
      }
      auto block = file.block(number);
      if (block.ok()) {
        const std::int64_t at = row - file.begin(number);
        blocks.push_back((*block)->block.slice(at, at + n));
      } else {
        Block failed(nullptr, {}, n, {});
        for (std::int64_t k = 0; k < n; ++k) {
          failed.errors().emplace_back(
              k, context.error(block.status(), {run.path, run.at(i + k)}));
        }
        blocks.push_back(std::move(failed));
      }
      i += n;
    }
    PS_ASSIGN_OR_RETURN(out, join_blocks(blocks));
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const Spec spec_;
  const std::string identity_;
  const std::vector<std::shared_ptr<const BlockFile>> shards_;
  const RoundRobin order_;
};

}  // namespace

StatusOr<std::unique_ptr<DatasetWriter>> DatasetWriter::create(
    FileSystem& fs, const std::string& path) {
  if (path.empty()) {
    return invalid_argument("path must not be empty, got ''");
  }
  PS_RETURN_IF_ERROR(fs.make_directories(path));
  std::unique_ptr<DatasetWriter> writer(new DatasetWriter);
  writer->fs_ = &fs;
  writer->path_ = path;
  // Shards of another save lie beside ours until the metadata is replaced.
  std::random_device device;
  writer->id_ = absl::StrCat(
      absl::Hex((static_cast<std::uint64_t>(device()) << 32) | device(),
                absl::kZeroPad16));
  return writer;
}

DatasetWriter::~DatasetWriter() {
  if (finished_) return;
  for (const std::string& file : written_) {
    fs_->remove(absl::StrCat(path_, "/", file)).IgnoreError();
  }
}

Status DatasetWriter::add(std::int64_t number, const Element& element) {
  if (number < 0) {
    return invalid_argument("save: shard_func must give a number >= 0, got ",
                            number);
  }
  Shard& shard = shards_[number];
  if (!shard.writer) {
    shard.file = absl::StrCat("shard-", number, "-", id_, ".blocks");
    PS_ASSIGN_OR_RETURN(
        shard.writer,
        BlockFileWriter::create(*fs_, absl::StrCat(path_, "/", shard.file)));
  }
  const Spec own = Spec::of(element);
  if (!any_) {
    seen_ = own;
  } else if (!(seen_ == own)) {
    auto both = Spec::unify(seen_, own);
    seen_ = both.ok() ? *std::move(both) : Spec();
  }
  any_ = true;
  ++shard.rows;
  shard.builder.add(element);
  return shard.builder.size() >= kRowsPerFlush ? flush(shard)
                                               : absl::OkStatus();
}

Status DatasetWriter::flush(Shard& shard) {
  PS_ASSIGN_OR_RETURN(const Block block, shard.builder.finish());
  shard.builder = BlockBuilder();
  return shard.writer->add(block);
}

Status DatasetWriter::finish(const Spec& spec) {
  Saved saved;
  saved.spec = spec.known() ? spec : seen_;
  for (auto& [number, shard] : shards_) {
    PS_RETURN_IF_ERROR(flush(shard));
    PS_RETURN_IF_ERROR(shard.writer->finish(""));
    written_.push_back(shard.file);
    saved.shards.push_back({shard.file, shard.rows});
  }
  // The shards that the metadata so far names are nobody's after this.
  std::vector<std::string> old;
  if (auto before = BlockFile::open(*fs_, path_ + kMetadata); before.ok()) {
    if (auto known = decode_saved((*before)->metadata()); known.ok()) {
      for (const SavedShard& shard : known->shards) old.push_back(shard.file);
    }
  }
  PS_ASSIGN_OR_RETURN(auto metadata,
                      BlockFileWriter::create(*fs_, path_ + kMetadata));
  PS_RETURN_IF_ERROR(metadata->finish(encode_saved(saved)));
  finished_ = true;
  for (const std::string& file : old) {
    fs_->remove(absl::StrCat(path_, "/", file)).IgnoreError();
  }
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<const Operator>> make_load(const std::string& path,
                                                    FileSystem& fs) {
  auto metadata = BlockFile::open(fs, path + kMetadata);
  if (!metadata.ok()) return annotate(metadata.status(), "load: ");
  auto saved = decode_saved((*metadata)->metadata());
  if (!saved.ok()) return annotate(saved.status(), "load: ");
  std::vector<std::shared_ptr<const BlockFile>> shards;
  std::vector<std::int64_t> rows;
  for (const SavedShard& shard : saved->shards) {
    auto file = BlockFile::open(fs, absl::StrCat(path, "/", shard.file));
    if (!file.ok()) return annotate(file.status(), "load: ");
    if ((*file)->size() != shard.rows) {
      return absl::DataLossError(absl::StrCat(
          "load: '", path, "/", shard.file, "' has ", (*file)->size(),
          " elements, the metadata says ", shard.rows));
    }
    rows.push_back(shard.rows);
    shards.push_back(*std::move(file));
  }
  return std::make_shared<Load>(path, saved->spec, (*metadata)->metadata(),
                                std::move(shards), RoundRobin(rows));
}

}  // namespace penstock::ops
