// Record files for the command line: TFRecord files are scanned, framed and cut
// at offsets, Examples become dicts and back. Pipelines do not come this way.
#include <nanobind/stl/vector.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "convert.h"
#include "penstock/formats/example.h"
#include "penstock/formats/message_reader_private.h"
#include "penstock/formats/tfrecord.h"
#include "penstock/ops/files/byte_stream.h"
#include "text.h"

namespace penstock::python {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::int64_t kMaxRecordBytes = std::int64_t{1} << 30;
// A damaged file may have millions; the count is exact.
constexpr std::size_t kMaxListed = 10'000;

struct BadRecord {
  std::int64_t record = 0;
  std::int64_t offset = 0;
  std::string message;
};

struct Scan {
  std::int64_t records = 0;  // whole ones, good or bad
  std::int64_t payload_bytes = 0;
  std::int64_t stream_bytes = 0;
  std::int64_t bad = 0;
  bool compressed = false;
  std::vector<BadRecord> listed;
  std::vector<std::int64_t> offsets;  // of each record, when asked for
  std::vector<std::int64_t> sizes;
  std::vector<std::string> first;  // payloads
};

struct ScanOptions {
  bool verify = true;
  std::int64_t keep = 0;  // payloads
  bool places = false;    // offsets and sizes
};

/// Reads the whole file once; the first failure of the file itself is returned.
StatusOr<Scan> scan(const std::string& path, Compression compression,
                    const ScanOptions& options) {
  PS_ASSIGN_OR_RETURN(
      auto stream, ops::ByteStream::open(FileSystem::local(), path, compression,
                                         &tfrecord::begins_with_record));
  Scan result;
  result.compressed = stream->compressed();
  const tfrecord::RecordSplitter splitter(options.verify);
  std::string bytes;
  std::int64_t offset = 0;  // of bytes[0]
  bool at_end = false;
  bool jumped = false;
  std::size_t wanted = kReadBytes;
  SplitOutput out;
  const auto note = [&](std::int64_t at, const Status& status) {
    ++result.bad;
    if (result.listed.size() < kMaxListed) {
      result.listed.push_back(
          {result.records, at, std::string(status.message())});
    }
  };
  for (;;) {
    if (!at_end) {
      const std::size_t have = bytes.size();
      bytes.resize(std::max(wanted, have + kReadBytes));
      auto read = stream->read(bytes.data() + have, bytes.size() - have);
      if (!read.ok()) {
        // Damage of the compressed stream: what came before it counts.
        if (!absl::IsDataLoss(read.status())) return read.status();
        note(offset + static_cast<std::int64_t>(have), read.status());
        return result;
      }
      at_end = have + *read < bytes.size();
      bytes.resize(have + *read);
    }
    out.clear();
    SplitInput in;
    in.bytes = bytes;
    in.offset = offset;
    in.record = result.records;
    in.at_end = at_end;
    in.max_rows = std::numeric_limits<std::int64_t>::max();
    in.max_payload = std::numeric_limits<std::int64_t>::max();
    in.max_record_bytes = kMaxRecordBytes;
    in.jumped = jumped;
    std::int64_t begin = out.passing.active ? out.passing.begin : offset;
    splitter.split(in, out);
    for (const SplitRow& row : out.rows) {
      if (!row.error.ok()) note(begin, row.error);
      // The row that ends the file is no whole record.
      if (out.stop && &row == &out.rows.back() && row.end == row.begin) break;
      if (options.places) {
        result.offsets.push_back(begin);
        result.sizes.push_back(static_cast<std::int64_t>(row.size));
      }
      if (static_cast<std::int64_t>(result.first.size()) < options.keep &&
          row.error.ok()) {
        result.first.push_back(bytes.substr(row.begin, row.size));
      }
      ++result.records;
      result.payload_bytes += static_cast<std::int64_t>(row.size);
      begin = offset + static_cast<std::int64_t>(row.end);
    }
    result.stream_bytes = offset + static_cast<std::int64_t>(
                                       at_end ? bytes.size() : out.consumed);
    if (out.stop) return result;
    if (at_end && out.consumed == bytes.size() && !out.passing.active) {
      return result;
    }
    bytes.erase(0, out.consumed);
    offset += static_cast<std::int64_t>(out.consumed);
    wanted = out.needed;
    jumped = false;
    if (out.jump >= 0) {
      PS_ASSIGN_OR_RETURN(jumped, stream->jump(out.jump, offset));
      if (jumped) offset = out.jump;
      bytes.clear();
    }
  }
}

Compression compression_of(const std::string& name) {
  const auto compression = compression_from_name(name);
  if (!compression) {
    throw Error(
        invalid_argument("compression must be \"\", GZIP, ZLIB, ZSTD or "
                         "auto, got ",
                         name));
  }
  return *compression;
}

nb::bytes as_bytes(const std::vector<std::int64_t>& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
}

nb::dict scan_dict(const Scan& s) {
  nb::dict d;
  nb::list bad;
  for (const BadRecord& b : s.listed) {
    bad.append(nb::make_tuple(b.record, b.offset, b.message));
  }
  nb::list first;
  for (const std::string& payload : s.first) {
    first.append(nb::bytes(payload.data(), payload.size()));
  }
  d["records"] = s.records;
  d["payload_bytes"] = s.payload_bytes;
  d["stream_bytes"] = s.stream_bytes;
  d["compressed"] = s.compressed;
  d["bad_count"] = s.bad;
  d["bad"] = bad;
  d["first"] = first;
  d["offsets"] = as_bytes(s.offsets);
  d["sizes"] = as_bytes(s.sizes);
  return d;
}

using protozero::pbf_wire_type;

/// The values of a Feature, as a list; None if it holds no list.
nb::object feature_values(MessageReader feature) {
  nb::object values = nb::none();
  while (feature.next()) {
    const std::uint32_t kind = feature.tag();
    if (kind < 1 || kind > 3 ||
        feature.wire_type() != pbf_wire_type::length_delimited) {
      feature.skip();
      continue;
    }
    nb::list list;
    MessageReader items = feature.get_message();
    while (items.next()) {
      if (items.tag() != 1) {
        items.skip();
      } else if (kind == 1) {
        const std::string_view view = items.get_bytes_view();
        list.append(nb::bytes(view.data(), view.size()));
      } else if (kind == 2) {
        if (items.wire_type() == pbf_wire_type::length_delimited) {
          for (const float v : items.get_packed_float()) list.append(v);
        } else {
          list.append(items.get_float());
        }
      } else if (items.wire_type() == pbf_wire_type::length_delimited) {
        for (const std::int64_t v : items.get_packed_int64()) list.append(v);
      } else {
        list.append(items.get_int64());
      }
    }
    values = nb::make_tuple(kind == 1   ? "bytes"
                            : kind == 2 ? "float"
                                        : "int64",
                            list);
  }
  return values;
}

/// {name: (kind, values)}, or None if the bytes are no Example.
nb::object example_to_dict(nb::bytes record) {
  nb::dict out;
  try {
    MessageReader example({record.c_str(), record.size()});
    bool any = record.size() == 0;
    while (example.next()) {
      if (example.tag() != 1 ||
          example.wire_type() != pbf_wire_type::length_delimited) {
        return nb::none();
      }
      any = true;
      MessageReader features = example.get_message();
      while (features.next(1)) {
        MessageReader entry = features.get_message();
        std::string name;
        nb::object values = nb::none();
        while (entry.next()) {
          if (entry.tag() == 1) {
            name = entry.get_string();
          } else if (entry.tag() == 2) {
            values = feature_values(entry.get_message());
          } else {
            return nb::none();
          }
        }
        nb::object key = nb::steal(PyUnicode_DecodeUTF8(
            name.data(), static_cast<Py_ssize_t>(name.size()), nullptr));
        if (!key.is_valid()) {
          PyErr_Clear();
          return nb::none();
        }
        out[key] = values;
      }
    }
    if (!any) return nb::none();
  } catch (const protozero::exception&) {
    return nb::none();
  }
  return out;
}

}  // namespace

void bind_records(nb::module_& m) {
  m.def("tfrecord_scan",
        [](const std::string& path, const std::string& compression, bool verify,
           std::int64_t keep, bool places) {
          const Compression how = compression_of(compression);
          StatusOr<Scan> result = Scan();
          {
            const WithoutGil waiting;
            result = scan(path, how, {verify, keep, places});
          }
          return scan_dict(value_or_raise(std::move(result)));
        });
  m.def("tfrecord_frame", [](const std::vector<nb::bytes>& payloads) {
    std::string out;
    for (const nb::bytes& payload : payloads) {
      tfrecord::append_record({payload.c_str(), payload.size()}, out);
    }
    return nb::bytes(out.data(), out.size());
  });
  m.def("example_to_dict", &example_to_dict);
  m.def("example_from_dict", [](nb::dict values) {
    const Element element =
        value_or_raise(from_python(values.ptr(), Arrays::kCopy));
    const std::string bytes = value_or_raise(serialize_example(element));
    return nb::bytes(bytes.data(), bytes.size());
  });
}

}  // namespace penstock::python
