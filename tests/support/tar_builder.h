// Small tar archives for tests (ustar, GNU names where they are long).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace penstock::testing {

class TarBuilder {
 public:
  TarBuilder& file(std::string_view name, std::string_view content) {
    return add(name, content, '0');
  }
  TarBuilder& directory(std::string_view name) { return add(name, "", '5'); }
  std::string finish() const { return bytes_ + std::string(1024, '\0'); }

 private:
  TarBuilder& add(std::string_view name, std::string_view content, char type) {
    if (name.size() > 99) {
      add("././@LongLink", std::string(name) + '\0', 'L');
      name = name.substr(0, 99);
    }
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    put(header, 100, 8, 0644);
    put(header, 124, 12, content.size());
    header[156] = type;
    header.replace(257, 6, std::string("ustar\0", 6));
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(header, 148, 7, sum);
    bytes_ += header;
    bytes_ += content;
    bytes_.append((512 - content.size() % 512) % 512, '\0');
    return *this;
  }
  static void put(std::string& header, std::size_t at, std::size_t width,
                  std::size_t value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%0*zo", static_cast<int>(width) - 1,
                  value);
    header.replace(at, width - 1, text, width - 1);
  }

  std::string bytes_;
};

}  // namespace penstock::testing
