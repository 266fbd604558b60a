// Records above max_record_bytes: each reader says so in their place, without
// holding them, and goes on with the next whole record, wherever it was
// restored and however the file is packed.
#include <gmock/gmock.h>

#include <fstream>

#include "penstock/formats/compression.h"
#include "penstock/formats/tfrecord.h"
#include "penstock/io/http.h"
#include "penstock/memory/buffer.h"
#include "penstock/penstock.h"
#include "tests/support/drain.h"
#include "tests/support/http_server.h"
#include "tests/support/tar_builder.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using testing::drain;
using ::testing::ElementsAre;
using testing::fresh_path;
using ::testing::HasSubstr;
using testing::HttpServer;
using testing::TarBuilder;

constexpr std::int64_t kLimit = 50'000;

/// More than is read at once, in small and large steps.
const std::vector<std::size_t> kSizes{10,        3'000'000, 20, 40'000,
                                      1'100'000, 2'100'000, 30, 5};

struct Form {
  const char* name;
  std::string bytes;
  std::function<Dataset(const std::string& file, const char* compression)> open;
};

std::string payload(std::size_t i) {
  return std::string(kSizes[i], static_cast<char>('a' + i));
}

std::vector<Form> forms() {
  std::string records;
  std::string lines;
  std::string rows = "\n\"he\nad\"\r\n";
  std::string objects;
  TarBuilder tar;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const std::string text = payload(i);
    tfrecord::append_record(text, records);
    lines += text + (i % 2 == 0 ? "\r\n" : "\n");
    // Line ends in quotes are no ends of records.
    const std::size_t half = text.size() / 2;
    rows += "\"" + text.substr(0, half) + "\n" + text.substr(half) + "\"\n";
    objects += "{\"a\": \"" + text + "\"}\n";
    const std::string key = "dir/" + std::to_string(i);
    tar.file(key + ".txt", text).file(key + ".cls", std::to_string(i));
  }
  return {{"tfrecord", records,
           [](const std::string& file, const char* compression) {
             return Dataset::tfrecord(file, {.compression = compression,
                                             .max_record_bytes = kLimit});
           }},
          {"text_lines", lines,
           [](const std::string& file, const char* compression) {
             return Dataset::text_lines(file, {.compression = compression,
                                               .max_record_bytes = kLimit});
           }},
          {"csv", rows,
           [](const std::string& file, const char* compression) {
             return Dataset::csv(file, {.columns = {{"a", DType::kString}},
                                        .compression = compression,
                                        .max_record_bytes = kLimit});
           }},
          {"jsonl", objects,
           [](const std::string& file, const char* compression) {
             return Dataset::jsonl(
                 file, {{"a", DType::kString}},
                 {.compression = compression, .max_record_bytes = kLimit});
           }},
          {"tar", tar.finish(),
           [](const std::string& file, const char* compression) {
             return Dataset::tar(file, {.fields = {"txt", "cls"},
                                        .compression = compression,
                                        .max_record_bytes = kLimit});
           }}};
}

std::string packed(std::string_view bytes, Compression compression) {
  if (compression == Compression::kNone) return std::string(bytes);
  auto compressor = Compressor::make(compression).value();
  std::string out;
  EXPECT_TRUE(compressor->add(bytes, out).ok());
  EXPECT_TRUE(compressor->finish(out).ok());
  return out;
}

std::string file_of(std::string_view bytes) {
  const std::string path = fresh_path();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

constexpr std::pair<Compression, const char*> kCompressions[] = {
    {Compression::kNone, ""},
    {Compression::kGzip, "GZIP"},
    {Compression::kZstd, "ZSTD"}};

void expect_all_but_the_large(const std::vector<std::string>& got) {
  ASSERT_EQ(got.size(), kSizes.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool refused = kSizes[i] > 50'000;
    ASSERT_EQ(got[i][0] == '!', refused) << i << ": " << got[i].substr(0, 200);
    if (refused) {
      EXPECT_THAT(got[i],
                  HasSubstr("record " + std::to_string(i) + " at byte"));
      EXPECT_THAT(got[i], HasSubstr("max_record_bytes is 50000"));
    } else {
      EXPECT_THAT(got[i], HasSubstr(payload(i).substr(0, 2)));
    }
  }
}

TEST(RefusedRecords, TheNextWholeOneFollowsInEveryFormatAndCompression) {
  for (const Form& form : forms()) {
    for (const auto& [compression, name] : kCompressions) {
      SCOPED_TRACE(std::string(form.name) + " " + name);
      const std::string file = file_of(packed(form.bytes, compression));
      expect_all_but_the_large(drain(form.open(file, name)));
      EXPECT_EQ(form.open(file, name).ignore_errors().to_list().size(),
                kSizes.size() - 3);
    }
  }
}

TEST(RefusedRecords, TheNextWholeOneFollowsInFilesOfTheNet) {
  HttpServer server;
  set_http_options({.retries = 3, .backoff = 0.001});
  for (const Form& form : forms()) {
    for (const auto& [compression, name] : kCompressions) {
      SCOPED_TRACE(std::string(form.name) + " " + name);
      const std::string file = std::string("/") + form.name + name;
      server.serve(file, packed(form.bytes, compression));
      expect_all_but_the_large(drain(form.open(server.url(file), name)));
    }
  }
  set_http_options({});
}

TEST(RefusedRecords, ARestoredIteratorGivesTheSameElements) {
  for (const Form& form : forms()) {
    for (const auto& [compression, name] : kCompressions) {
      const Dataset ds =
          form.open(file_of(packed(form.bytes, compression)), name);
      const auto all = drain(ds);
      for (std::size_t n = 0; n <= all.size(); ++n) {
        SCOPED_TRACE(std::string(form.name) + " " + name + " at " +
                     std::to_string(n));
        Iterator it = ds.iterator();
        for (std::size_t i = 0; i < n; ++i) it.try_next().IgnoreError();
        Iterator rest = ds.iterator(it.state_dict());
        EXPECT_EQ(drain(rest),
                  std::vector<std::string>(
                      all.begin() + static_cast<std::ptrdiff_t>(n), all.end()));
      }
    }
  }
}

/// A header whose checksum fits and whose length leads out of the file.
std::string lying_header(std::uint64_t length) {
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  const std::uint32_t crc = tfrecord::masked_crc(bytes);
  return bytes.append(reinterpret_cast<const char*>(&crc), 4);
}

TEST(RefusedRecords, ALengthThatLeadsOutOfTheFileHidesNoOtherRecord) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 40,
        std::uint64_t{60'000'000}, std::uint64_t{40'000}}) {
    std::string bytes;
    tfrecord::append_record("first", bytes);
    bytes += lying_header(length) + std::string(2'000, 'x');
    tfrecord::append_record("second", bytes);
    tfrecord::append_record("third", bytes);
    for (const auto& [compression, name] : kCompressions) {
      for (const UseIndex index : {UseIndex::kAuto, UseIndex::kNever}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(length));
        const Dataset ds = Dataset::tfrecord(
            file_of(packed(bytes, compression)),
            {.compression = name, .index = index, .max_record_bytes = kLimit});
        EXPECT_THAT(
            drain(ds),
            ElementsAre(HasSubstr("first"), HasSubstr("record 1 at byte 21: "),
                        HasSubstr("second"), HasSubstr("third")));
      }
    }
  }
}

TEST(RefusedRecords, HoldsNoMoreThanALimitAndARead) {
  const std::string text(60'000'000, 'x');
  const std::string file =
      file_of(packed("a\n" + text + "\nb\n", Compression::kZstd));
  const Dataset ds = Dataset::text_lines(
      file, {.compression = "ZSTD", .max_record_bytes = kLimit});
  const std::size_t before = BufferPool::live_bytes();
  Iterator it = ds.iterator();
  std::size_t most = 0;
  while (true) {
    const auto next = it.try_next();
    most = std::max(most, BufferPool::live_bytes() - before);
    if (next.ok() && !*next) break;
  }
  EXPECT_LT(most, std::size_t{8} << 20);
}

TEST(RefusedRecords, LinesToSkipMayBeLarge) {
  const std::string file = file_of(std::string(2'000'000, 'h') + "\nh\na\nb\n");
  const Dataset ds =
      Dataset::text_lines(file, {.skip_lines = 2, .max_record_bytes = kLimit});
  EXPECT_THAT(drain(ds), ElementsAre(HasSubstr("a"), HasSubstr("b")));
}

TEST(RefusedRecords, SamplesBehindADamagedHeaderAreFound) {
  TarBuilder tar;
  for (int i = 0; i < 4; ++i) {
    const std::string key = std::to_string(i);
    tar.file(key + ".a", "A" + key).file(key + ".b", "B" + key);
  }
  const std::string whole = tar.finish();
  // The headers of both files of sample 1: it is lost, and only it.
  for (const std::size_t at : {2048u, 3072u}) {
    for (const std::size_t byte : {0u, 2u, 100u, 130u, 150u, 156u, 300u}) {
      for (const auto& [compression, name] : kCompressions) {
        SCOPED_TRACE(std::to_string(at) + " " + std::to_string(byte) + name);
        std::string bytes = whole;
        bytes[at + byte] ^= 16;
        const Dataset ds =
            Dataset::tar(file_of(packed(bytes, compression)),
                         {.fields = {"a", "b"}, .compression = name})
                .ignore_errors();
        std::vector<std::string> keys;
        for (const Element& e : ds.to_list()) {
          keys.emplace_back(e["__key__"].str());
        }
        EXPECT_THAT(keys, ElementsAre("0", "2", "3"));
      }
    }
  }
}

TEST(RefusedRecords, ASampleThatIsCutIsNotGivenInPart) {
  TarBuilder tar;
  for (int i = 0; i < 3; ++i) {
    const std::string key = "sample" + std::to_string(i);
    tar.file(key + ".a", std::string(700, 'a')).file(key + ".b", "B");
  }
  const std::string whole = tar.finish();
  // .a has 1536 bytes with its padding, .b 1024.
  for (std::size_t cut = 1; cut < 3 * 2560; cut += 37) {
    SCOPED_TRACE(cut);
    const auto got = drain(
        Dataset::tar(file_of(whole.substr(0, cut)), {.fields = {"a", "b"}}));
    std::size_t good = 0;
    for (const std::string& row : got) good += row[0] == '!' ? 0 : 1;
    EXPECT_EQ(good, cut / 2560);
    EXPECT_EQ(got.size() - good, cut % 2560 == 0 ? 0 : 1);
  }
}

TEST(RefusedRecords, ASampleThatIsCutInThePaddingOfItsFirstFileIsRefused) {
  TarBuilder tar;
  tar.file("0.a", "A").file("0.b", "B").file("1.a", "A").file("1.b", "B");
  const std::string whole = tar.finish();
  // Of sample 1, .a begins at 2048: a header, a byte and 511 of padding.
  for (const std::size_t cut : {2561u, 2562u, 3071u}) {
    SCOPED_TRACE(cut);
    const auto got = drain(Dataset::tar(file_of(whole.substr(0, cut))));
    ASSERT_EQ(got.size(), 2u);
    EXPECT_NE(got[0][0], '!');
    EXPECT_EQ(got[1][0], '!') << got[1];
    EXPECT_NE(got[1].find("record 1 at byte 2048: truncated"),
              std::string::npos)
        << got[1];
  }
}

// The name stands in a block of its own, in front of the header that is cut.
TEST(RefusedRecords, ASampleOfLongNamesThatIsCutIsNotGivenInPart) {
  const std::string key(120, 'n');
  TarBuilder tar;
  tar.file("0.a", "A").file(key + ".a", "A").file(key + ".b", "B");
  const std::string whole = tar.finish();
  const std::size_t second = 1024 + 2048;  // where the file .b begins
  for (const std::size_t cut : {700u, 1100u, 1500u, 1600u, 2047u}) {
    const auto got = drain(Dataset::tar(file_of(whole.substr(0, second + cut)),
                                        {.fields = {"a"}}));
    SCOPED_TRACE(cut);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_NE(got[0][0], '!');
    EXPECT_EQ(got[1][0], '!');
  }
}

// A state counts records, refused ones too.
TEST(RefusedRecords, TheLimitIsPartOfEveryReader) {
  const auto differ = [](const auto& make) {
    return make(kLimit).node()->fingerprint() !=
           make(kLimit + 1).node()->fingerprint();
  };
  const std::string file = file_of("{}");
  EXPECT_TRUE(differ([&](std::int64_t limit) {
    return Dataset::jsonl(file, {{"a", DType::kInt64}},
                          {.max_record_bytes = limit});
  }));
  EXPECT_TRUE(differ([&](std::int64_t limit) {
    return Dataset::text_lines(file, {.max_record_bytes = limit});
  }));
  EXPECT_TRUE(differ([&](std::int64_t limit) {
    return Dataset::csv(
        file, {.columns = {{"a", DType::kInt64}}, .max_record_bytes = limit});
  }));
  EXPECT_TRUE(differ([&](std::int64_t limit) {
    return Dataset::tar(file, {.fields = {"a"}, .max_record_bytes = limit});
  }));
}

}  // namespace
}  // namespace penstock
