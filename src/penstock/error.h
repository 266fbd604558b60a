// What the public C++ API throws.
#pragma once

#include "penstock/base/error.h"
