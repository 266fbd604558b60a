// bucket_by_sequence_length: batches of elements of similar length.
//
// A group_by_window whose key is the bucket of the element's length and whose
// windows become one batch each, padded unless no_padding is set. State and
// limits are those of group_by_window.
#include "penstock/ops/bucket_by_sequence_length/bucket_by_sequence_length.h"

#include <algorithm>

#include "penstock/ops/batch/batch.h"
#include "penstock/ops/group_by_window/attach.h"
#include "penstock/ops/group_by_window/group_by_window.h"
#include "penstock/ops/padded_batch/padded_batch.h"

namespace penstock::ops {
namespace {

/// The bucket of each element, from what the length function says.
class BucketOf final : public Function {
 public:
  BucketOf(FunctionRef length, std::vector<std::int64_t> boundaries,
           bool bounded)
      : length_(std::move(length)),
        boundaries_(std::move(boundaries)),
        bounded_(bounded) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    PS_RETURN_IF_ERROR(
        check_number(*length_, input, "the length function").status());
    return Spec::scalar<std::int64_t>();
  }
  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    Block lengths = in;
    PS_RETURN_IF_ERROR(
        make_attach(length_, "the length function")->apply(lengths, context));
    PS_ASSIGN_OR_RETURN(Tensor buckets,
                        Tensor::allocate<std::int64_t>(Shape{in.size()}));
    std::int64_t* const bucket = buckets.mutable_as<std::int64_t>().data();
    Block::Errors errors;
    for (std::int64_t row = 0; row < in.size(); ++row) {
      bucket[row] = 0;
      if (ErrorRef error = lengths.error_ref(row)) {
        errors.emplace_back(row, std::move(error));
        continue;
      }
      const std::int64_t length = attached_number(lengths, row);
      bucket[row] =
          std::upper_bound(boundaries_.begin(), boundaries_.end(), length) -
          boundaries_.begin();
      if (bounded_ && length >= boundaries_.back()) {
        errors.emplace_back(
            row, context.error(
                     invalid_argument(
                         "with pad_to_bucket_boundary a length must be below "
                         "the last boundary (",
                         boundaries_.back(), "), got ", length),
                     in.origins().at(row)));
      }
    }
    Block::Columns columns;
    columns.emplace_back(std::move(buckets));
    out = Block(Structure::leaf(), std::move(columns), in.size(), in.origins());
    out.errors() = std::move(errors);
    return absl::OkStatus();
  }
  std::string identity() const override {
    std::string text = length_->identity();
    for (const std::int64_t b : boundaries_) absl::StrAppend(&text, ",", b);
    return text;
  }
  bool user_code() const override { return length_->user_code(); }

 private:
  FunctionRef length_;
  std::vector<std::int64_t> boundaries_;
  bool bounded_;
};

/// (bucket, window) -> the window as one batch.
class BatchOf final : public DatasetFunction {
 public:
  BatchOf(std::vector<std::shared_ptr<const Operator>> batches, Spec spec)
      : batches_(std::move(batches)), spec_(std::move(spec)) {}

  StatusOr<NodeRef> call(const Element& element) const override {
    const auto bucket =
        static_cast<std::size_t>(element[0].value<std::int64_t>());
    const auto* window = static_cast<const DatasetObject*>(element[1].object());
    return Node::make(batches_[bucket], {window->node});
  }
  StatusOr<Spec> output_spec(const Spec&) const override { return spec_; }
  std::string identity() const override {
    Fingerprint fp;
    for (const auto& batch : batches_) {
      fp.add(batch->op());
      batch->add_to(fp);
    }
    return fp.hex();
  }

 private:
  std::vector<std::shared_ptr<const Operator>> batches_;
  Spec spec_;
};

/// `shape` with what is open set to `length`.
PartialShape closed(PartialShape shape, std::int64_t length) {
  for (std::size_t d = 0; shape.has_rank() && d < shape.rank(); ++d) {
    if (shape[d] == kUnknownDim) shape.set(d, length);
  }
  return shape;
}

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_bucket_by_sequence_length(
    FunctionRef length, const Spec& spec, BucketOptions options) {
  constexpr const char* kOp = "bucket_by_sequence_length: ";
  PS_RETURN_IF_ERROR(
      check_given("bucket_by_sequence_length", "length_fn", length));
  const auto& boundaries = options.boundaries;
  if (boundaries.empty()) {
    return invalid_argument(kOp, "boundaries must not be empty, got 0 values");
  }
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (boundaries[i] < 1 || (i > 0 && boundaries[i] <= boundaries[i - 1])) {
      return invalid_argument(kOp, "boundaries must be >= 1 and rising, got ",
                              boundaries[i], " at ", i);
    }
  }
  if (options.batch_sizes.size() != boundaries.size() + 1) {
    return invalid_argument(
        kOp, "batch_sizes must have one value more than boundaries (",
        boundaries.size() + 1, "), got ", options.batch_sizes.size());
  }
  for (const std::int64_t size : options.batch_sizes) {
    if (size < 1) {
      return invalid_argument(kOp, "batch_sizes must be >= 1, got ", size);
    }
  }
  if (options.no_padding && options.pad_to_bucket_boundary) {
    return invalid_argument(
        kOp, "no_padding and pad_to_bucket_boundary exclude each other");
  }
  std::vector<PartialShape> shapes = options.padded_shapes;
  if (shapes.empty() && options.pad_to_bucket_boundary) {
    if (!spec.known()) {
      return invalid_argument(kOp,
                              "pad_to_bucket_boundary needs padded_shapes, "
                              "because the element spec is unknown");
    }
    for (const LeafSpec& leaf : spec.leaves()) shapes.push_back(leaf.shape);
  }
  std::vector<std::shared_ptr<const Operator>> batches;
  Spec result;
  for (std::size_t i = 0; i < options.batch_sizes.size(); ++i) {
    const std::int64_t size = options.batch_sizes[i];
    std::shared_ptr<const Operator> batch;
    if (options.no_padding) {
      PS_ASSIGN_OR_RETURN(batch, make_batch(size, options.drop_remainder));
    } else {
      PaddedBatchOptions padded;
      padded.padded_shapes = shapes;
      if (options.pad_to_bucket_boundary && i < boundaries.size()) {
        for (PartialShape& shape : padded.padded_shapes) {
          shape = closed(std::move(shape), boundaries[i] - 1);
        }
      }
      padded.padding_values = options.padding_values;
      padded.padded_shapes_as = options.padded_shapes_as;
      padded.padding_values_as = options.padding_values_as;
      padded.drop_remainder = options.drop_remainder;
      PS_ASSIGN_OR_RETURN(batch, make_padded_batch(size, std::move(padded)));
    }
    auto batch_spec = batch->output_spec(std::span<const Spec>(&spec, 1));
    if (!batch_spec.ok()) return annotate(batch_spec.status(), kOp);
    if (i == 0) {
      result = *std::move(batch_spec);
    } else if (result.known()) {
      PS_ASSIGN_OR_RETURN(result, Spec::unify(result, *batch_spec));
    }
    batches.push_back(std::move(batch));
  }
  GroupByWindowOptions group;
  group.op = "bucket_by_sequence_length";
  group.window_size_func = [sizes = options.batch_sizes](std::int64_t bucket) {
    return sizes[static_cast<std::size_t>(bucket)];
  };
  return make_group_by_window(
      std::make_shared<BucketOf>(std::move(length), boundaries,
                                 options.pad_to_bucket_boundary),
      std::make_shared<BatchOf>(std::move(batches), std::move(result)),
      std::move(group));
}

}  // namespace penstock::ops
