// Fuzzes saved states: the decoder, and iterators that are to continue at one.
//
// The first byte picks a graph, and whether the rest is taken as it is or gets
// a valid head and checksum, so that damage reaches what lies behind those. No
// state may crash, hang or ask for absurd memory; one that is accepted gives a
// stream.
#include <cstddef>
#include <cstdint>
#include <string>

#include "penstock/base/codec.h"
#include "penstock/penstock.h"
#include "penstock/runtime/state.h"

namespace {

using penstock::Dataset;

Dataset graph(unsigned which) {
  const Dataset range = Dataset::range(100);
  const auto even = [](std::int64_t x) { return x % 2 == 0; };
  switch (which % 8) {
    case 0:
      return range;
    case 1:
      return range.filter(even).batch(3);
    case 2:
      return range.shuffle(8, 1);
    case 3:
      return range.filter(even).shuffle(8, 1).take(30);
    case 4:
      return range.filter(even).repeat(3).skip(5);
    case 5:
      return range.batch(4).repeat().shuffle(3, 1);
    case 6:
      return range.shuffle(penstock::kGlobal, 1).take(50).ignore_errors();
    default:
      return range.filter(even).filter(even).repeat(2).batch(5);
  }
}

std::string with_checksum(std::string body) {
  const std::uint32_t crc = penstock::crc32c(body);
  for (int i = 0; i < 4; ++i) body += static_cast<char>(crc >> (8 * i));
  return body;
}

// A real state's bytes as far as its mark, then `tail` in the mark's place.
std::string with_mark(const Dataset& dataset, const std::string& tail) {
  penstock::Encoder head;
  head.raw("PSTK");
  head.u64(1);
  head.bytes(dataset.fingerprint());
  head.i64(0);
  head.fixed64(7);
  head.boolean(false);
  head.raw(tail);
  return with_checksum(std::move(head).take());
}

void run(const Dataset& dataset, const std::string& state) {
  try {
    penstock::Iterator it = dataset.iterator(state);
    for (int i = 0; i < 20; ++i) {
      const auto next = it.try_next();
      if (next.ok() && !next->has_value()) break;
    }
    (void)it.state_dict();
  } catch (const penstock::Error&) {
    // Refused, as most of them should be.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)penstock::decode_state(bytes);
  (void)penstock::decode_state(with_checksum(bytes));
  const Dataset dataset = graph(choice);
  if (choice & 0x80U) {
    run(dataset, bytes);
  } else {
    run(dataset, with_mark(dataset, bytes));
  }
  return 0;
}
