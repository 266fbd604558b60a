// list_files: the names of files.
//
// An indexed source in memory: the names are looked up when the graph is built,
// so that all iterations and restored iterators see the same files. Shuffled,
// it is still one stage: a global shuffle of a source that is none by itself.
#include "penstock/ops/list_files/list_files.h"

#include <algorithm>

#include "penstock/io/glob.h"
#include "penstock/io/http.h"
#include "penstock/ops/shuffle/shuffle.h"

namespace penstock::ops {
namespace {

class ListFiles final : public IndexedSourceOp {
 public:
  explicit ListFiles(std::vector<std::string> names)
      : names_(std::move(names)) {}

  std::string_view op() const override { return "list_files"; }
  std::string describe() const override {
    return absl::StrCat("list_files(", names_.size(), " files",
                        names_.empty() ? "" : ", the first ",
                        names_.empty() ? "" : quoted_name(names_[0]), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::tensor(DType::kString, PartialShape(Shape{}));
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    for (const std::string& name : names_) fp.add(name);
  }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(names_.size());
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    std::vector<std::string_view> values;
    values.reserve(static_cast<std::size_t>(run.count));
    for (std::int64_t k = 0; k < run.count; ++k) {
      values.emplace_back(names_[static_cast<std::size_t>(run.at(k))]);
    }
    PS_ASSIGN_OR_RETURN(Tensor column,
                        Tensor::strings(values, Shape{run.count}));
    Block::Columns columns;
    columns.emplace_back(std::move(column));
    out = Block(Structure::leaf(), std::move(columns), run.count,
                run.list ? Origins(run.path, *run.list)
                         : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  const std::vector<std::string> names_;
};

class ShuffledFiles final : public Operator, public IndexedOp {
 public:
  ShuffledFiles(std::string files, std::optional<std::uint64_t> seed,
                std::shared_ptr<const Operator> shuffle)
      : files_(std::move(files)), seed_(seed), shuffle_(std::move(shuffle)) {}

  std::string_view op() const override { return "list_files"; }
  std::string describe() const override {
    std::string text = files_.substr(0, files_.size() - 1);
    text += ", shuffle=true";
    if (seed_) absl::StrAppend(&text, ", seed=", *seed_);
    return text + ")";
  }
  Memory memory() const override { return shuffle_->memory(); }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return shuffle_->output_spec(in);
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return shuffle_->cardinality(in);
  }
  void add_to(Fingerprint& fp) const override { shuffle_->add_to(fp); }
  std::vector<Part> lower() const override { return shuffle_->lower(); }
  const IndexedOp* indexed() const override { return this; }
  bool is_map() const override { return true; }
  bool needs_random_access() const override { return true; }
  void map_run(const IndexRun& run, std::int64_t input_size,
               const CallContext& context,
               std::vector<IndexRun>& out) const override {
    shuffle_->indexed()->map_run(run, input_size, context, out);
  }

 private:
  const std::string files_;  // as the unshuffled source describes itself
  const std::optional<std::uint64_t> seed_;
  const std::shared_ptr<const Operator> shuffle_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_list_files(
    std::vector<std::string> patterns, FileSystem& fs) {
  if (patterns.empty()) {
    return invalid_argument("list_files: pattern must be given, got none");
  }
  std::vector<std::string> names;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) {
      return invalid_argument("list_files: pattern must not be empty, got ''");
    }
    auto found = expand_names(fs, {pattern});
    if (!found.ok()) return annotate(found.status(), "list_files: ");
    // A name without a pattern is a file that must be there.
    if (!is_glob(pattern) && pattern.find("://") == std::string::npos) {
      const auto info = fs.info(pattern);
      if (!info.ok()) return annotate(info.status(), "list_files: ");
    }
    names.insert(names.end(), found->begin(), found->end());
  }
  std::sort(names.begin(), names.end());
  return make_file_names(std::move(names));
}

std::shared_ptr<const Operator> make_file_names(
    std::vector<std::string> names) {
  return std::make_shared<ListFiles>(std::move(names));
}

std::shared_ptr<const Operator> make_shuffled_files(
    const Operator& files, std::optional<std::uint64_t> seed) {
  auto shuffle = make_shuffle({.buffer_size = kGlobal, .seed = seed});
  return std::make_shared<ShuffledFiles>(files.describe(), seed,
                                         *std::move(shuffle));
}

}  // namespace penstock::ops
