// Records whose places in their files are known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// The places of the records of one file. Immutable.
class RecordLayout {
 public:
  virtual ~RecordLayout() = default;
  /// Records, and an error in place of the last if failure() is one.
  virtual std::int64_t size() const = 0;
  /// First byte of record `i`, with what is around its payload; for i ==
  /// records() where the last one ends. Records follow each other.
  virtual std::int64_t offset(std::int64_t i) const = 0;
  /// Its bytes, with what is around the payload.
  virtual std::int64_t bytes(std::int64_t i) const = 0;
  /// Records without the failure.
  virtual std::int64_t records() const = 0;
  virtual const Status& failure() const = 0;
  /// The payload of record `i` in its bytes; an error if it is damaged.
  virtual StatusOr<std::string_view> payload(std::int64_t i,
                                             std::string_view bytes) const = 0;
  /// Bytes around each payload.
  virtual std::int64_t frame_bytes() const = 0;
};

struct IndexedFile {
  std::string path;
  std::shared_ptr<const RecordLayout> layout;
};

struct IndexedRecordsOptions {
  std::string op;
  std::string describe;
  std::string identity;
  FileSystem* fs = &FileSystem::local();
};

/// The records of `files`, one file after the other, as strings. The origin of
/// an element is (file, record), as if each file were a nested dataset.
std::shared_ptr<const Operator> make_indexed_records(
    std::vector<IndexedFile> files, IndexedRecordsOptions options);

}  // namespace penstock::ops
