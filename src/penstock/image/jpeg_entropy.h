// Huffman decoding of a sequential JPEG scan that lies in memory as a whole, in
// the place of libjpeg's (docs/decisions/0010-entropy-decoding.md).
//
// It decodes what is valid and gives up on all else: a code that is none, data
// that end, a marker that is not where it belongs. libjpeg reads such a picture
// again then, so that errors, warnings and what is guessed are its own. Knows
// nothing of libjpeg's structures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock::image {

class JpegEntropy {
 public:
  static constexpr int kTables = 4;  // of each kind
  static constexpr int kMaxBlocks = 10;
  static constexpr int kMaxComponents = 4;
  using Coefficients = std::int16_t[64];

  /// A block of a minimum coded unit: its component and its tables.
  struct Block {
    int component = 0;
    int dc = 0;
    int ac = 0;
  };

  JpegEntropy();
  ~JpegEntropy();

  /// A table as the file has it: how many codes of 1 to 16 bits (counts[0] is
  /// not used), and their symbols in order. False where it is not valid.
  bool set_dc(int number, const std::uint8_t* counts,
              const std::uint8_t* symbols);
  bool set_ac(int number, const std::uint8_t* counts,
              const std::uint8_t* symbols);
  /// A scan of units of `blocks`, whose tables are set. `data` begins with its
  /// first byte and holds a marker behind its last.
  void begin(std::span<const std::uint8_t> data, std::span<const Block> blocks,
             std::uint32_t restart_interval);
  /// The next unit, into blocks that are zero; null drops it. False once it
  /// gave up.
  bool decode(Coefficients** blocks);
  bool gave_up() const { return gave_up_; }

 private:
  struct Reader {
    std::uint64_t bits = 0;  // the next ones, from the top
    int count = 0;           // of them
    int missing = 0;         // how many of those are behind the data's end
    const std::uint8_t* at = nullptr;
    const std::uint8_t* end = nullptr;
  };
  struct Table;

  static Reader refilled_by_bytes(Reader in);
  static void refill(Reader& in);
  static int symbol_of_long_code(const Table& table, Reader& in);
  static int extended(Reader& in, int size);
  static bool decode_block(const Table& dc, const Table& ac, Reader& in,
                           std::int32_t& last_dc, Coefficients& out);
  static bool set(Table& table, const std::uint8_t* counts,
                  const std::uint8_t* symbols, bool ac);
  bool restart();

  std::unique_ptr<Table[]> tables_;  // of DC, then of AC
  Reader in_;
  std::array<Block, kMaxBlocks> blocks_;
  std::size_t block_count_ = 0;
  std::array<std::int32_t, kMaxComponents> last_dc_ = {};
  std::uint32_t restart_interval_ = 0;  // 0: none
  std::uint32_t units_left_ = 0;        // until the next restart
  int next_restart_ = 0;                // the number of its marker
  bool gave_up_ = false;
};

}  // namespace penstock::image
