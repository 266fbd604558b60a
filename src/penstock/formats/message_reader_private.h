// The fields of a protocol buffers message, for .cc files only: protozero's
// reader, which cuts lengths and tags to 32 bits, with both looked at whole.
#pragma once

#include <cstdint>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace penstock {

/// Throws protozero::exception on bytes that are no message.
class MessageReader : public protozero::pbf_reader {
 public:
  explicit MessageReader(std::string_view bytes)
      : pbf_reader(bytes.data(), bytes.size()) {}

  bool next() {
    if (length() == 0) return false;
    if (peek_varint().value > kMax) throw protozero::invalid_tag_exception();
    pbf_reader::next();
    if (wire_type() == protozero::pbf_wire_type::length_delimited) {
      const Varint size = peek_varint();
      if (size.value > size.bytes_behind || size.value > kMax) {
        throw protozero::end_of_buffer_exception();
      }
    }
    return true;
  }

  bool next(std::uint32_t wanted) {
    while (next()) {
      if (tag() == wanted) return true;
      skip();
    }
    return false;
  }

  std::string_view get_bytes_view() {
    const protozero::data_view view = get_view();
    return {view.data(), view.size()};
  }

  MessageReader get_message() { return MessageReader(get_bytes_view()); }

 private:
  static constexpr std::uint64_t kMax =
      std::numeric_limits<std::uint32_t>::max();

  struct Varint {
    std::uint64_t value;
    std::uint64_t bytes_behind;
  };
  Varint peek_varint() const {
    const char* p = data().data();
    const char* const end = p + length();
    const std::uint64_t value = protozero::decode_varint(&p, end);
    return {value, static_cast<std::uint64_t>(end - p)};
  }
};

}  // namespace penstock
