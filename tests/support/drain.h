// Running a dataset to its end in a test, errors included.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::testing {

/// What try_next() gives until the end, as text: values, or "!message".
inline std::vector<std::string> drain(Iterator& it) {
  std::vector<std::string> out;
  while (out.size() < 10'000) {
    auto next = it.try_next();
    if (!next.ok()) {
      out.push_back("!" + std::string(to_std(next.status().message())));
      continue;
    }
    if (!*next) break;
    out.push_back((*next)->to_string());
  }
  return out;
}
inline std::vector<std::string> drain(const Dataset& dataset) {
  Iterator it = dataset.iterator();
  return drain(it);
}

/// The message of the Error that `build` throws; "" if it does not.
template <class F>
std::string error_of(F build) {
  try {
    build();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace penstock::testing
