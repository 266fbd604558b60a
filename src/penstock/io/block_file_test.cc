#include "penstock/io/block_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace penstock {
namespace {

using ::testing::HasSubstr;
using I64 = std::int64_t;

// Files as strings, with faults.
class MemoryFs final : public FileSystem {
 public:
  std::map<std::string, std::string> files;
  std::size_t max_read = SIZE_MAX;  // short reads
  std::int64_t space = INT64_MAX;   // bytes until ENOSPC
  bool fail_sync = false;

  StatusOr<std::unique_ptr<ReadableFile>> open(
      const std::string& path) override {
    if (!files.contains(path)) return absl::NotFoundError(path);
    return std::make_unique<Reader>(*this, files[path]);
  }
  StatusOr<std::unique_ptr<WritableFile>> create(
      const std::string& path) override {
    if (files.contains(path)) return absl::AlreadyExistsError(path);
    files[path];
    return std::make_unique<Writer>(*this, path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    files[to] = std::move(files[from]);
    files.erase(from);
    return absl::OkStatus();
  }
  Status remove(const std::string& path) override {
    files.erase(path);
    return absl::OkStatus();
  }
  Status make_directories(const std::string&) override {
    return absl::OkStatus();
  }
  StatusOr<std::unique_ptr<FileLock>> lock(const std::string&) override {
    return std::make_unique<FileLock>();
  }

 private:
  struct Reader final : ReadableFile {
    Reader(MemoryFs& fs, std::string bytes) : fs(fs), bytes(std::move(bytes)) {}
    StatusOr<std::int64_t> size() const override {
      return static_cast<std::int64_t>(bytes.size());
    }
    StatusOr<std::size_t> read_at(std::int64_t offset,
                                  std::span<std::byte> out) const override {
      const auto at = static_cast<std::size_t>(offset);
      if (at >= bytes.size()) return 0;
      const std::size_t n =
          std::min({out.size(), bytes.size() - at, fs.max_read});
      std::memcpy(out.data(), bytes.data() + at, n);
      return n;
    }
    MemoryFs& fs;
    std::string bytes;
  };
  struct Writer final : WritableFile {
    Writer(MemoryFs& fs, std::string path) : fs(fs), path(std::move(path)) {}
    Status append(std::string_view bytes) override {
      fs.space -= static_cast<std::int64_t>(bytes.size());
      if (fs.space < 0) return absl::ResourceExhaustedError("no space");
      fs.files[path].append(bytes);
      return absl::OkStatus();
    }
    Status sync() override {
      return fs.fail_sync ? absl::DataLossError("sync") : absl::OkStatus();
    }
    MemoryFs& fs;
    std::string path;
  };
};

Element sample(I64 i) {
  const std::string text(static_cast<std::size_t>(i % 3), 'x');
  const std::vector<std::string_view> words = {text, "w"};
  return Element::dict(
      {{"n", Tensor::scalar(i)},
       {"f", Tensor::from(
                 std::vector<float>(static_cast<std::size_t>(i % 4), 1.5f))},
       {"s", Tensor::string(text)},
       {"ss", Tensor::strings(words, Shape{2}).value()},
       {"b", Tensor::scalar(i % 2 == 0)},
       {"none", Element::absent()},
       {"r", Element::ragged(Tensor::from<I64>({i, i, i}),
                             {Tensor::from<I64>({0, 1, 3})})}});
}

Block block_of(std::vector<Element> elements) {
  BlockBuilder builder;
  for (Element& e : elements) builder.add(std::move(e));
  return builder.finish().value();
}

std::vector<Element> elements_of(const BlockFile& file) {
  std::vector<Element> out;
  for (std::size_t i = 0; i < file.num_blocks(); ++i) {
    const BlockRef block = file.block(i).value();
    for (I64 r = 0; r < block->block.size(); ++r) {
      out.push_back(block->block.element(r));
    }
  }
  return out;
}

void write(MemoryFs& fs, const std::vector<Block>& blocks) {
  auto writer = BlockFileWriter::create(fs, "f").value();
  for (const Block& b : blocks) ASSERT_TRUE(writer->add(b).ok());
  ASSERT_TRUE(writer->finish("meta").ok());
}

TEST(BlockFile, GivesBackWhatWasWritten) {
  MemoryFs fs;
  std::vector<Element> all;
  std::vector<Block> blocks;
  for (I64 i = 0; i < 30; ++i) {
    all.push_back(sample(i));
    if (i % 7 == 0) blocks.push_back(block_of({}));
    blocks.push_back(block_of({sample(i)}));
  }
  write(fs, blocks);
  const auto file = BlockFile::open(fs, "f").value();
  EXPECT_EQ(file->size(), 30);
  EXPECT_EQ(file->metadata(), "meta");
  EXPECT_EQ(elements_of(*file), all);
  EXPECT_EQ(fs.files.size(), 1u);  // nothing left beside it
}

TEST(BlockFile, KeepsElementsOfSeveralStructures) {
  MemoryFs fs;
  const std::vector<Element> all = {sample(1), Tensor::scalar(2.5),
                                    Element::tuple({})};
  write(fs, {block_of(all)});
  EXPECT_EQ(elements_of(*BlockFile::open(fs, "f").value()), all);
}

TEST(BlockFile, CutsLargeDataIntoBlocksThatAreFoundByIndex) {
  MemoryFs fs;
  std::vector<Block> blocks;
  for (I64 i = 0; i < 10; ++i) {
    blocks.push_back(
        block_of({Tensor::from(std::vector<I64>(20000, i))}));  // 160 kB each
  }
  write(fs, blocks);
  const auto file = BlockFile::open(fs, "f").value();
  EXPECT_EQ(file->num_blocks(), 5u);
  for (I64 i = 0; i < 10; ++i) {
    const std::size_t b = file->find(i);
    const BlockRef block = file->block(b).value();
    EXPECT_EQ(block->block.element(i - file->begin(b))[0].as<I64>()[7], i);
  }
}

TEST(BlockFile, OfNothingIsAFileToo) {
  MemoryFs fs;
  write(fs, {});
  const auto file = BlockFile::open(fs, "f").value();
  EXPECT_EQ(file->size(), 0);
  EXPECT_EQ(file->num_blocks(), 0u);
}

TEST(BlockFile, ABlockOfNoElementsIsNotWrittenAndNotRead) {
  EXPECT_FALSE(encode_block(block_of({})).ok());
  // Two bytes of head: elements of several structures, none of them.
  const std::string bytes("\2\0\0\0\0\0\0\0\1\0", 10);
  Ref<Buffer> buffer = Buffer::allocate(bytes.size());
  std::memcpy(buffer->data(), bytes.data(), bytes.size());
  EXPECT_EQ(decode_block(buffer, bytes.size()).status().code(),
            StatusCode::kDataLoss);
}

TEST(BlockFile, SurvivesShortReads) {
  MemoryFs fs;
  write(fs, {block_of({sample(1), sample(2)})});
  fs.max_read = 3;
  EXPECT_EQ(elements_of(*BlockFile::open(fs, "f").value()),
            (std::vector<Element>{sample(1), sample(2)}));
}

// OK only if everything is as it was written.
bool damage_shows(MemoryFs& fs) {
  const auto file = BlockFile::open(fs, "f");
  if (!file.ok()) return file.status().code() == StatusCode::kDataLoss;
  for (std::size_t i = 0; i < (*file)->num_blocks(); ++i) {
    const auto block = (*file)->block(i);
    if (!block.ok()) return block.status().code() == StatusCode::kDataLoss;
  }
  return false;
}

TEST(BlockFile, EveryCutIsSeen) {
  MemoryFs fs;
  write(fs, {block_of({sample(1), sample(2), sample(3)})});
  const std::string whole = fs.files["f"];
  ASSERT_FALSE(damage_shows(fs));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    fs.files["f"] = whole.substr(0, n);
    ASSERT_TRUE(damage_shows(fs)) << "cut at " << n;
  }
  fs.files["f"] = whole + '\0';
  EXPECT_TRUE(damage_shows(fs));
}

TEST(BlockFile, EveryBitFlipIsSeen) {
  MemoryFs fs;
  write(fs, {block_of({sample(1), sample(2), sample(3)})});
  std::string& bytes = fs.files["f"];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_TRUE(damage_shows(fs)) << "byte " << i << ", bit " << bit;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << bit));
    }
  }
}

TEST(BlockFile, AFailedWriteLeavesTheOldFile) {
  MemoryFs fs;
  write(fs, {block_of({sample(1)})});
  const std::string before = fs.files["f"];
  for (const bool full : {true, false}) {
    fs.space = full ? 200 : INT64_MAX;
    fs.fail_sync = !full;
    auto writer = BlockFileWriter::create(fs, "f").value();
    const Status added = writer->add(block_of({sample(2)}));
    EXPECT_FALSE(added.ok() && writer->finish("").ok());
    writer.reset();
    fs.space = INT64_MAX;
    EXPECT_EQ(fs.files.size(), 1u);
    EXPECT_EQ(fs.files["f"], before);
  }
}

TEST(BlockFile, RefusesNestedDatasetsAndErrors) {
  class Thing final : public Object {
    std::string to_string() const override { return "thing"; }
  };
  MemoryFs fs;
  auto writer = BlockFileWriter::create(fs, "f").value();
  ASSERT_TRUE(writer->add(block_of({Tensor::object(make_ref<Thing>())})).ok());
  EXPECT_EQ(writer->finish("").code(), StatusCode::kInvalidArgument);
}

TEST(LocalFiles, LockIsForOneHolderAndGoesWithIt) {
  FileSystem& fs = FileSystem::local();
  const std::string path =
      ::testing::TempDir() + "penstock_lock." + std::to_string(::getpid());
  {
    const auto first = fs.lock(path);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(fs.lock(path).status().code(), StatusCode::kAlreadyExists);
  }
  EXPECT_TRUE(fs.lock(path).ok());
  EXPECT_EQ(fs.open(path).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock
