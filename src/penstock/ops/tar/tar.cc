// tar: samples of tar files, as WebDataset has them.
//
// Cutting into samples is in order, one shard after the other, shards opened
// ahead in parallel (ops/files); what a sample holds is found by a transform,
// in parallel. Nothing is ever written to disk. State: the offset and number of
// the next sample.
#include "penstock/ops/tar/tar.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "penstock/formats/tar.h"
#include "penstock/ops/files/parse_records.h"
#include "penstock/ops/files/record_file.h"

namespace penstock::ops {
namespace {

constexpr char kKey[] = "__key__";

StatusOr<Element> parse_sample(std::string_view bytes,
                               const std::vector<std::string>& fields) {
  std::vector<TarFile> files;
  PS_RETURN_IF_ERROR(read_tar(bytes, files));
  std::string key;
  std::vector<std::pair<std::string, Element>> items;
  items.emplace_back(kKey, Element());
  const auto content = [&](const TarFile& file) {
    return Tensor::string(bytes.substr(file.begin, file.size));
  };
  std::vector<std::pair<std::string, const TarFile*>> found;
  for (const TarFile& file : files) {
    std::string_view own;
    std::string_view ending;
    if (!split_tar_name(file.name, own, ending)) continue;
    key = own;
    const std::string field = absl::AsciiStrToLower(to_absl(ending));
    const auto twice =
        std::find_if(found.begin(), found.end(),
                     [&](const auto& f) { return f.first == field; });
    if (twice != found.end()) {
      return invalid_argument("sample '", key, "' has '", field, "' twice");
    }
    found.emplace_back(field, &file);
  }
  if (fields.empty()) {
    for (const auto& [field, file] : found) {
      items.emplace_back(field, content(*file));
    }
  }
  for (const std::string& wanted : fields) {
    const std::string lower = absl::AsciiStrToLower(wanted);
    const auto at =
        std::find_if(found.begin(), found.end(),
                     [&](const auto& f) { return f.first == lower; });
    if (at == found.end()) {
      return invalid_argument("sample '", key, "' has no '", wanted, "'");
    }
    items.emplace_back(wanted, content(*at->second));
  }
  items[0].second = Tensor::string(key);
  return Element::dict(std::move(items));
}

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_tar(const TarOptions& options,
                                                   FileSystem& fs) {
  auto format = std::make_shared<RecordFormat>();
  format->op = "tar";
  format->splitter = std::make_shared<TarSplitter>();
  format->compression = options.compression;
  format->max_record_bytes = options.max_record_bytes;
  format->with_offsets = true;
  format->fs = &fs;
  format->identity =
      absl::StrCat(to_absl(compression_name(options.compression)), ",",
                   options.max_record_bytes);
  for (const std::string& field : options.fields) {
    absl::StrAppend(&format->identity, "\n", field);
  }
  RecordParts parts;
  parts.spec = Spec();
  if (!options.fields.empty()) {
    std::vector<std::pair<std::string, Spec>> items;
    const Spec string = Spec::tensor(DType::kString, PartialShape(Shape{}));
    items.emplace_back(kKey, string);
    for (const std::string& field : options.fields) {
      for (const auto& [name, spec] : items) {
        if (name == field) {
          return invalid_argument("tar: field '", field, "' is given twice");
        }
      }
      items.emplace_back(field, string);
    }
    parts.spec = Spec::dict(items);
  }
  parts.transform =
      make_parse_each([fields = options.fields](std::string_view bytes) {
        return parse_sample(bytes, fields);
      });
  return make_record_files(std::move(format), std::move(parts),
                           options.max_parallel);
}

}  // namespace penstock::ops
