#include "penstock/graph/element_key.h"

#include <utility>

#include "penstock/graph/operator.h"

namespace penstock {
namespace {

thread_local std::optional<std::uint64_t> t_key;

}  // namespace

ElementKey::ElementKey(std::uint64_t key) : outer_(std::exchange(t_key, key)) {}
ElementKey::~ElementKey() { t_key = outer_; }
std::optional<std::uint64_t> ElementKey::current() { return t_key; }

std::uint64_t element_key(const Epoch& epoch, std::uint64_t stage_salt,
                          std::uint64_t origin_key) {
  return mix64(mix64(epoch.seed, stage_salt),
               mix64(static_cast<std::uint64_t>(epoch.iteration), origin_key));
}

}  // namespace penstock
