// What the inferences of image operations share.
#pragma once

#include <functional>

#include "penstock/expr/builtin_ops.h"
#include "penstock/expr/params.h"
#include "penstock/image/augment.h"
#include "penstock/image/decode.h"
#include "penstock/image/resize.h"

namespace penstock::expr {

using LeafSpecs = StatusOr<std::vector<LeafSpec>>;
using SpecArgs = std::span<const LeafSpec>;
using Infer = LeafSpecs (*)(SpecArgs args, const Attributes& attributes);
using Kernel = StatusOr<Tensor> (*)(const RowCall& call);
using Kernels = StatusOr<std::vector<Tensor>> (*)(const RowCall& call);

/// An operation with one result.
NativeOp row_op(std::string name, Infer infer, Kernel kernel,
                bool random = false);
/// An operation with several.
NativeOp rows_op(std::string name, Infer infer, Kernels kernel,
                 bool random = false);

// --- checks of arguments ----------------------------------------------------
/// As many arguments as `wanted`, and operands.
Status check_count(SpecArgs args, const Attributes& attributes,
                   std::size_t wanted);
/// One scalar string.
Status check_contents(SpecArgs args, const Attributes& attributes);
/// One picture or several, of a dtype that pictures have.
Status check_picture(SpecArgs args, const Attributes& attributes,
                     std::size_t wanted = 1);

// --- specs ------------------------------------------------------------------
LeafSpecs same_picture(SpecArgs args, const Attributes& attributes);
LeafSpecs float_picture(SpecArgs args, const Attributes& attributes);
LeafSpecs picture_of_dtype(SpecArgs args, const Attributes& attributes);
/// The first argument with the height and width of the parameter "size".
LeafSpecs picture_of_size(SpecArgs args, const Attributes& attributes);
/// The same, as resize gives it.
LeafSpecs resized_picture(SpecArgs args, const Attributes& attributes);
LeafSpecs cropped_picture(SpecArgs args, const Attributes& attributes);
/// The shape of pictures with another size (kUnknownDim: not known).
PartialShape with_size(const PartialShape& shape, std::int64_t height,
                       std::int64_t width);
PartialShape with_channels(const PartialShape& shape, std::int64_t channels);

// --- parameters -------------------------------------------------------------
StatusOr<image::Size> size_param(const Params& params);
StatusOr<image::ResizeOptions> resize_params(const Params& params);
StatusOr<image::JpegOptions> jpeg_params(const Params& params);
StatusOr<image::DecodeOptions> decode_params(const Params& params);
StatusOr<image::Window> window_param(const Params& params,
                                     std::string_view name);
StatusOr<image::RandomResizedCropOptions> resized_crop_params(
    const Params& params);

}  // namespace penstock::expr
