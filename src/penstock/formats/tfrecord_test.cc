#include "penstock/formats/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hex.h"

namespace penstock::tfrecord {
namespace {

using testing::from_hex;

// Written by TensorFlow 2.21 (tf.io.TFRecordWriter).
TEST(TFRecordFraming, WritesTheBytesThatTensorFlowWrites) {
  const std::string wanted = from_hex(
      "000000000000000029039807d8ea82a201000000000000000175de4161786ee4280b"
      "000000000000008615f50468656c6c6f20776f726c64007ed86d2000000000000000"
      "29eda950000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d"
      "1e1f92781f95");
  std::string bytes;
  append_record("", bytes);
  append_record("a", bytes);
  append_record("hello world", bytes);
  std::string counted;
  for (char c = 0; c < 32; ++c) counted.push_back(c);
  append_record(counted, bytes);
  EXPECT_EQ(bytes, wanted);
}

TEST(TFRecordFraming, CutsOnlyWholeRecordsAndTellsWhatIsNeeded) {
  std::string bytes;
  append_record("abc", bytes);
  append_record(std::string(1000, 'x'), bytes);
  const RecordSplitter splitter(true);
  SplitOutput out;
  SplitInput in;
  in.bytes = std::string_view(bytes).substr(0, 100);
  in.max_rows = 10;
  in.max_payload = 1 << 20;
  in.max_record_bytes = 1 << 20;
  splitter.split(in, out);
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_EQ(in.bytes.substr(out.rows[0].begin, out.rows[0].size), "abc");
  EXPECT_EQ(out.consumed, 19u);
  EXPECT_EQ(out.needed, 1016u);
  EXPECT_FALSE(out.stop);
}

TEST(TFRecordFraming, ADamagedLengthIsSaidBeforeTheNextRecordIsSearched) {
  std::string bytes;
  append_record("abc", bytes);
  append_record(std::string(1000, 'x'), bytes);
  bytes[19] ^= 1;
  const RecordSplitter splitter(true);
  SplitOutput out;
  SplitInput in;
  in.bytes = bytes;  // and more to come
  in.max_rows = 10;
  in.max_payload = 1 << 20;
  in.max_record_bytes = 1 << 20;
  splitter.split(in, out);
  ASSERT_EQ(out.rows.size(), 1u);
  ASSERT_EQ(out.consumed, 19u);
  in.bytes.remove_prefix(out.consumed);
  in.offset = 19;
  in.record = 1;
  out.clear();
  splitter.split(in, out);
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_THAT(std::string(out.rows[0].error.message()),
              ::testing::HasSubstr("record 1 at byte 19: corrupt length"));
  EXPECT_TRUE(out.passing.active);
  EXPECT_EQ(out.consumed, 1u);
  // Nothing more is said when it is found, or not.
  in.bytes.remove_prefix(1);
  in.offset = 20;
  in.record = 2;
  std::string more(in.bytes);
  append_record("next", more);
  in.bytes = more;
  out.clear();
  splitter.split(in, out);
  ASSERT_EQ(out.rows.size(), 1u);
  EXPECT_TRUE(out.rows[0].error.ok());
  EXPECT_EQ(in.bytes.substr(out.rows[0].begin, out.rows[0].size), "next");
}

TEST(TFRecordFraming, StopsAtTheRowsAndBytesAskedFor) {
  std::string bytes;
  for (int i = 0; i < 10; ++i) append_record("0123456789", bytes);
  const RecordSplitter splitter(true);
  SplitInput in;
  in.bytes = bytes;
  in.at_end = true;
  in.max_rows = 4;
  in.max_payload = 1000;
  in.max_record_bytes = 1000;
  SplitOutput out;
  splitter.split(in, out);
  EXPECT_EQ(out.rows.size(), 4u);
  EXPECT_EQ(out.consumed, 4u * 26);
  out.clear();
  in.max_rows = 100;
  in.max_payload = 25;
  splitter.split(in, out);
  EXPECT_EQ(out.rows.size(), 3u);
}

// Records of every length around the widths that checksums are made of.
TEST(TFRecordFraming, FindsEveryFlippedBitOfRecordsSideBySide) {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
  for (const std::size_t size : {0u, 1u, 2u, 3u, 4u, 7u, 8u, 9u, 15u, 16u, 31u,
                                 100u, 255u, 256u, 257u, 1000u}) {
    std::string payload(size, 'x');
    for (std::size_t i = 0; i < size; ++i) {
      payload[i] = static_cast<char>(i * 7 + size);
    }
    append_record(payload, bytes);
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  const std::size_t n = offsets.size() - 1;
  EXPECT_EQ(first_damaged(bytes.data(), offsets.data(), 0, n, true), n);
  for (std::size_t k = 0; k < n; ++k) {
    const auto begin = static_cast<std::size_t>(offsets[k]);
    const auto end = static_cast<std::size_t>(offsets[k + 1]);
    for (std::size_t at = begin; at < end; ++at) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
      ASSERT_EQ(first_damaged(damaged.data(), offsets.data(), 0, n, true), k)
          << "byte " << at;
      ASSERT_EQ(first_damaged(damaged.data(), offsets.data(), k + 1, n, true),
                n);
      // Without looking at payloads only the head counts.
      ASSERT_EQ(first_damaged(damaged.data(), offsets.data(), 0, n, false),
                at - begin < kHeaderBytes ? k : n);
    }
  }
}

}  // namespace
}  // namespace penstock::tfrecord
