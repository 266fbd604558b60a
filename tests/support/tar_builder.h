// Small tar archives for tests (ustar, GNU names where they are long).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::testing {

class TarBuilder {
 public:
  TarBuilder& file(std::string_view name, std::string_view content) {
    return add(name, content, '0');
  }
  TarBuilder& directory(std::string_view name) { return add(name, "", '5'); }
  /// A header that says something of the next file, as {"path=a.x", ...}.
  TarBuilder& pax(const std::vector<std::string>& records) {
    std::string content;
    for (const std::string& record : records) {
      // The length counts its own digits, of which there are two.
      content += std::to_string(record.size() + 4) + " " + record + "\n";
    }
    return add("pax", content, 'x');
  }
  /// A file of GNU's old format for holes, of which `maps` blocks tell more.
  TarBuilder& sparse(std::string_view name, std::string_view content,
                     std::size_t maps) {
    std::string more;
    for (std::size_t i = 0; i < maps; ++i) {
      more += std::string(512, '\0');
      more[more.size() - 8] = i + 1 < maps ? 1 : 0;
    }
    return add(name, content, 'S', more);
  }
  std::string finish() const { return bytes_ + std::string(1024, '\0'); }

 private:
  TarBuilder& add(std::string_view name, std::string_view content, char type,
                  std::string_view behind_header = "") {
    if (name.size() > 99) {
      add("././@LongLink", std::string(name) + '\0', 'L');
      name = name.substr(0, 99);
    }
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    put(header, 100, 8, 0644);
    put(header, 124, 12, content.size());
    header[156] = type;
    if (!behind_header.empty()) header[482] = 1;
    header.replace(257, 6, std::string("ustar\0", 6));
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(header, 148, 7, sum);
    bytes_ += header;
    bytes_ += behind_header;
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
