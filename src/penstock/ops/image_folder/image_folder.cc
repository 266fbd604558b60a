// image_folder: (path, label) of the images in a directory per class.
//
// An indexed source in memory: names are looked up when the graph is built,
// sorted by class and then by path.
#include "penstock/ops/image_folder/image_folder.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "penstock/io/glob.h"

namespace penstock::ops {
namespace {

class ImageFolder final : public IndexedSourceOp {
 public:
  ImageFolder(std::string root, std::size_t classes,
              std::vector<std::string> paths, std::vector<std::int64_t> labels)
      : root_(std::move(root)),
        classes_(classes),
        paths_(std::move(paths)),
        labels_(std::move(labels)) {}

  std::string_view op() const override { return "image_folder"; }
  std::string describe() const override {
    return absl::StrCat("image_folder('", root_, "', ", classes_, " classes)");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::tuple({Spec::tensor(DType::kString, PartialShape(Shape{})),
                        Spec::scalar<std::int64_t>()});
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      fp.add(paths_[i]);
      fp.add(static_cast<std::uint64_t>(labels_[i]));
    }
  }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(paths_.size());
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    std::vector<std::string_view> paths;
    PS_ASSIGN_OR_RETURN(Tensor labels,
                        Tensor::allocate<std::int64_t>(Shape{run.count}));
    const auto to = labels.mutable_as<std::int64_t>();
    for (std::int64_t k = 0; k < run.count; ++k) {
      const auto i = static_cast<std::size_t>(run.at(k));
      paths.emplace_back(paths_[i]);
      to[static_cast<std::size_t>(k)] = labels_[i];
    }
    PS_ASSIGN_OR_RETURN(Tensor names, Tensor::strings(paths, Shape{run.count}));
    Block::Columns columns;
    columns.emplace_back(std::move(names));
    columns.emplace_back(std::move(labels));
    out = Block(Structure::leaves(2), std::move(columns), run.count,
                run.list ? Origins(run.path, *run.list)
                         : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  const std::string root_;
  const std::size_t classes_;
  const std::vector<std::string> paths_;
  const std::vector<std::int64_t> labels_;
};

}  // namespace

StatusOr<std::vector<std::string>> image_classes(FileSystem& fs,
                                                 const std::string& root) {
  PS_ASSIGN_OR_RETURN(const auto entries, fs.list(root));
  std::vector<std::string> classes;
  for (const DirectoryEntry& entry : entries) {
    if (entry.directory && entry.name[0] != '.') classes.push_back(entry.name);
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

StatusOr<std::shared_ptr<const Operator>> make_image_folder(
    const std::string& root, const std::vector<std::string>& extensions,
    FileSystem& fs) {
  auto classes = image_classes(fs, root);
  if (!classes.ok()) return annotate(classes.status(), "image_folder: ");
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;
  std::vector<std::string> endings;
  for (const std::string& e : extensions) {
    endings.push_back(
        absl::StrCat(e.starts_with('.') ? "" : ".", absl::AsciiStrToLower(e)));
  }
  const auto wanted = [&](const std::string& path) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return false;
    const std::string extension = absl::AsciiStrToLower(path.substr(dot));
    return std::find(endings.begin(), endings.end(), extension) !=
           endings.end();
  };
  // Names may hold what a pattern would take for its own.
  const auto walk = [&](const auto& self, const std::string& directory,
                        std::int64_t label) -> Status {
    PS_ASSIGN_OR_RETURN(auto entries, fs.list(directory));
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const DirectoryEntry& entry : entries) {
      if (entry.name[0] == '.') continue;
      const std::string path = absl::StrCat(directory, "/", entry.name);
      if (entry.directory) {
        if (!entry.link) PS_RETURN_IF_ERROR(self(self, path, label));
      } else if (wanted(path)) {
        paths.push_back(path);
        labels.push_back(label);
      }
    }
    return absl::OkStatus();
  };
  for (std::size_t c = 0; c < classes->size(); ++c) {
    const Status status = walk(walk, absl::StrCat(root, "/", (*classes)[c]),
                               static_cast<std::int64_t>(c));
    if (!status.ok()) return annotate(status, "image_folder: ");
  }
  if (paths.empty()) {
    return make_error(StatusCode::kNotFound,
                      "image_folder: no image in a "
                      "directory under '",
                      root, "'");
  }
  return std::make_shared<ImageFolder>(root, classes->size(), std::move(paths),
                                       std::move(labels));
}

}  // namespace penstock::ops
