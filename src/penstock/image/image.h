// Everything in penstock/image.
#pragma once

#include "penstock/image/augment.h"   // IWYU pragma: export
#include "penstock/image/color.h"     // IWYU pragma: export
#include "penstock/image/convert.h"   // IWYU pragma: export
#include "penstock/image/decode.h"    // IWYU pragma: export
#include "penstock/image/encode.h"    // IWYU pragma: export
#include "penstock/image/fused.h"     // IWYU pragma: export
#include "penstock/image/geometry.h"  // IWYU pragma: export
#include "penstock/image/resize.h"    // IWYU pragma: export
