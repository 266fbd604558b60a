// Records whose places in their files are known.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// The places of the records of one file. Immutable.
class RecordLayout {
 public:
  /// Told of the k-th of the records that were looked at.
  using Damaged = std::function<void(std::int64_t k, Status status)>;

  virtual ~RecordLayout() = default;
  /// Records, and an error in place of the last if failure() is one.
  virtual std::int64_t size() const = 0;
  /// First byte of record `i`, with what is around its payload; for i ==
  /// records() where the last one ends. Records follow each other.
  virtual std::int64_t offset(std::int64_t i) const = 0;
  /// Records without the failure.
  virtual std::int64_t records() const = 0;
  virtual const Status& failure() const = 0;
  /// Bytes in front of each payload, and all around it.
  virtual std::int64_t head_bytes() const = 0;
  virtual std::int64_t frame_bytes() const = 0;
  /// Where `count` records from `first` on end if they lie side by side from
  /// offsets[0] on: offsets[1], offsets[2], ...
  virtual void place(std::int64_t first, std::int64_t count,
                     std::int64_t* offsets) const = 0;
  /// Looks at the records of place(), which are in `bytes`.
  virtual void check(std::int64_t first, std::int64_t count,
                     const std::int64_t* offsets, const char* bytes,
                     const Damaged& damaged) const = 0;
  /// Looks at record `i`, whose payload lies apart from what is around it.
  virtual Status check_apart(std::int64_t i, std::string_view head,
                             std::string_view payload,
                             std::string_view tail) const = 0;
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
