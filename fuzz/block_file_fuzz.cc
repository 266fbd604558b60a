// decode_block() on any bytes: it must refuse them or give a block that can be
// looked at, without touching memory outside.
#include <cstdint>
#include <cstring>

#include "penstock/io/block_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace penstock;
  if (size < 8) return 0;
  Ref<Buffer> buffer = Buffer::allocate(size);
  std::memcpy(buffer->data(), data, size);
  const auto block = decode_block(buffer, size);
  if (!block.ok()) return 0;
  const std::int64_t rows = std::min<std::int64_t>(block->size(), 64);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Element element = block->element(i);
    if (element.to_string().empty()) __builtin_trap();
  }
  const auto again = encode_block(block->slice(0, rows));
  if (rows > 0 && !again.ok()) __builtin_trap();
  return 0;
}
