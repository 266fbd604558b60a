// tar (ustar, GNU and pax names), as WebDataset uses it. Input is hostile.
//
// Files that follow each other and share a key are one sample: "a/0001.jpg" and
// "a/0001.json" have the key "a/0001" and the fields "jpg" and "json". The key
// ends at the first dot of the last part of the name. Files without a key or
// an extension, and those named "__x__" or in such a folder, are of no sample.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/formats/splitter.h"

namespace penstock {

struct TarFile {
  std::string name;
  std::size_t begin = 0;  // of its bytes
  std::size_t size = 0;
};

/// Splits a name into key and field; the field is empty without a dot. False
/// for a file that is of no sample.
bool split_tar_name(std::string_view name, std::string_view& key,
                    std::string_view& field);

/// The regular files in `bytes`, which begin with a header. DataLoss if they
/// are no tar.
Status read_tar(std::string_view bytes, std::vector<TarFile>& out);

/// A record is the bytes of all files of a sample, with their headers, which do
/// not count for max_record_bytes.
class TarSplitter final : public Splitter {
 public:
  void split(const SplitInput& in, SplitOutput& out) const override;
};

}  // namespace penstock
