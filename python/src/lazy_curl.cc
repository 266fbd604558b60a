// libcurl, loaded with the library that lies beside the module.
#include <dlfcn.h>

#include <mutex>
#include <string_view>

#include "penstock/io/curl_functions_private.h"

namespace penstock {
namespace {

/// lib/libpenstock_curl.*.so beside _penstock.*.so, which this is part of:
/// among the modules it would be taken for one.
std::string library_path() {
  static const char here = 0;
  Dl_info info = {};
  if (::dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string path = info.dli_fname;
  constexpr std::string_view kModule = "_penstock.";
  const std::size_t at = path.rfind(kModule);
  if (at == std::string::npos) return {};
  return path.replace(at, kModule.size(), "lib/libpenstock_curl.");
}

const CurlFunctions* load(std::string& why) {
  const std::string path = library_path();
  // Never closed: threads may use it until the process ends.
  void* const library =
      path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library != nullptr
                           ? ::dlsym(library, "penstock_curl_functions")
                           : nullptr;
  if (symbol == nullptr) {
    const char* const error = ::dlerror();
    why = "cannot load what reads http: ";
    why += error != nullptr ? error : "the module does not know where it lies";
    return nullptr;
  }
  return reinterpret_cast<const CurlFunctions* (*)()>(symbol)();
}

}  // namespace

const CurlFunctions* curl_functions(std::string& why) {
  static std::mutex mutex;
  static const CurlFunctions* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) loaded = load(why);
  return loaded;
}

}  // namespace penstock
