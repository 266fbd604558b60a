#include "tests/support/outcome.h"

#include <algorithm>

namespace penstock::testing {

std::string Outcome::to_string() const {
  return ok() ? element.to_string() : error.ToString();
}

bool take_one(Iterator& it, Outcome& out) {
  auto next = it.try_next();
  out = {};
  if (!next.ok()) {
    out.error = next.status();
    return true;
  }
  if (!next->has_value()) return false;
  out.element = **std::move(next);
  return true;
}

Outcomes take_some(Iterator& it, std::int64_t limit) {
  Outcomes out;
  Outcome one;
  while (static_cast<std::int64_t>(out.size()) < limit && take_one(it, one)) {
    out.push_back(std::move(one));
  }
  return out;
}

Outcomes run(const Dataset& dataset, std::int64_t limit) {
  Iterator it = dataset.iterator();
  return take_some(it, limit);
}

Outcomes rest_of(const Outcomes& all, std::size_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())),
          all.end()};
}

std::vector<std::string> sorted(const Outcomes& outcomes) {
  std::vector<std::string> out;
  for (const Outcome& o : outcomes) out.push_back(o.to_string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace penstock::testing
