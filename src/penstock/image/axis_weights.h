// The weights with which the pixels along one axis enter each output pixel.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/image/resize.h"

namespace penstock::image {

/// Output i is the sum over k < taps of weights[i * taps + k] times input
/// first[i] + k. Every range lies inside the input; short ones are filled with
/// zero weights, so that all have the same length.
struct AxisWeights {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t taps = 0;
  std::vector<std::int32_t> first;
  std::vector<float> weights;
};

/// Not for kNearest.
AxisWeights axis_weights(std::int64_t inputs, std::int64_t outputs,
                         ResizeMethod method, bool antialias);
/// The same for a part of the axis: the outputs divide [offset, offset +
/// extent) of it, which need not be whole pixels. Not bit-equal to the above
/// where both apply, and kBicubic without antialias is not in steps.
AxisWeights part_weights(std::int64_t inputs, std::int64_t outputs,
                         ResizeMethod method, bool antialias, double offset,
                         double extent);
/// The same outputs in reverse order: the flipped picture.
void mirror(AxisWeights& axis);
/// For kNearest: the input of each output.
std::vector<std::int32_t> nearest_indices(std::int64_t inputs,
                                          std::int64_t outputs);

}  // namespace penstock::image
