#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/io/block_file.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// Writes a dataset to a directory: one block file per shard and, last, a
/// metadata file that names them. Until finish() succeeds, what was saved there
/// before stays; without it nothing is left.
class DatasetWriter {
 public:
  static StatusOr<std::unique_ptr<DatasetWriter>> create(
      FileSystem& fs, const std::string& path);
  ~DatasetWriter();
  Status add(std::int64_t shard, const Element& element);
  /// `spec` is what is known of the elements.
  Status finish(const Spec& spec);

 private:
  struct Shard {
    std::string file;
    std::unique_ptr<BlockFileWriter> writer;
    BlockBuilder builder;
    std::int64_t rows = 0;
  };
  DatasetWriter() = default;
  Status flush(Shard& shard);

  FileSystem* fs_ = nullptr;
  std::string path_;
  std::string id_;
  std::map<std::int64_t, Shard> shards_;
  std::vector<std::string> written_;  // files that have their name
  Spec seen_;                         // of all elements so far
  bool any_ = false;
  bool finished_ = false;
};

/// The elements that a DatasetWriter saved at `path`: one of each shard in
/// turn. Reads metadata only; NotFound if there is no saved dataset.
StatusOr<std::shared_ptr<const Operator>> make_load(
    const std::string& path, FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops
