// Short forms for unit tests of operators: what a dataset gives, as text.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::testing {

/// The next elements as text, an error as "<its message>".
inline std::vector<std::string> show(Iterator& it, std::size_t limit = 1000) {
  std::vector<std::string> out;
  while (out.size() < limit) {
    const auto next = it.try_next();
    if (!next.ok()) {
      out.push_back(absl::StrCat("<", next.status().message(), ">"));
    } else if (*next) {
      out.push_back((*next)->to_string());
    } else {
      break;
    }
  }
  return out;
}
inline std::vector<std::string> show(const Dataset& ds,
                                     std::size_t limit = 1000) {
  Iterator it = ds.iterator();
  return show(it, limit);
}

/// Why the graph cannot be built.
inline Status build_status(const std::function<Dataset()>& make) {
  try {
    make();
    return absl::OkStatus();
  } catch (const Error& e) {
    return e.status();
  }
}

/// Saves at every element and continues in a new iterator of a new graph.
inline void expect_resumes_everywhere(const std::function<Dataset()>& make,
                                      std::size_t limit = 60) {
  const std::vector<std::string> all = show(make(), limit);
  for (std::size_t k = 0; k <= all.size(); ++k) {
    Iterator first = make().iterator();
    show(first, k);
    Iterator second = make().iterator(first.state_dict());
    EXPECT_EQ(show(second, limit - k),
              std::vector<std::string>(
                  all.begin() + static_cast<std::ptrdiff_t>(k), all.end()))
        << "saved after " << k;
  }
}

/// at(i) gives what iterating gives.
inline void expect_random_access(const Dataset& ds) {
  const std::vector<std::string> all = show(ds);
  ASSERT_EQ(ds.cardinality().value(), static_cast<std::int64_t>(all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string element;
    try {
      element = ds.at(static_cast<std::int64_t>(i)).to_string();
    } catch (const Error& e) {
      element = absl::StrCat("<", e.status().message(), ">");
    }
    EXPECT_EQ(element, all[i]) << "at " << i;
  }
}

/// What the graph is refused with, or nothing.
inline std::string build_error(const std::function<void()>& make) {
  try {
    make();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

inline std::vector<std::int64_t> values(const Dataset& ds) {
  std::vector<std::int64_t> out;
  for (const Element& e : ds) out.push_back(e[0].value<std::int64_t>());
  return out;
}

/// First leaves, and the messages of elements that failed.
inline std::vector<std::string> outcomes(const Dataset& ds) {
  std::vector<std::string> out;
  Iterator it = ds.iterator();
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      out.emplace_back(to_std(next.status().message()));
    } else if (!next->has_value()) {
      return out;
    } else {
      out.push_back((**next)[0].to_string());
    }
  }
}

/// x + `first` times x, for x = 0 .. n-1.
inline Dataset growing(std::int64_t n, std::int64_t first = 0) {
  return Dataset::range(n).map([first](std::int64_t x) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(x + first), x);
  });
}

/// x * 10 for x = 0 .. n-1, counting the calls.
inline Dataset counted(std::atomic<int>& calls, std::int64_t n = 20) {
  return Dataset::range(n).map([&calls](std::int64_t x) {
    ++calls;
    return x * 10;
  });
}

/// 0 .. n-1, but without random access.
inline Dataset stream(std::int64_t n) {
  return Dataset::range(n).filter([](std::int64_t) { return true; });
}

/// 0 .. n-1, but element `bad` is an error.
inline Dataset with_error(std::int64_t n, std::int64_t bad) {
  return Dataset::range(n).map([bad](std::int64_t x) -> StatusOr<std::int64_t> {
    if (x == bad) return absl::DataLossError("bad element");
    return x;
  });
}

}  // namespace penstock::testing
