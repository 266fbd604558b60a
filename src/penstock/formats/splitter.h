// How a stream of bytes is cut into records.
//
// A Splitter is immutable and shared; it needs nothing but the bytes from a
// record's beginning on, so reading can be continued at any record by its
// offset and number alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"

namespace penstock {

struct SplitRow {
  std::size_t begin = 0;  // of the payload, counted from the given bytes
  std::size_t size = 0;
  std::size_t end = 0;  // where the next record begins
  Status error;         // in place of the record
};

struct SplitInput {
  std::string_view bytes;
  std::int64_t offset = 0;  // of bytes[0] in the stream
  std::int64_t record = 0;  // number of the record that begins there
  bool at_end = false;      // nothing follows `bytes`
  std::int64_t max_rows = 0;
  std::int64_t max_payload = 0;  // stops after the row that passes it
  std::int64_t max_record_bytes = 0;
  bool jumped = false;  // `bytes` begin where SplitOutput::jump asked for
};

/// A record that is refused and ends beyond the bytes that were given: they
/// are let go of while its end is looked for. The error takes its place then.
struct SplitPassing {
  bool active = false;
  std::int64_t begin = 0;  // where the record begins: continue there
  Status error;            // OK for what is passed over in silence
  bool told = false;       // its error was a row already; continue behind it
  std::int64_t count = 0;  // what the splitter keeps meanwhile
  std::string key;

  void start(std::int64_t at, Status status, std::int64_t counted = 0) {
    active = true;
    begin = at;
    error = std::move(status);
    count = counted;
  }
};

struct SplitOutput {
  std::vector<SplitRow> rows;
  /// Bytes done with; may go beyond the last row, never beyond the input.
  std::size_t consumed = 0;
  /// Bytes the next record needs, from `consumed` on; 0 where unknown.
  std::size_t needed = 0;
  /// Nothing more can be read from this stream.
  bool stop = false;
  /// While `passing`: where to go on, beyond the input; -1 at `consumed`. A
  /// stream that ends before it goes on at `consumed`.
  std::int64_t jump = -1;
  /// Given to the next call as it is.
  SplitPassing passing;

  void clear() {
    rows.clear();
    consumed = needed = 0;
    stop = false;
    jump = -1;
  }
  /// What was passed over ends at `end`.
  void passed(std::size_t end) {
    if (!passing.error.ok()) {
      rows.push_back({end, 0, end, std::move(passing.error)});
    }
    passing = {};
  }
  /// An error as the last row.
  void fail(std::size_t at, Status status) {
    rows.push_back({at, 0, at, std::move(status)});
    stop = true;
  }
};

class Splitter {
 public:
  virtual ~Splitter() = default;
  /// Finds the records that lie wholly in `in.bytes`, whatever piece of the
  /// stream they are. At the end of the stream either consumes everything or
  /// stops.
  virtual void split(const SplitInput& in, SplitOutput& out) const = 0;
};

/// Where text begins: behind a byte order mark, if it is the file's start.
std::size_t text_begin(const SplitInput& in);
/// "record 3 at byte 120: "
std::string record_place(std::int64_t record, std::int64_t offset);
/// ResourceExhausted for a record of `size` bytes.
Status record_too_large(std::int64_t size, std::int64_t limit);

}  // namespace penstock
