// NumPy's C API; module.cc defines PENSTOCK_IMPORT_NUMPY and imports it.
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL penstock_numpy_api
#ifndef PENSTOCK_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
