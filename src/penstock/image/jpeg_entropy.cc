#include "penstock/image/jpeg_entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::image {
namespace {

// Bits that are looked up at once. Of a photograph of high quality 97 % of the
// symbols with their values are no longer, and half of the pairs of them; 8 KiB
// a table stay in the cache.
constexpr int kLookup = 10;
constexpr int kLookupsPerRefill = 5;  // 50 of 57 bits

// An entry for what the next kLookup bits begin with: how many of them are used
// up, or with kPart the code alone, whose value did not fit. kPart and nothing
// else: a longer code.
using LookupEntry = std::uint64_t;
constexpr LookupEntry kLengthMask = 63;
constexpr LookupEntry kPart = 1U << 6;
// A second symbol may follow the first; what the first alone uses up, how far
// each goes on from the place of the last value, and their values.
constexpr int kFirstLengthShift = 8;
constexpr int kFirstStepShift = 16;
constexpr int kSecondStepShift = 24;
constexpr int kFirstValueShift = 32;
constexpr int kSecondValueShift = 48;
constexpr int kSizeShift = 32;  // with kPart: bits of the value

// The step of the symbol that ends a block: beyond all places.
constexpr unsigned kEndStep = 128;

// Where the values of a block go. Steps that lead out of it give nothing, or
// the block is damaged.
constexpr std::array<std::uint8_t, 256> kPlaces = [] {
  std::array<std::uint8_t, 256> places{};
  places.fill(63);
  int i = 0;
  for (int diagonal = 0; diagonal < 15; ++diagonal) {
    const int first = diagonal < 8 ? 0 : diagonal - 7;
    for (int n = first; n <= diagonal - first; ++n, ++i) {
      const int x = diagonal % 2 == 0 ? n : diagonal - n;
      places[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>((diagonal - x) * 8 + x);
    }
  }
  return places;
}();

// libjpeg refuses sums that do not fit an int; no valid one comes near this.
constexpr std::int32_t kMostDc = 1 << 20;

constexpr int extended_value(std::uint32_t raw, int size) {
  const auto value = static_cast<int>(raw);
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

std::uint64_t load_big_endian(const std::uint8_t* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::little) {
    word = __builtin_bswap64(word);
  }
  return word;
}

bool has_ff(std::uint64_t word) {
  const std::uint64_t zero_where_ff = ~word;
  return ((zero_where_ff - 0x0101010101010101U) & word & 0x8080808080808080U) !=
         0;
}

}  // namespace

struct JpegEntropy::Table {
  std::array<LookupEntry, 1U << kLookup> entries;
  // Of codes of n bits, as the first 16 bits that follow: the end of their
  // range, and what to add to a code for the place of its symbol.
  std::array<std::uint32_t, 17> ends;
  std::array<std::int32_t, 17> places;
  std::array<std::uint8_t, 17> counts = {};
  std::array<std::uint8_t, 256> symbols = {};
  bool valid = false;

  bool fill_single(bool ac);
  void pair_up();
};

// Entries of one symbol. False where the codes are none.
bool JpegEntropy::Table::fill_single(bool ac) {
  entries.fill(kPart);
  std::uint32_t code = 0;
  int place = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const auto n = static_cast<std::size_t>(length);
    this->places[n] = place - static_cast<int>(code);
    for (int i = 0; i < counts[n]; ++i, ++code, ++place) {
      if (place >= 256 || code >= 1U << length) return false;
      const int symbol = symbols[static_cast<std::size_t>(place)];
      const int run = ac ? symbol >> 4 : 0;
      const int size = ac ? symbol & 15 : symbol;
      if (size > 15) return false;
      if (length > kLookup) continue;
      const bool end = ac && size == 0 && run < 15;
      const LookupEntry step =
          LookupEntry{end ? kEndStep : static_cast<unsigned>(run) + 1}
          << kFirstStepShift;
      const int spare = kLookup - length;
      LookupEntry* const out = entries.data() + (code << spare);
      if (size > spare) {
        const LookupEntry part = LookupEntry{kPart} | step |
                                 static_cast<LookupEntry>(length) |
                                 static_cast<LookupEntry>(size) << kSizeShift;
        std::fill_n(out, 1U << spare, part);
        continue;
      }
      const auto used = static_cast<LookupEntry>(length + size);
      const LookupEntry entry = used | used << kFirstLengthShift | step;
      const int same = spare - size;
      for (std::uint32_t raw = 0; raw < 1U << size; ++raw) {
        const int value = size == 0 ? 0 : extended_value(raw, size);
        std::fill_n(out + (raw << same), 1U << same,
                    entry | LookupEntry{static_cast<std::uint16_t>(value)}
                                << kFirstValueShift);
      }
    }
    ends[n] = code << (16 - length);
  }
  return true;
}

// Adds the symbols that follow whole, from the entries for shorter rests.
void JpegEntropy::Table::pair_up() {
  const std::array<LookupEntry, 1U << kLookup> single = entries;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const LookupEntry first = single[i];
    const LookupEntry used = first & kLengthMask;
    if ((first & kPart) != 0 || (first >> kFirstStepShift & 255) == kEndStep) {
      continue;
    }
    const LookupEntry second = single[i << used & (single.size() - 1)];
    const LookupEntry both = used + (second & kLengthMask);
    if ((second & kPart) != 0 || both > kLookup) continue;
    entries[i] = (first & ~kLengthMask) | both |
                 (second >> kFirstStepShift & 255) << kSecondStepShift |
                 second >> kFirstValueShift << kSecondValueShift;
  }
}

JpegEntropy::JpegEntropy() : tables_(std::make_unique<Table[]>(2 * kTables)) {}
JpegEntropy::~JpegEntropy() = default;

bool JpegEntropy::set(Table& table, const std::uint8_t* counts,
                      const std::uint8_t* symbols, bool ac) {
  // Most files have the tables of the standard, one after the other.
  if (table.valid && std::equal(counts + 1, counts + 17, &table.counts[1]) &&
      std::equal(symbols, symbols + 256, table.symbols.begin())) {
    return true;
  }
  std::copy(counts, counts + 17, table.counts.begin());
  std::copy(symbols, symbols + 256, table.symbols.begin());
  table.valid = table.fill_single(ac);
  if (table.valid && ac) table.pair_up();
  return table.valid;
}

bool JpegEntropy::set_dc(int number, const std::uint8_t* counts,
                         const std::uint8_t* symbols) {
  return number >= 0 && number < kTables &&
         set(tables_[static_cast<std::size_t>(number)], counts, symbols, false);
}

bool JpegEntropy::set_ac(int number, const std::uint8_t* counts,
                         const std::uint8_t* symbols) {
  return number >= 0 && number < kTables &&
         set(tables_[static_cast<std::size_t>(kTables + number)], counts,
             symbols, true);
}

void JpegEntropy::begin(std::span<const std::uint8_t> data,
                        std::span<const Block> blocks,
                        std::uint32_t restart_interval) {
  in_ = {};
  in_.at = data.data();
  in_.end = data.data() + data.size();
  block_count_ = std::min(blocks.size(), blocks_.size());
  std::copy_n(blocks.begin(), block_count_, blocks_.begin());
  last_dc_ = {};
  restart_interval_ = restart_interval;
  units_left_ = restart_interval;
  next_restart_ = 0;
  gave_up_ = false;
}

// Takes and gives its argument by value: the caller's stays in registers.
[[gnu::noinline]] JpegEntropy::Reader JpegEntropy::refilled_by_bytes(
    Reader in) {
  while (in.count < 56) {
    const bool stuffed =
        in.end - in.at >= 2 && in.at[0] == 0xFF && in.at[1] == 0;
    if (in.at == in.end || (*in.at == 0xFF && !stuffed)) {
      in.missing += 8;
    } else {
      in.bits |= std::uint64_t{*in.at} << (56 - in.count);
      in.at += stuffed ? 2 : 1;
    }
    in.count += 8;
  }
  return in;
}

// At least 57 bits.
[[gnu::always_inline]] inline void JpegEntropy::refill(Reader& in) {
  if (in.end - in.at >= 8) [[likely]] {
    const std::uint64_t word = load_big_endian(in.at);
    if (!has_ff(word)) [[likely]] {
      // What lies below the bits that are counted is what comes next, so that
      // it may be set twice.
      in.bits |= word >> in.count;
      in.at += (63 - in.count) >> 3;
      in.count |= 56;
      return;
    }
  }
  in = refilled_by_bytes(in);
}

// The symbol of a code of more than kLookup bits, which is used up; -1 where
// there is none.
[[gnu::noinline]] int JpegEntropy::symbol_of_long_code(const Table& table,
                                                       Reader& in) {
  const auto next = static_cast<std::uint32_t>(in.bits >> 48);
  for (int length = kLookup + 1; length <= 16; ++length) {
    const auto n = static_cast<std::size_t>(length);
    if (next >= table.ends[n]) continue;
    in.bits <<= length;
    in.count -= length;
    const int place = static_cast<int>(next >> (16 - length)) + table.places[n];
    return table.symbols[static_cast<std::size_t>(place & 255)];
  }
  return -1;
}

// A value of `size` bits, 1 to 15.
[[gnu::always_inline]] inline int JpegEntropy::extended(Reader& in, int size) {
  const auto raw = static_cast<std::uint32_t>(in.bits >> (64 - size));
  in.bits <<= size;
  in.count -= size;
  return extended_value(raw, size);
}

[[gnu::always_inline]] inline bool JpegEntropy::decode_block(
    const Table& dc, const Table& ac, Reader& in, std::int32_t& last_dc,
    Coefficients& out) {
  const auto use = [&in](LookupEntry entry) {
    const auto used = static_cast<int>(entry & kLengthMask);
    in.bits <<= used;
    in.count -= used;
  };
  // The symbol of a code that was not looked up; -1 where there is none.
  const auto long_code = [&in](const Table& table) {
    Reader copy = in;  // whose address is taken: `in` stays in registers
    const int symbol = symbol_of_long_code(table, copy);
    in = copy;
    return symbol;
  };

  refill(in);
  LookupEntry entry = dc.entries[in.bits >> (64 - kLookup)];
  use(entry);
  int value = static_cast<std::int16_t>(entry >> kFirstValueShift);
  if ((entry & kPart) != 0) {
    int size = static_cast<int>(entry >> kSizeShift & 15);
    if (entry == kPart && (size = long_code(dc)) < 0) return false;
    value = size == 0 ? 0 : extended(in, size);
  }
  last_dc += value;
  if (last_dc > kMostDc || last_dc < -kMostDc) return false;
  out[0] = static_cast<std::int16_t>(last_dc);

  unsigned last = 0;  // the place of the last value
  unsigned second_step = 0;
  std::uint64_t before = 0;
  do {
    refill(in);
    for (int i = 0; i < kLookupsPerRefill && last < 63; ++i) {
      entry = ac.entries[in.bits >> (64 - kLookup)];
      if ((entry & kPart) != 0) [[unlikely]] {
        refill(in);
        use(entry);
        second_step = 0;
        auto size = static_cast<int>(entry >> kSizeShift & 15);
        auto step = static_cast<unsigned>(entry >> kFirstStepShift & 255);
        if (entry == kPart) {
          const int symbol = long_code(ac);
          if (symbol < 0) return false;
          size = symbol & 15;
          step = static_cast<unsigned>(symbol >> 4) + 1;
          if (size == 0 && step < 16) step = kEndStep;
        }
        last += step;
        value = size == 0 ? 0 : extended(in, size);
        out[kPlaces[last]] = static_cast<std::int16_t>(value);
        break;
      }
      before = in.bits;
      use(entry);
      last += static_cast<unsigned>(entry >> kFirstStepShift & 255);
      second_step = static_cast<unsigned>(entry >> kSecondStepShift & 255);
      // Without a second one its value is 0, and its place the first one's.
      out[kPlaces[last + second_step]] =
          static_cast<std::int16_t>(entry >> kSecondValueShift);
      out[kPlaces[last]] = static_cast<std::int16_t>(entry >> kFirstValueShift);
      last += second_step;
    }
  } while (last < 63);
  if (last == 63 || (last >= kEndStep && last < kEndStep + 63)) [[likely]]
    return true;
  if (last - second_step != 63) return false;
  // The second symbol is the next block's.
  const auto first = static_cast<int>(entry >> kFirstLengthShift & 63);
  in.bits = before << first;
  in.count += static_cast<int>(entry & kLengthMask) - first;
  return true;
}

// Between two units: the bits up to the next byte are fillers, and the marker
// that is due follows.
bool JpegEntropy::restart() {
  const Reader& in = in_;
  if (in.count - in.missing >= 8 || in.end - in.at < 2 || in.at[0] != 0xFF ||
      in.at[1] != 0xD0 + next_restart_) {
    return false;
  }
  in_ = {.at = in.at + 2, .end = in.end};
  last_dc_ = {};
  units_left_ = restart_interval_;
  next_restart_ = (next_restart_ + 1) & 7;
  return true;
}

bool JpegEntropy::decode(Coefficients** blocks) {
  if (gave_up_) return false;
  if (restart_interval_ != 0) {
    if (units_left_ == 0 && !restart()) {
      gave_up_ = true;
      return false;
    }
    --units_left_;
  }
  Coefficients dropped;
  Reader in = in_;
  for (std::size_t b = 0; b < block_count_; ++b) {
    const Block& block = blocks_[b];
    const auto component = static_cast<std::size_t>(block.component);
    std::int32_t dc = last_dc_[component];
    if (!decode_block(tables_[static_cast<std::size_t>(block.dc)],
                      tables_[static_cast<std::size_t>(kTables + block.ac)], in,
                      dc, blocks == nullptr ? dropped : *blocks[b])) {
      gave_up_ = true;
      return false;
    }
    last_dc_[component] = dc;
  }
  in_ = in;
  // Bits that are not in the file were used.
  gave_up_ = in.missing > in.count;
  return !gave_up_;
}

}  // namespace penstock::image
