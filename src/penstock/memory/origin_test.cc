#include "penstock/memory/origin.h"

#include <gtest/gtest.h>

#include <set>

#include "penstock/base/random.h"

namespace penstock {
namespace {

using Kind = OriginPath::Kind;

std::vector<std::int64_t> ordinals(const Origins& origins, std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(origins.ordinal_at(i));
  return out;
}

TEST(Origin, PrintsItsPath) {
  const PathRef inner = OriginPath::extend(nullptr, Kind::kInner, 3);
  const PathRef again = OriginPath::extend(nullptr, Kind::kRepeat, 2);
  EXPECT_EQ((Origin{nullptr, 17}).to_string(), "17");
  EXPECT_EQ((Origin{inner, 17}).to_string(), "3.17");
  EXPECT_EQ((Origin{again, 17}).to_string(), "17 (repetition 2)");
  EXPECT_EQ(
      (Origin{OriginPath::extend(inner, Kind::kRepeat, 0), 1}).to_string(),
      "3.1");  // the first repetition is not worth a word
  EXPECT_EQ(
      (Origin{OriginPath::extend(again, Kind::kBranch, 1), 5}).to_string(),
      "5 (input 1, repetition 2)");
}

TEST(Origin, KeysDependOnTheWholePath) {
  std::set<std::uint64_t> keys;
  std::size_t made = 0;
  for (const Kind kind : {Kind::kRepeat, Kind::kBranch, Kind::kInner}) {
    for (std::int64_t a = 0; a < 10; ++a) {
      const PathRef outer = OriginPath::extend(nullptr, kind, a);
      for (std::int64_t b = 0; b < 10; ++b) {
        const PathRef path = OriginPath::extend(outer, Kind::kInner, b);
        for (std::int64_t i = 0; i < 10; ++i) {
          keys.insert(Origin{path, i}.key());
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), made);
  // Equal paths made apart give equal keys.
  EXPECT_EQ((Origin{OriginPath::extend(nullptr, Kind::kInner, 1), 2}).key(),
            (Origin{OriginPath::extend(nullptr, Kind::kInner, 1), 2}).key());
}

TEST(Origins, AreAffineOrListed) {
  const PathRef path = OriginPath::extend(nullptr, Kind::kInner, 1);
  const Origins affine(path, 10, -3);
  EXPECT_EQ(ordinals(affine, 4), (std::vector<std::int64_t>{10, 7, 4, 1}));
  EXPECT_EQ(ordinals(affine.slice(2), 2), (std::vector<std::int64_t>{4, 1}));
  const Origins listed(path, {5, 1, 9});
  EXPECT_EQ(listed.slice(1).at(1).to_string(), "1.9");
  const std::int64_t rows[] = {2, 0, 0};
  EXPECT_EQ(ordinals(affine.select(rows), 3),
            (std::vector<std::int64_t>{4, 10, 10}));
  EXPECT_EQ(ordinals(listed.slice(1).select(std::span(rows).subspan(1)), 2),
            (std::vector<std::int64_t>{1, 1}));
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(listed.key_at(i), listed.at(i).key());
    EXPECT_EQ(affine.key_at(i), affine.at(i).key());
  }
}

TEST(OriginsBuilder, StaysAffineWherePiecesContinue) {
  OriginsBuilder builder;
  builder.append(Origins(nullptr, 4, 2), 1, 3);  // 6, 8, 10
  builder.append(Origins(nullptr, 12, 2), 0, 2);
  builder.append(Origins(nullptr, 16), 0, 1);  // a single one fits any step
  const Origins out = builder.finish();
  EXPECT_TRUE(out.affine());
  EXPECT_EQ(ordinals(out, 6),
            (std::vector<std::int64_t>{6, 8, 10, 12, 14, 16}));
}

// Against a plain list, for every kind of piece.
TEST(OriginsBuilder, JoinsAnyPieces) {
  RandomStream random(4);
  const PathRef paths[] = {nullptr,
                           OriginPath::extend(nullptr, Kind::kInner, 1),
                           OriginPath::extend(nullptr, Kind::kRepeat, 2)};
  for (int round = 0; round < 500; ++round) {
    OriginsBuilder builder;
    std::vector<Origin> expected;
    const std::uint64_t pieces = random.below(6);
    const std::uint64_t variety = 1 + random.below(3);
    for (std::uint64_t p = 0; p < pieces; ++p) {
      const PathRef path = paths[random.below(variety)];
      const auto base = static_cast<std::int64_t>(random.below(4));
      Origins piece;
      switch (random.below(4)) {
        case 0:
          piece = Origins(path, base, 1);
          break;
        case 1:
          piece = Origins(path, base, 3);
          break;
        case 2:
          piece = Origins(path, {7, base, 2, 2, 5, 0});
          break;
        case 3:
          piece = Origins(std::vector<Origin>{{path, base},
                                              {nullptr, 1},
                                              {path, 2},
                                              {path, 3},
                                              {paths[1], 4},
                                              {path, 5}});
          break;
      }
      const auto begin = static_cast<std::int64_t>(random.below(3));
      const auto count = static_cast<std::int64_t>(random.below(4));
      builder.append(piece, begin, count);
      for (std::int64_t i = 0; i < count; ++i) {
        expected.push_back(piece.at(begin + i));
      }
      if (random.below(3) == 0) {
        builder.append(Origin{path, base});
        expected.push_back({path, base});
      }
    }
    const Origins out = builder.finish();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Origin got = out.at(static_cast<std::int64_t>(i));
      ASSERT_EQ(got.ordinal, expected[i].ordinal) << round;
      ASSERT_EQ(path_hash(got.path), path_hash(expected[i].path)) << round;
    }
  }
}

}  // namespace
}  // namespace penstock
