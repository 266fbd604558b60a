#include "penstock/io/curl_functions_private.h"

namespace penstock {

const CurlFunctions* curl_functions(std::string& /*why*/) {
  static constexpr CurlFunctions kLinked;
  return &kLinked;
}

}  // namespace penstock
