#include "penstock/formats/compression.h"

#include <gtest/gtest.h>

#include "penstock/formats/tfrecord.h"
#include "tests/support/hex.h"

namespace penstock {
namespace {

using testing::from_hex;

/// Feeds `in` in pieces of `step` bytes to an output of `room` bytes.
StatusOr<std::string> expand(Compression c, std::string_view in,
                             std::size_t step, std::size_t room,
                             bool* complete = nullptr) {
  const auto decompressor = Decompressor::make(c);
  std::string out;
  std::string piece(room, '\0');
  std::size_t at = 0;
  for (;;) {
    const std::string_view given = in.substr(at, step);
    PS_ASSIGN_OR_RETURN(const auto progress,
                        decompressor->run(given, piece.data(), room));
    at += progress.read;
    out.append(piece, 0, progress.written);
    if (progress.read == 0 && progress.written == 0) break;
  }
  if (complete != nullptr) *complete = decompressor->complete();
  return out;
}

std::string squeeze(Compression c, std::string_view in, int level = -1) {
  auto compressor = Compressor::make(c, level).value();
  std::string out;
  for (std::size_t at = 0; at < in.size(); at += 1000) {
    EXPECT_TRUE(compressor->add(in.substr(at, 1000), out).ok());
  }
  EXPECT_TRUE(compressor->finish(out).ok());
  return out;
}

std::string compression_sample() {
  std::string text;
  std::uint64_t x = 1;
  for (int i = 0; i < 30'000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    text += "word" + std::to_string((x >> 60) & 7);
  }
  return text;
}

constexpr Compression kAll[] = {Compression::kGzip, Compression::kZlib,
                                Compression::kZstd};

TEST(Compression, RoundTripsInPiecesOfAnySize) {
  const std::string text = compression_sample();
  const std::pair<std::size_t, std::size_t> sizes[] = {
      {1, 100}, {100, 1}, {4096, 100'000}, {1u << 20, 1u << 20}};
  for (const Compression c : kAll) {
    for (const int level : {-1, 1, 9}) {
      const std::string small = squeeze(c, text, level);
      EXPECT_LT(small.size(), text.size() / 2);
      for (const auto& [step, room] : sizes) {
        bool complete = false;
        const auto got = expand(c, small, step, room, &complete);
        ASSERT_TRUE(got.ok()) << got.status();
        EXPECT_EQ(*got, text);
        EXPECT_TRUE(complete);
      }
    }
  }
}

TEST(Compression, StreamsOneAfterTheOtherAreOne) {
  for (const Compression c : {Compression::kGzip, Compression::kZstd}) {
    const std::string both =
        squeeze(c, "first ") + squeeze(c, "") + squeeze(c, "second");
    for (const std::size_t step : {1u, 3u, 1000u}) {
      const auto got = expand(c, both, step, 4);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(*got, "first second");
    }
  }
}

TEST(Compression, CutStreamIsNotComplete) {
  for (const Compression c : kAll) {
    const std::string small = squeeze(c, "some text, some more text");
    for (std::size_t cut = 1; cut < small.size(); ++cut) {
      bool complete = true;
      const auto got = expand(c, small.substr(0, cut), 1000, 1000, &complete);
      EXPECT_FALSE(got.ok() && complete) << cut;
    }
  }
}

TEST(Compression, FlippedBitsNeverGiveOtherBytesSilently) {
  const std::string text = "some text, some more text, and more text";
  for (const Compression c : kAll) {
    const std::string small = squeeze(c, text);
    for (std::size_t bit = 0; bit < 8 * small.size(); ++bit) {
      std::string damaged = small;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      bool complete = false;
      const auto got = expand(c, damaged, 1000, 1000, &complete);
      if (got.ok() && complete) {
        EXPECT_EQ(*got, text) << bit;
      }
    }
  }
}

/// What a stream gives before it fails, into pieces of `room` bytes.
std::string before_damage(Compression c, std::string_view in, std::size_t room,
                          Status& status) {
  const auto decompressor = Decompressor::make(c);
  std::string out;
  std::string piece(room, '\0');
  for (;;) {
    const auto progress = decompressor->run(in, piece.data(), room);
    status = progress.status();
    if (!status.ok()) return out;
    out.append(piece, 0, progress->written);
    in.remove_prefix(progress->read);
    if (progress->read == 0 && progress->written == 0) return out;
  }
}

TEST(Compression, WhatComesBeforeDamageIsGiven) {
  const std::string text = compression_sample();
  for (const Compression c : kAll) {
    const std::string whole = squeeze(c, text);
    std::string bad_sum = whole;
    bad_sum.back() = static_cast<char>(bad_sum.back() ^ 1);
    if (c == Compression::kGzip) {  // its last four bytes are the size
      bad_sum = whole;
      bad_sum[whole.size() - 5] =
          static_cast<char>(bad_sum[whole.size() - 5] ^ 1);
    }
    for (const std::size_t room : {std::size_t{7}, std::size_t{1} << 20}) {
      for (const std::string& in : {whole + "junk", bad_sum}) {
        Status status;
        EXPECT_EQ(before_damage(c, in, room, status), text)
            << compression_name(c) << " " << room;
        EXPECT_EQ(status.code(), StatusCode::kDataLoss);
      }
      std::string zeros = whole;
      std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2),
                zeros.end(), '\xff');
      Status status;
      const std::string some = before_damage(c, zeros, room, status);
      // zstd checks and writes whole blocks of 128 KiB.
      const std::size_t least = c == Compression::kZstd ? 0 : text.size() / 4;
      EXPECT_GT(some.size() + 1, least) << compression_name(c) << " " << room;
      EXPECT_EQ(some.substr(0, least), text.substr(0, least));
    }
  }
}

// A state is restored by reading up to its place, in other pieces.
TEST(Compression, WhatComesBeforeDamageDoesNotHangOnThePieces) {
  const std::string text = compression_sample().substr(0, 200);
  for (const Compression c : kAll) {
    const std::string whole = squeeze(c, text);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      Status status;
      const std::string all = before_damage(c, damaged, 1000, status);
      for (const std::size_t room : {std::size_t{1}, std::size_t{33}}) {
        Status other;
        ASSERT_EQ(before_damage(c, damaged, room, other), all)
            << compression_name(c) << " bit " << bit << " in pieces of "
            << room;
        EXPECT_EQ(other, status);
      }
    }
  }
}

// Written by TensorFlow 2.21 with TFRecordOptions("GZIP") and ("ZLIB").
TEST(Compression, ReadsWhatTensorFlowWrites) {
  std::string wanted;
  tfrecord::append_record("one", wanted);
  tfrecord::append_record("two", wanted);
  tfrecord::append_record("oneoneoneoneone", wanted);
  const std::string gzip = from_hex(
      "1f8b0800000000000003636680800d333df9f2f352191d42399891844acaf33b27"
      "9ce4e4870ae5066b73025521a30ff77a57030082f4a8f845000000");
  const std::string zlib = from_hex(
      "789c636680800d333df9f2f352191d42399891844acaf33b279ce4e4870ae5066b"
      "73025521a30ff77a570300eae812bf");
  EXPECT_EQ(expand(Compression::kGzip, gzip, 1000, 1000).value(), wanted);
  EXPECT_EQ(expand(Compression::kZlib, zlib, 1000, 1000).value(), wanted);
}

TEST(Compression, IsToldByTheFirstBytes) {
  EXPECT_EQ(sniff_compression(squeeze(Compression::kGzip, "a"), true),
            Compression::kGzip);
  EXPECT_EQ(sniff_compression(squeeze(Compression::kZstd, "a"), true),
            Compression::kZstd);
  EXPECT_EQ(sniff_compression(squeeze(Compression::kZlib, "a"), true),
            Compression::kZlib);
  EXPECT_EQ(sniff_compression(squeeze(Compression::kZlib, "a"), false),
            Compression::kNone);
  EXPECT_EQ(sniff_compression("", true), Compression::kNone);
  EXPECT_EQ(sniff_compression("plain text", true), Compression::kNone);
}

TEST(Compression, ZlibIsToldFromTextThatBeginsLikeIt) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "x^2 + " + std::to_string(i) + "\n";
  for (const int level : {0, 1, 3, 6, 9}) {
    for (const std::string& plain : {std::string("a"), text}) {
      const std::string zlib = squeeze(Compression::kZlib, plain, level);
      EXPECT_TRUE(looks_like_zlib(zlib, true)) << level;
      EXPECT_TRUE(looks_like_zlib(zlib.substr(0, 16), false)) << level;
    }
  }
  for (const char second : {'\x01', '^', '\x9c', '\xda'}) {
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const std::string like = std::string{'x', second} + text.substr(0, size);
      EXPECT_FALSE(looks_like_zlib(like, true)) << like;
      if (size > 500) {
        EXPECT_FALSE(looks_like_zlib(like, false)) << like;
      }
    }
  }
}

}  // namespace
}  // namespace penstock
