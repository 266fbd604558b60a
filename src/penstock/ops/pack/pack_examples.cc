#include <algorithm>

#include "tests/support/example.h"

namespace penstock::testing {
namespace {

using Sequence = std::vector<std::int32_t>;

// Sequence x has x % 5 + 1 values, x * 10, x * 10 + 1, ...
Sequence sequence(std::int64_t x) {
  Sequence out;
  for (std::int64_t i = 0; i <= x % 5; ++i) {
    out.push_back(static_cast<std::int32_t>(x * 10 + i));
  }
  return out;
}

Tensor tokens(std::int64_t x) { return Tensor::from(sequence(x)); }

Element row_of(const std::vector<Sequence>& segments, std::size_t length) {
  Sequence values;
  Sequence ids;
  Sequence positions;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    for (std::size_t i = 0; i < segments[k].size(); ++i) {
      values.push_back(segments[k][i]);
      ids.push_back(static_cast<std::int32_t>(k + 1));
      positions.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (Sequence* s : {&values, &ids, &positions}) s->resize(length, 0);
  return Element::tuple(
      {Tensor::from(values), Tensor::from(ids), Tensor::from(positions)});
}

// First fit over `open` rows.
std::vector<Element> packed(const std::vector<Sequence>& input,
                            std::size_t length, std::size_t open,
                            bool drop_remainder = false) {
  std::vector<Element> out;
  std::vector<std::vector<Sequence>> rows;
  const auto used = [](const std::vector<Sequence>& row) {
    std::size_t n = 0;
    for (const Sequence& s : row) n += s.size();
    return n;
  };
  const auto emit = [&] {
    out.push_back(row_of(rows.front(), length));
    rows.erase(rows.begin());
  };
  for (const Sequence& s : input) {
    auto to = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
      return used(row) + s.size() <= length;
    });
    if (to == rows.end()) {
      if (rows.size() == open) emit();
      rows.emplace_back();
      to = rows.end() - 1;
    }
    to->push_back(s);
    while (!rows.empty() && used(rows.front()) == length) emit();
  }
  while (!rows.empty() && !drop_remainder) emit();
  return out;
}

std::vector<Sequence> sequences(std::int64_t n) {
  std::vector<Sequence> out;
  for (std::int64_t x = 0; x < n; ++x) out.push_back(sequence(x));
  return out;
}

PENSTOCK_EXAMPLES(
    pack,
    {
        {.name = "in order",
         .make = [] { return Dataset::range(23).map(tokens).pack(7); },
         .model = [] { return packed(sequences(23), 7, 1); }},
        {.name = "first fit",
         .make =
             [] {
               return Dataset::range(40).map(tokens).pack(8, {.num_open = 3});
             },
         .model = [] { return packed(sequences(40), 8, 3); }},
        {.name = "first fit behind a filter",
         .make =
             [] {
               return Dataset::range(60)
                   .filter([](std::int64_t x) { return x % 3 != 1; })
                   .map(tokens)
                   .pack(6, {.num_open = 4});
             },
         .model =
             [] {
               std::vector<Sequence> input;
               for (std::int64_t x = 0; x < 60; ++x) {
                 if (x % 3 != 1) input.push_back(sequence(x));
               }
               return packed(input, 6, 4);
             }},
        {.name = "without the open rows",
         .make =
             [] {
               return Dataset::range(17).map(tokens).pack(
                   9, {.num_open = 2, .drop_remainder = true});
             },
         .model = [] { return packed(sequences(17), 9, 2, true); }},
        {.name = "one that is too long",
         .make =
             [] {
               return Dataset::range(4)
                   .map([](std::int64_t x) {
                     return Tensor::from(Sequence(x == 2 ? 9 : 2, 7));
                   })
                   .pack(5);
             },
         .model =
             [] {
               // The row is still open when the error is met.
               return std::vector<Element>{
                   failed(), row_of({{7, 7}, {7, 7}}, 5), row_of({{7, 7}}, 5)};
             }},
        {.name = "long ones split",
         .make =
             [] {
               return Dataset::range(9).map(tokens).pack(
                   3, {.num_open = 2, .split_long = true});
             },
         .model =
             [] {
               std::vector<Sequence> pieces;
               for (const Sequence& s : sequences(9)) {
                 for (std::size_t i = 0; i < s.size(); i += 3) {
                   pieces.emplace_back(
                       s.begin() + static_cast<std::ptrdiff_t>(i),
                       s.begin() + static_cast<std::ptrdiff_t>(
                                       std::min(s.size(), i + 3)));
                 }
               }
               return packed(pieces, 3, 2);
             }},
        {.name = "pairs of different length",
         .make =
             [] {
               return Dataset::range(30)
                   .map([](std::int64_t x) {
                     return Element::dict(
                         {{"inputs", tokens(x)}, {"targets", tokens(x + 2)}});
                   })
                   .pack({9, 7}, {.num_open = 2});
             }},
        {.name = "of nothing",
         .make = [] { return Dataset::range(0).map(tokens).pack(4); },
         .model = [] { return std::vector<Element>{}; }},
        {.name = "shuffled and batched",
         .make =
             [] {
               return Dataset::range(50)
                   .shuffle(10, 3)
                   .map(tokens)
                   .pack(8, {.num_open = 3})
                   .batch(4);
             }},
    });

}  // namespace
}  // namespace penstock::testing
