// Elements in shared memory: a description, then the payload of every leaf.
//
// The same code writes arguments in the parent and results in a worker. Payload
// is copied once, when it is written; reading gives tensors over the memory.
// Reading treats the description as hostile: a worker that runs wild may have
// written it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/memory/element.h"

namespace penstock::python {

/// A failure that begins so is a message about a result; no pickle does.
constexpr char kStatusFailure = '\0';

/// A result: an element, or the bytes of a pickled exception.
struct WireRow {
  Element element;
  std::string failure;  // not empty: it failed
};

/// Lays rows out; then write() copies them to where they shall be.
class WireWriter {
 public:
  /// InvalidArgument for what cannot cross (a nested dataset).
  Status add(const Element& element, std::uint64_t key = 0);
  void add_failure(std::string failure);
  /// Bytes that write() will use.
  std::size_t size() const;
  void write(std::byte* out) const;

 private:
  struct Piece {
    std::size_t offset = 0;
    const void* data = nullptr;
    std::size_t size = 0;
    std::vector<std::int64_t> rebased;  // string offsets, counted from 0
  };
  void add_tensor(const Tensor& tensor);
  std::size_t add_piece(const void* data, std::size_t size);

  std::int64_t rows_ = 0;
  std::size_t payload_ = 0;
  std::string header_;
  std::vector<Piece> pieces_;
  std::vector<Element> kept_;  // until write()
};

/// Rows that lie in `memory`, which `owner` keeps alive. `keys` may be null.
StatusOr<std::vector<WireRow>> read_wire(std::span<const std::byte> memory,
                                         const Ref<Buffer>& owner,
                                         std::vector<std::uint64_t>* keys);

}  // namespace penstock::python
