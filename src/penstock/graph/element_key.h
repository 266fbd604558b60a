// The random key of the element that user code works on, on this thread.
//
// Functions on blocks get it from their context. Those that are called without
// one (a nested dataset's, a scan's, a source's) find it here, if they want it:
// the same element then has the same values however the pipeline runs.
#pragma once

#include <cstdint>
#include <optional>

namespace penstock {

struct Epoch;

class ElementKey {
 public:
  /// Holds until the end of the scope.
  explicit ElementKey(std::uint64_t key);
  ~ElementKey();
  ElementKey(const ElementKey&) = delete;
  ElementKey& operator=(const ElementKey&) = delete;

  static std::optional<std::uint64_t> current();

 private:
  std::optional<std::uint64_t> outer_;
};

/// The key of an element of a stage.
std::uint64_t element_key(const Epoch& epoch, std::uint64_t stage_salt,
                          std::uint64_t origin_key);

}  // namespace penstock
