// cache(path) and snapshot(path): the input, kept in a file from its first
// complete pass on.
//
// Two parts: the pass of cache_pass.h, and a transform that reads. Where the
// file is there and undamaged, the pass emits positions and the transform
// reads the blocks they lie in, in parallel; the input is not touched, whether
// or not it would still give the same. A damaged file counts as none; damage
// that is found on the way is an error there, and the next pass writes it anew.
// One
// writer at a time, over all processes: cache refuses a second one with
// AlreadyExists, a snapshot lets it compute for itself. A pass that is dropped,
// or in which an element failed, leaves no file. State: position, and the epoch
// of the elements. As in memory, the mutable state is behind a mutex.
#include <mutex>

#include "penstock/io/block_file.h"
#include "penstock/io/file.h"
#include "penstock/io/saved_spec.h"
#include "penstock/ops/cache/cache.h"
#include "penstock/ops/cache/cache_pass.h"

namespace penstock::ops {
namespace {

// Blocks that stand for elements still in the file: one int64 each, its
// position.
const Structure* position_structure() {
  static const Structure* const s =
      Structure::tuple({Structure::leaf()}, "penstock.position_in_file");
  return s;
}

// Elements [begin, begin + count) of `file`.
Status read_range(const BlockFile& file, std::int64_t begin, std::int64_t count,
                  std::vector<Block>& out) {
  if (begin + count > file.size()) {
    return absl::DataLossError("the file was written anew, with less in it");
  }
  while (count > 0) {
    const std::size_t i = file.find(begin);
    PS_ASSIGN_OR_RETURN(const BlockRef block, file.block(i));
    const std::int64_t row = begin - file.begin(i);
    const std::int64_t n = std::min(count, file.end(i) - begin);
    out.push_back(block->block.slice(row, row + n));
    begin += n;
    count -= n;
  }
  return absl::OkStatus();
}

class FileReplay final : public CacheReplay {
 public:
  explicit FileReplay(std::shared_ptr<const BlockFile> file)
      : file_(std::move(file)) {}
  std::int64_t size() const override { return file_->size(); }
  std::int64_t emit(std::int64_t position, Outputs& out) const override {
    // Up to the end of a block, so that it is read by one worker.
    const std::int64_t n =
        std::min(out.room(), file_->end(file_->find(position)) - position);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      positions[static_cast<std::size_t>(i)] = position + i;
    }
    Block::Columns columns;
    columns.emplace_back(Tensor::from(positions));
    out.emit(Rows(BlockRef(make_ref<SharedBlock>(
        Block(position_structure(), std::move(columns), n, {})))));
    return n;
  }

 private:
  std::shared_ptr<const BlockFile> file_;
};

class FileFill final : public CacheFill {
 public:
  FileFill(std::unique_ptr<FileLock> lock,
           std::unique_ptr<BlockFileWriter> writer, CacheKey key, Spec spec)
      : lock_(std::move(lock)),
        writer_(std::move(writer)),
        key_(std::move(key)),
        spec_(std::move(spec)) {}
  Status add(const Rows& rows) override {
    PS_ASSIGN_OR_RETURN(const Block block, rows.materialize());
    return writer_->add(block);
  }
  Status complete() override {
    Encoder metadata;
    encode_key(key_, metadata);
    encode_spec(spec_, metadata);
    return writer_->finish(metadata.str());
  }

 private:
  std::unique_ptr<FileLock> lock_;  // goes last
  std::unique_ptr<BlockFileWriter> writer_;
  const CacheKey key_;
  const Spec spec_;
};

class FileStore final : public CacheStore {
 public:
  FileStore(FileSystem& fs, std::string path, bool snapshot,
            std::int64_t max_checked)
      : fs_(fs),
        path_(std::move(path)),
        snapshot_(snapshot),
        max_checked_(max_checked) {}

  StatusOr<CacheOpening> open(const CacheKey& own, bool fixed, bool whole,
                              std::int64_t, const Spec& spec) override {
    CacheOpening opening;
    PS_RETURN_IF_ERROR(find(spec));
    if (auto file = undamaged()) return replay(std::move(file));
    {
      std::lock_guard lock(mutex_);
      if (!key_ || fixed) key_ = own;
      opening.key = *key_;
    }
    if (!whole) return opening;
    if (snapshot_) PS_RETURN_IF_ERROR(fs_.make_directories(directory()));
    auto lock = fs_.lock(path_ + ".lock");
    if (!lock.ok()) {
      if (lock.status().code() != StatusCode::kAlreadyExists) {
        return lock.status();
      }
      if (snapshot_) return opening;
      return absl::AlreadyExistsError(
          absl::StrCat("'", path_, "' is being written by another iterator"));
    }
    // Somebody may have completed it between the look and the lock.
    PS_RETURN_IF_ERROR(find(spec));
    if (auto file = undamaged()) return replay(std::move(file));
    AtomicFile::remove_left_over(fs_, path_);
    PS_ASSIGN_OR_RETURN(auto writer, BlockFileWriter::create(fs_, path_));
    opening.fill = std::make_unique<FileFill>(
        *std::move(lock), std::move(writer), opening.key, spec);
    return opening;
  }

  // Elements [begin, begin + count) of the file that was found last.
  Status read(std::int64_t begin, std::int64_t count, std::vector<Block>& out) {
    std::shared_ptr<const BlockFile> file;
    {
      std::lock_guard lock(mutex_);
      file = file_;
    }
    Status status = read_range(*file, begin, count, out);
    if (status.code() == StatusCode::kDataLoss) give_up(file);
    return status;
  }
  // The file, once it was found; kept open from then on.
  std::shared_ptr<const BlockFile> undamaged() {
    std::lock_guard lock(mutex_);
    return damaged_ ? nullptr : file_;
  }
  CacheKey key_or(const CacheKey& own) {
    std::lock_guard lock(mutex_);
    return key_.value_or(own);
  }
  // Looks for a valid file. One that is damaged counts as absent.
  Status find(const Spec& spec) {
    if (undamaged()) return absl::OkStatus();
    auto file = BlockFile::open(fs_, path_);
    if (!file.ok()) {
      const StatusCode code = file.status().code();
      return code == StatusCode::kNotFound || code == StatusCode::kDataLoss
                 ? absl::OkStatus()
                 : file.status();
    }
    // Blocks are checked before the first of them is given out, because a pass
    // cannot turn back to its input halfway. In a file that would take seconds
    // to read, damage is DataLoss where it lies.
    const bool check = (*file)->bytes() <= max_checked_;
    for (std::size_t i = 0; check && i < (*file)->num_blocks(); ++i) {
      const auto block = (*file)->block(i);
      if (block.ok()) continue;
      if (block.status().code() == StatusCode::kDataLoss) {
        return absl::OkStatus();
      }
      return block.status();
    }
    Decoder metadata((*file)->metadata());
    CacheKey key = decode_key(metadata);
    auto saved = decode_spec(metadata);
    if (!saved.ok() || !metadata.ok()) return absl::OkStatus();
    if (auto both = Spec::unify(*saved, spec); !both.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("'", path_, "' holds elements of ", saved->to_string(),
                       ", but the input gives ", spec.to_string(),
                       "; remove the file or choose another path"));
    }
    std::lock_guard lock(mutex_);
    if (!file_ || damaged_) {
      file_ = *std::move(file);
      key_ = std::move(key);
      damaged_ = false;
    }
    return absl::OkStatus();
  }
  const std::string& path() const { return path_; }

 private:
  // `file` turned out to be damaged: it counts as none from now on. Passes that
  // are under way go on with what is left of it.
  void give_up(const std::shared_ptr<const BlockFile>& file) {
    {
      std::lock_guard lock(mutex_);
      if (damaged_ || file_ != file) return;
      damaged_ = true;
    }
    fs_.remove(path_).IgnoreError();
  }
  std::string directory() const {
    const std::size_t slash = path_.rfind('/');
    return slash == std::string::npos ? "." : path_.substr(0, slash);
  }
  CacheOpening replay(std::shared_ptr<const BlockFile> file) {
    std::lock_guard lock(mutex_);
    return {*key_, std::make_shared<FileReplay>(std::move(file)), nullptr};
  }

  FileSystem& fs_;
  const std::string path_;
  const bool snapshot_;
  const std::int64_t max_checked_;
  std::mutex mutex_;
  std::optional<CacheKey> key_;
  std::shared_ptr<const BlockFile> file_;
  bool damaged_ = false;
};

// Reads what a replaying pass emitted positions of, and numbers elements.
class LoadCached final : public Transform {
 public:
  explicit LoadCached(std::shared_ptr<FileStore> store)
      : store_(std::move(store)) {}
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    if (block.structure() == position_structure() && !block.empty()) {
      const std::int64_t begin = block.column(0).row(0).value<std::int64_t>();
      std::vector<Block> blocks;
      PS_RETURN_IF_ERROR(store_->read(begin, block.size(), blocks));
      PS_ASSIGN_OR_RETURN(block, join_blocks(blocks));
    }
    block.set_origins(Origins(context.path, context.tag));
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<FileStore> store_;
};

class FileCache final : public Operator, public IndexedOp {
 public:
  FileCache(std::shared_ptr<FileStore> store, bool snapshot, std::string path)
      : store_(std::move(store)), snapshot_(snapshot), path_(std::move(path)) {}

  std::string_view op() const override {
    return snapshot_ ? "snapshot" : "cache";
  }
  std::string describe() const override {
    return absl::StrCat(to_absl(op()), "('", path_, "')");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  // Not the path: the same pipeline may run elsewhere.
  void add_to(Fingerprint& fp) const override { fp.add("file"); }
  std::vector<Part> lower() const override {
    return {{.sequencer = make_cache_pass(store_)},
            {.transform = std::make_shared<LoadCached>(store_)}};
  }
  const IndexedOp* indexed() const override { return this; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out) const override {
    PS_RETURN_IF_ERROR(store_->find(Spec()));
    std::vector<Block> blocks;
    if (const auto file = store_->undamaged()) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        if (run.at(i) >= file->size()) {
          return absl::OutOfRangeError(
              absl::StrCat("'", path_, "' has only ", file->size(),
                           " elements, no element ", run.at(i)));
        }
      }
      if (!run.list && run.step == 1) {
        PS_RETURN_IF_ERROR(store_->read(run.begin, run.count, blocks));
      } else {
        for (std::int64_t i = 0; i < run.count; ++i) {
          PS_RETURN_IF_ERROR(store_->read(run.at(i), 1, blocks));
        }
      }
    } else {
      const CacheKey key = store_->key_or(cache_key(context.epoch, run.path));
      IndexRun below = run;
      below.path = key.path;
      PS_RETURN_IF_ERROR(in.read_in(key.epoch, 0, below, blocks));
    }
    std::int64_t first = 0;
    for (Block& block : blocks) {
      block.set_origins(origins_of(run, first, block.size()));
      first += block.size();
      out.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<FileStore> store_;
  const bool snapshot_;
  const std::string path_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_file_cache(
    std::string path, FileSystem& fs, std::int64_t max_checked) {
  if (path.empty()) {
    return invalid_argument("cache: path must not be empty, got ''");
  }
  auto store = std::make_shared<FileStore>(fs, path, false, max_checked);
  return std::make_shared<FileCache>(std::move(store), false, std::move(path));
}

StatusOr<std::shared_ptr<const Operator>> make_snapshot(std::string path,
                                                        FileSystem& fs) {
  if (path.empty()) {
    return invalid_argument("snapshot: path must not be empty, got ''");
  }
  auto store = std::make_shared<FileStore>(fs, path + "/elements.blocks", true,
                                           kCheckedBytes);
  return std::make_shared<FileCache>(std::move(store), true, std::move(path));
}

}  // namespace penstock::ops
