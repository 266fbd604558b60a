// The functions of libcurl that http.cc calls.
//
// A C++ program is linked with libcurl (linked_curl.cc). The Python module
// loads it, and the thirty libraries behind it, when an address is first read
// (python/src/lazy_curl.cc): that takes as long as a fifth of its import.
#pragma once

#include <curl/curl.h>

#include <string>

namespace penstock {

struct CurlFunctions {
  decltype(&::curl_global_init) global_init = &::curl_global_init;
  decltype(&::curl_easy_init) init = &::curl_easy_init;
  decltype(&::curl_easy_reset) reset = &::curl_easy_reset;
  decltype(&::curl_easy_cleanup) cleanup = &::curl_easy_cleanup;
  decltype(&::curl_easy_setopt) setopt = &::curl_easy_setopt;
  decltype(&::curl_easy_perform) perform = &::curl_easy_perform;
  decltype(&::curl_easy_strerror) strerror = &::curl_easy_strerror;
  decltype(&::curl_slist_append) slist_append = &::curl_slist_append;
  decltype(&::curl_slist_free_all) slist_free_all = &::curl_slist_free_all;
};

/// Of the libcurl that is linked or loaded; null, and why, if there is none.
/// Thread-safe.
const CurlFunctions* curl_functions(std::string& why);

}  // namespace penstock
