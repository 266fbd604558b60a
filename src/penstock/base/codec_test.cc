#include "penstock/base/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "penstock/base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxU = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMaxI = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinI = std::numeric_limits<std::int64_t>::min();

TEST(Codec, RoundTripsEverything) {
  Encoder out;
  const std::vector<std::uint64_t> us = {0,     1,     127,        128,
                                         16383, 16384, 1ull << 63, kMaxU};
  const std::vector<std::int64_t> is = {0, -1, 1, 63, -64, 64, kMaxI, kMinI};
  for (const std::uint64_t v : us) out.u64(v);
  for (const std::int64_t v : is) out.i64(v);
  out.fixed64(0x0123456789abcdef);
  out.f64(-0.0);
  out.f64(std::numeric_limits<double>::infinity());
  out.boolean(true);
  out.boolean(false);
  out.bytes(std::string_view("a\0b", 3));
  out.bytes("");
  Decoder in(out.str());
  for (const std::uint64_t v : us) EXPECT_EQ(in.u64(), v);
  for (const std::int64_t v : is) EXPECT_EQ(in.i64(), v);
  EXPECT_EQ(in.fixed64(), 0x0123456789abcdefull);
  EXPECT_TRUE(std::signbit(in.f64()));
  EXPECT_TRUE(std::isinf(in.f64()));
  EXPECT_TRUE(in.boolean());
  EXPECT_FALSE(in.boolean());
  EXPECT_EQ(in.bytes(), std::string_view("a\0b", 3));
  EXPECT_EQ(in.bytes(), "");
  EXPECT_TRUE(in.at_end());
  EXPECT_TRUE(in.status("x").ok());
}

TEST(Codec, SmallNumbersAreOneByte) {
  Encoder out;
  out.u64(127);
  out.i64(-64);
  out.i64(63);
  EXPECT_EQ(out.size(), 3u);
}

TEST(Decoder, EveryTruncationFailsAndSticks) {
  Encoder out;
  out.u64(kMaxU);
  out.bytes("hello");
  out.fixed64(7);
  for (std::size_t cut = 0; cut < out.size(); ++cut) {
    Decoder in(std::string_view(out.str()).substr(0, cut));
    in.u64();
    in.bytes();
    in.fixed64();
    EXPECT_FALSE(in.ok()) << cut;
    EXPECT_EQ(in.u64(), 0u);  // nothing is read after a failure
    EXPECT_EQ(in.bytes(), "");
    EXPECT_EQ(in.status("a state").code(), StatusCode::kDataLoss);
    EXPECT_NE(in.status("a state").message().find("a state"),
              absl::string_view::npos);
  }
}

TEST(Decoder, AVarintThatDoesNotFitFails) {
  // Ten bytes of which the last has more than the one bit that is left.
  std::string over(9, '\xff');
  over += '\x02';
  EXPECT_EQ(Decoder(over).u64(), 0u);
  Decoder in(over);
  in.u64();
  EXPECT_FALSE(in.ok());
  // Eleven bytes, never ending.
  const std::string endless(11, '\x80');
  Decoder never(endless);
  never.u64();
  EXPECT_FALSE(never.ok());
  // The largest that fits.
  std::string most(9, '\xff');
  most += '\x01';
  Decoder fits(most);
  EXPECT_EQ(fits.u64(), kMaxU);
  EXPECT_TRUE(fits.ok());
}

TEST(Decoder, ALengthBeyondTheInputFailsWithoutAllocating) {
  Encoder out;
  out.u64(kMaxU);
  out.raw("abc");
  Decoder in(out.str());
  EXPECT_EQ(in.bytes(), "");
  EXPECT_FALSE(in.ok());
  Decoder raw("abc");
  EXPECT_EQ(raw.raw(4), "");
  EXPECT_FALSE(raw.ok());
}

TEST(Decoder, ACountIsBoundedByTheBytesThatAreLeft) {
  const auto count = [](std::uint64_t n, std::size_t left,
                        std::size_t item_bytes) {
    Encoder out;
    out.u64(n);
    out.raw(std::string(left, 'x'));
    Decoder in(out.str());
    const std::size_t got = in.count(item_bytes);
    return in.ok() ? static_cast<std::int64_t>(got) : -1;
  };
  EXPECT_EQ(count(10, 10, 1), 10);
  EXPECT_EQ(count(11, 10, 1), -1);
  EXPECT_EQ(count(5, 10, 2), 5);
  EXPECT_EQ(count(6, 10, 2), -1);
  EXPECT_EQ(count(kMaxU, 10, 1), -1);
  EXPECT_EQ(count(0, 0, 8), 0);
}

TEST(Decoder, RandomBytesNeverReadOutside) {
  RandomStream random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.below(40), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    Decoder in(bytes);
    for (int i = 0; i < 12; ++i) {
      switch (random.below(6)) {
        case 0:
          in.u64();
          break;
        case 1:
          in.i64();
          break;
        case 2:
          in.fixed64();
          break;
        case 3:
          EXPECT_LE(in.bytes().size(), bytes.size());
          break;
        case 4:
          EXPECT_LE(in.count(1), bytes.size());
          break;
        case 5:
          in.boolean();
          break;
      }
      EXPECT_LE(in.remaining(), bytes.size());
    }
  }
}

TEST(Crc32c, GivesThePublishedAnswers) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, ContinuesFromASeed) {
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
}

std::uint32_t crc32c_by_bits(std::string_view data, std::uint32_t seed = 0) {
  std::uint32_t crc = ~seed;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    }
  }
  return ~crc;
}

TEST(Crc32c, IsTheSameForEveryLengthAndPlace) {
  std::string bytes(130'000, '\0');
  std::uint32_t state = 1;
  for (char& c : bytes) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  const std::string_view all = bytes;
  std::uint32_t expected = crc32c("");
  for (std::size_t n = 0; n < 3'000; ++n) {
    ASSERT_EQ(crc32c(all.substr(0, n)), expected) << n;
    expected = crc32c_by_bits(all.substr(n, 1), expected);
  }
  // Around the lengths of steps and blocks, anywhere in memory.
  for (const std::size_t steps : {2u, 3u, 8u, 255u, 256u, 257u, 512u}) {
    for (const std::size_t more : {0u, 1u, 8u, 247u}) {
      const auto part = all.substr(steps % 17 + more % 3, steps * 248 + more);
      ASSERT_EQ(crc32c(part, 77), crc32c_by_bits(part, 77)) << part.size();
    }
  }
}

TEST(Fingerprint, DependsOnOrderLengthAndContent) {
  const auto of = [](std::vector<std::string> parts) {
    Fingerprint fp;
    for (const std::string& p : parts) fp.add(p);
    return fp.hex();
  };
  EXPECT_EQ(of({"a", "b"}), of({"a", "b"}));
  EXPECT_NE(of({"a", "b"}), of({"b", "a"}));
  EXPECT_NE(of({"ab"}), of({"a", "b"}));
  EXPECT_NE(of({"a", ""}), of({"", "a"}));
  EXPECT_NE(of({std::string(1, '\0')}), of({std::string(2, '\0')}));
  EXPECT_NE(of({}), of({""}));
  EXPECT_EQ(of({"a"}).size(), 32u);
}

}  // namespace
}  // namespace penstock
