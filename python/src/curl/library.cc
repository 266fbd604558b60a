// libpenstock_curl: what lazy_curl.cc loads. A library of its own, so that a
// wheel brings the libcurl that it was built with.
#include "penstock/io/curl_functions_private.h"

extern "C" __attribute__((visibility("default"))) const penstock::CurlFunctions*
penstock_curl_functions() {
  static constexpr penstock::CurlFunctions kLinked;
  return &kLinked;
}
