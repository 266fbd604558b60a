// Records from files in the page cache, beside a bare loop that reads and
// checks them, and parsing them.
#include <fcntl.h>
#include <isa-l/crc.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "benchmarks/micro/bench.h"
#include "penstock/base/codec.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

std::uint32_t masked(const unsigned char* p, std::size_t n) {
  const std::uint32_t crc =
      ~crc32_iscsi(const_cast<unsigned char*>(p), static_cast<int>(n), ~0u);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// read() into 4 MiB and check every record: what no reader can leave out. Of
/// records that begin in [from, to).
void bare_loop(const std::string& path, std::size_t from = 0,
               std::size_t to = SIZE_MAX) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  std::vector<unsigned char> buffer(std::size_t{4} << 20);
  std::size_t have = 0;
  std::size_t bad = 0;
  ::lseek(fd, static_cast<off_t>(from), SEEK_SET);
  while (from < to) {
    const ssize_t got = ::read(fd, buffer.data() + have, buffer.size() - have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
    std::size_t at = 0;
    while (have - at >= 12 && from + at < to) {
      std::uint64_t length = 0;
      std::memcpy(&length, &buffer[at], 8);
      if (have - at < length + 16) break;
      std::uint32_t crc = 0;
      std::memcpy(&crc, &buffer[at + 8], 4);
      if (masked(&buffer[at], 8) != crc) ++bad;
      std::memcpy(&crc, &buffer[at + 12 + length], 4);
      if (masked(&buffer[at + 12], length) != crc) ++bad;
      at += length + 16;
    }
    std::memmove(buffer.data(), &buffer[at], have - at);
    have -= at;
    from += at;
  }
  ::close(fd);
  keep(bad);
}

/// The two halves side by side, cut at record `middle`: what the machine's
/// memory leaves for a second core.
void two_bare_loops(const std::string& path, std::size_t middle) {
  std::thread other([&] { bare_loop(path, middle); });
  bare_loop(path, 0, middle);
  other.join();
}

struct Directory {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("penstock-bench-" + std::to_string(::getpid()));
  Directory() { std::filesystem::create_directories(path); }
  ~Directory() { std::filesystem::remove_all(path); }
};

}  // namespace

PENSTOCK_BENCH(19, checksum) {
  for (const std::size_t size : {1'000u, 100'000u}) {
    const std::size_t times =
        (table.quick() ? 1'000'000u : 100'000'000u) / size;
    const std::string bytes(size, 'x');
    const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
    const auto isal = [&] {
      return ~crc32_iscsi(const_cast<unsigned char*>(p), static_cast<int>(size),
                          ~0u);
    };
    const bool equal = isal() == crc32c(bytes);
    const auto t = interleave(table.quick() ? 1 : 9,
                              {[&] {
                                 return time_of([&] {
                                   for (std::size_t i = 0; i < times; ++i)
                                     keep(isal());
                                 });
                               },
                               [&] {
                                 return time_of([&] {
                                   for (std::size_t i = 0; i < times; ++i)
                                     keep(crc32c(bytes));
                                 });
                               }});
    const auto total = static_cast<double>(size * times);
    table.reference(
        absl::StrCat("CRC-32C of ", size, " B, one core"),
        equal ? total / t[1].best() : std::numeric_limits<double>::quiet_NaN(),
        "GB/s");
    table.reference("  by ISA-L", total / t[0].best(), "GB/s");
  }
}

PENSTOCK_BENCH(20, tfrecord) {
  const Directory directory;
  const std::size_t total = std::size_t{table.quick() ? 8u : 128u} << 20;
  for (const std::size_t size : {100u, 1000u, 100'000u}) {
    const std::string path = absl::StrCat(directory.path, "/", size);
    io::TFRecordWriter writer(path);
    std::string record(size, 'x');
    const std::size_t n = total / (size + 16);
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(record.data(), &i, sizeof(i));
      writer.write(record);
    }
    writer.close();
    const auto bytes = static_cast<double>(std::filesystem::file_size(path));
    Dataset ds = Dataset::tfrecord(path);
    if (size < 10'000) ds = ds.batch(1024);
    const Dataset one = ds.with_options({.cpu_budget = 1});
    const auto t = interleave(
        table.quick() ? 3 : 9,
        {[&] { return time_of([&] { bare_loop(path); }); },
         [&] { return time_of([&] { drain(one); }); },
         [&] { return time_of([&] { drain(ds); }); },
         [&] {
           return time_of([&] { two_bare_loops(path, n / 2 * (size + 16)); });
         }});
    const std::string name = absl::StrCat("tfrecord of ", size, " B");
    table.reference(name + ", bare loop", bytes / t[0].best(), "GB/s");
    table.reference(name + ", one core", bytes / t[1].best(), "GB/s");
    table.at_least(name + ", one core against the loop",
                   median_ratio(t[0], t[1]), "x", 0.8);
    table.reference(name + ", all cores", bytes / t[2].best(), "GB/s");
    table.at_least(name + ", all cores against the loop",
                   median_ratio(t[0], t[2]), "x", 1.4);
    table.reference("  two bare loops against one", median_ratio(t[0], t[3]),
                    "x");
  }
}

PENSTOCK_BENCH(21, example) {
  const Directory directory;
  const std::int64_t n = table.quick() ? 5'000 : 100'000;
  const std::string path = directory.path + "/examples";
  io::TFRecordWriter writer(path);
  for (std::int64_t i = 0; i < n; ++i) {
    writer.write(
        serialize_example(
            Element::dict(
                {{"x",
                  Tensor::from(std::vector<float>(64, static_cast<float>(i)))},
                 {"ids", Tensor::from(std::vector<std::int64_t>(
                             static_cast<std::size_t>(i % 20), i))},
                 {"label", Tensor::scalar(i % 10)},
                 {"name", Tensor::string(absl::StrCat("example ", i))}}))
            .value());
  }
  writer.close();
  const std::vector<Feature> features{
      fixed_len_feature("x", DType::kFloat32, {64}),
      var_len_feature("ids", DType::kInt64),
      fixed_len_feature("label", DType::kInt64),
      fixed_len_feature("name", DType::kString)};
  const Dataset records = Dataset::tfrecord(path);
  const Dataset single = records.parse_example(features).ragged_batch(256);
  const Dataset batched = records.batch(256).parse_example(features);
  const auto t = interleave(table.quick() ? 3 : 9,
                            {[&] { return time_of([&] { drain(single); }); },
                             [&] { return time_of([&] { drain(batched); }); }});
  const auto per = static_cast<double>(n);
  table.at_most("Example (64 floats, ids, label, name), single",
                t[0].best() / per, "ns", 352);
  table.at_most("  in batches of 256", t[1].best() / per, "ns", 294);
}

namespace {

std::string write_text(const Directory& directory, const std::string& text) {
  std::string path = directory.path + "/text";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  keep(::write(fd, text.data(), text.size()));
  ::close(fd);
  return path;
}

}  // namespace

PENSTOCK_BENCH(22, csv) {
  const Directory directory;
  const std::int64_t n = table.quick() ? 20'000 : 400'000;
  std::string rows = "a,b,c,d\n";
  for (std::int64_t i = 0; i < n; ++i) {
    absl::StrAppend(&rows, i, ",", i * 0.25, ",name ", i, ",", i % 7, "\n");
  }
  const Dataset ds = Dataset::csv(write_text(directory, rows)).batch(1024);
  const auto t = interleave(table.quick() ? 3 : 7,
                            {[&] { return time_of([&] { drain(ds); }); }});
  table.reference("csv of 4 columns, per row",
                  t[0].best() / static_cast<double>(n), "ns");
  table.reference("csv of 4 columns",
                  static_cast<double>(rows.size()) / t[0].best(), "GB/s");
}

PENSTOCK_BENCH(23, json) {
  const Directory directory;
  const std::int64_t n = table.quick() ? 20'000 : 400'000;
  std::string lines;
  for (std::int64_t i = 0; i < n; ++i) {
    absl::StrAppend(&lines, "{\"a\": ", i, ", \"b\": ", i * 0.25,
                    ", \"c\": \"name ", i,
                    "\", \"unused\": [1, 2, 3, 4, 5, 6], \"text\": \"",
                    "some longer text that nobody asks for, as it is\"}\n");
  }
  const Dataset ds =
      Dataset::jsonl(
          write_text(directory, lines),
          {{"a", DType::kInt64}, {"b", DType::kFloat32}, {"c", DType::kString}})
          .batch(1024);
  const auto t = interleave(table.quick() ? 3 : 15,
                            {[&] { return time_of([&] { drain(ds); }); },
                             [&] { return cpu_of([&] { drain(ds); }); }});
  const auto bytes = static_cast<double>(lines.size());
  table.at_least("json lines", bytes / t[0].best(), "GB/s", 1.0);
  table.reference("  CPU time per byte", t[1].best() / bytes, "ns");
}

PENSTOCK_BENCH(24, gzip) {
  const Directory directory;
  const std::string path = directory.path + "/records.gz";
  const std::size_t n = table.quick() ? 4'000 : 64'000;
  io::TFRecordWriter writer(path, {.compression = "GZIP"});
  std::string record;
  for (std::size_t i = 0; i < n; ++i) {
    record.clear();
    while (record.size() < 1000) absl::StrAppend(&record, i, " of ", n, ", ");
    writer.write(record);
  }
  writer.close();
  const Dataset ds =
      Dataset::tfrecord(path, {.compression = "GZIP"}).batch(1024);
  std::size_t total = 0;
  const auto inflate = [&] {
    const gzFile file = gzopen(path.c_str(), "rb");
    std::vector<char> buffer(std::size_t{1} << 20);
    total = 0;
    for (int got = 1; got > 0;) {
      got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()));
      total += static_cast<std::size_t>(std::max(got, 0));
    }
    gzclose(file);
    keep(total);
  };
  const auto t = interleave(table.quick() ? 3 : 7,
                            {[&] { return time_of(inflate); },
                             [&] { return time_of([&] { drain(ds); }); }});
  const auto bytes = static_cast<double>(total);
  table.reference("gzip tfrecord, zlib alone", bytes / t[0].best(), "GB/s");
  table.reference("gzip tfrecord, read and checked", bytes / t[1].best(),
                  "GB/s");
}

PENSTOCK_BENCH(25, small_files) {
  const Directory directory;
  const int n = table.quick() ? 2'000 : 20'000;
  const std::string bytes(1000, 'x');
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) {
    names.push_back(absl::StrCat(directory.path, "/", i));
    const int fd = ::open(names.back().c_str(), O_WRONLY | O_CREAT, 0600);
    keep(::write(fd, bytes.data(), bytes.size()));
    ::close(fd);
  }
  const auto loop = [&] {
    std::vector<char> buffer(4096);
    for (const std::string& name : names) {
      const int fd = ::open(name.c_str(), O_RDONLY);
      keep(::read(fd, buffer.data(), buffer.size()));
      ::close(fd);
    }
  };
  std::vector<std::string_view> views(names.begin(), names.end());
  const Dataset ds =
      Dataset::from_tensor_slices(
          Element(Tensor::strings(views, Shape{n}).value()))
          .map([](std::string_view name) { return io::read_file(name); })
          .batch(256);
  const auto t = interleave(table.quick() ? 3 : 7,
                            {[&] { return time_of(loop); },
                             [&] { return time_of([&] { drain(ds); }); }});
  const auto files = static_cast<double>(n);
  table.reference("files of 1 kB, bare loop", t[0].best() / files, "ns");
  table.reference("files of 1 kB, read_file and batch", t[1].best() / files,
                  "ns");
  table.reference("  against the loop", median_ratio(t[0], t[1]), "x");
}

}  // namespace penstock::bench
