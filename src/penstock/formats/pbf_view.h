// Between protozero's views and ours. Included by sources only: users of the
// installed headers need no protozero.
#pragma once

#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace penstock::wire {

inline std::string_view view_of(const protozero::data_view& v) {
  return {v.data(), v.size()};
}
inline protozero::data_view pbf(std::string_view v) {
  return {v.data(), v.size()};
}

}  // namespace penstock::wire
