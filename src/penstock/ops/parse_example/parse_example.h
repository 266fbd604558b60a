#pragma once

#include <vector>

#include "penstock/formats/example.h"
#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Elements that are strings become dicts of the features; elements that are
/// batches of strings become batches of them.
StatusOr<std::shared_ptr<const Operator>> make_parse_example(
    std::vector<Feature> features);

/// (context, sequences) of SequenceExamples.
StatusOr<std::shared_ptr<const Operator>> make_parse_sequence_example(
    std::vector<Feature> context, std::vector<Feature> sequences);

}  // namespace penstock::ops
