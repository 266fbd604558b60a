// Lines, CSV, JSON lines, tar and npy on any bytes. Cutting a stream in two
// pieces must give the same records as cutting it at once.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/formats/csv.h"
#include "penstock/formats/json_lines.h"
#include "penstock/formats/lines.h"
#include "penstock/formats/npy.h"
#include "penstock/formats/tar.h"

namespace {

using namespace penstock;

std::vector<std::string> cut(const Splitter& splitter, std::string_view bytes,
                             std::size_t step, std::int64_t limit) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  std::size_t end = std::min(step, bytes.size());
  SplitOutput found;
  bool jumped = false;
  for (;;) {
    SplitInput in;
    in.bytes = bytes.substr(begin, end - begin);
    in.offset = static_cast<std::int64_t>(begin);
    in.record = static_cast<std::int64_t>(out.size());
    in.at_end = end == bytes.size();
    in.max_rows = 64;
    in.max_payload = 1 << 20;
    in.max_record_bytes = limit;
    in.jumped = jumped;
    found.clear();
    splitter.split(in, found);
    if (found.consumed > in.bytes.size()) __builtin_trap();
    for (const SplitRow& row : found.rows) {
      if (row.begin > in.bytes.size() ||
          row.size > in.bytes.size() - row.begin) {
        __builtin_trap();
      }
      out.emplace_back(row.error.ok() ? in.bytes.substr(row.begin, row.size)
                                      : std::string_view("!"));
    }
    begin += found.consumed;
    jumped = found.jump >= 0 &&
             found.jump <= static_cast<std::int64_t>(bytes.size());
    if (jumped) {
      begin = static_cast<std::size_t>(found.jump);
      end = std::min(begin + step, bytes.size());
    }
    if (found.stop) return out;
    if (in.at_end && begin == end && !found.passing.active) return out;
    if (found.rows.empty() && found.consumed == 0 && found.jump < 0) {
      if (in.at_end) __builtin_trap();  // neither done nor stopped
      end = std::min(end + step, bytes.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2,
                               size - 2);
  const std::size_t step = 1 + data[1];
  static const LineSplitter lines(1);
  static const FixedSplitter fixed(3, 2, 1);
  static const CsvSplitter csv({}, true);
  static const TarSplitter tar;
  const Splitter* const all[] = {&lines, &fixed, &csv, &tar};
  const int kind = data[0] % 6;
  std::vector<std::string> records;
  if (kind < 4) {
    // Records above a limit are passed over alike.
    const std::int64_t small = kind == 3 ? 2048 : 8;
    if (cut(*all[kind], bytes, size, small) !=
        cut(*all[kind], bytes, step, small)) {
      __builtin_trap();
    }
    records = cut(*all[kind], bytes, size, 1 << 20);
    if (records != cut(*all[kind], bytes, step, 1 << 20)) __builtin_trap();
  }
  const std::vector<std::string_view> views(records.begin(), records.end());
  std::vector<std::pair<std::int64_t, Status>> failed;
  if (kind == 2) {
    static const auto* const parser = new std::shared_ptr<const CsvParser>(
        CsvParser::make({{"i", DType::kInt64},
                         {"s", DType::kString},
                         {"f", DType::kFloat32, Tensor::scalar(0.0f)}},
                        3, {})
            .value());
    std::vector<Tensor> columns;
    if (!(*parser)->parse(views, {}, columns, failed).ok()) __builtin_trap();
  } else if (kind == 3) {
    for (const std::string_view record : views) {
      std::vector<TarFile> files;
      if (!read_tar(record, files).ok()) continue;
      for (const TarFile& file : files) {
        if (file.begin > record.size() ||
            file.size > record.size() - file.begin) {
          __builtin_trap();
        }
      }
    }
  } else if (kind == 4) {
    static const auto* const parser = new std::shared_ptr<const JsonParser>(
        JsonParser::make({{"i", DType::kInt64},
                          {"s", DType::kString, false, Tensor::string("")},
                          {"l", DType::kFloat32, true}})
            .value());
    std::vector<JsonParser::Values> values;
    const std::string_view one[] = {bytes};
    if (!(*parser)->parse(one, {}, values, failed).ok()) __builtin_trap();
    if (values[0].values.num_elements() != 1) __builtin_trap();
    // Lines that are read together fail as each does alone.
    std::vector<std::string_view> rows;
    for (std::size_t at = 0, end = 0; end < bytes.size(); at = end + 1) {
      end = std::min(bytes.find('\n', at), bytes.size());
      rows.push_back(bytes.substr(at, end - at));
    }
    failed.clear();
    if (!(*parser)->parse(rows, {}, values, failed).ok()) __builtin_trap();
    std::size_t next = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::pair<std::int64_t, Status>> alone;
      if (!(*parser)->parse({&rows[i], 1}, {}, values, alone).ok()) {
        __builtin_trap();
      }
      const bool fails = next < failed.size() &&
                         failed[next].first == static_cast<std::int64_t>(i);
      if (fails == alone.empty()) __builtin_trap();
      if (fails) ++next;
    }
  } else if (kind == 5) {
    if (const auto header = parse_npy(bytes); header.ok()) {
      if (header->data_offset > bytes.size()) __builtin_trap();
      const std::string_view data = bytes.substr(header->data_offset);
      if (data.size() >= header->data_bytes) {
        const auto array =
            read_npy(*header, data.substr(0, header->data_bytes));
        if (array.ok() && array->shape() != header->shape) __builtin_trap();
      }
    }
    if (const auto members = parse_npz(bytes); members.ok()) {
      for (const NpzMember& m : *members) {
        if (m.begin > bytes.size() || m.size > bytes.size() - m.begin) {
          __builtin_trap();
        }
        if (m.deflated) static_cast<void>(inflate_npz(bytes, m).ok());
      }
    }
  }
  return 0;
}
