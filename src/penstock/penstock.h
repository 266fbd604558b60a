// Penstock: input pipelines that run in parallel by default.
//
//   namespace ps = penstock;
//   auto ds = ps::Dataset::range(1'000'000)
//                 .map([](std::int64_t x) { return x * 2 + 1; })
//                 .shuffle({.buffer_size = 10'000, .seed = 7})
//                 .batch(256, {.drop_remainder = true});
//   for (const ps::Element& batch : ds) use(batch[0].as<std::int64_t>());
#pragma once

#include "penstock/dataset.h"
#include "penstock/file_io.h"
