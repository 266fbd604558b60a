#include "penstock/io/read_file.h"

#include <algorithm>
#include <cstring>

#include "penstock/io/file.h"
#include "penstock/io/http.h"

namespace penstock {

StatusOr<Tensor> read_whole_file(std::string_view path) {
  PS_ASSIGN_OR_RETURN(const auto file,
                      FileSystem::local().open(std::string(path)));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  // Files of unknown size (/proc) say 0; others may grow meanwhile.
  auto capacity = static_cast<std::size_t>(std::max<std::int64_t>(size, 4096));
  Ref<Buffer> buffer = Buffer::allocate(capacity);
  std::size_t done = 0;
  for (;;) {
    if (!buffer) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", to_absl(quoted_name(path))));
    }
    PS_ASSIGN_OR_RETURN(
        const std::size_t n,
        file->read_at(static_cast<std::int64_t>(done),
                      {buffer->data() + done, capacity - done}));
    done += n;
    if (n == 0 || static_cast<std::int64_t>(done) == size) break;
    if (done == capacity) {
      Ref<Buffer> larger = Buffer::allocate(2 * capacity);
      if (larger) std::memcpy(larger->data(), buffer->data(), done);
      buffer = std::move(larger);
      capacity *= 2;
    }
  }
  const auto* chars = reinterpret_cast<const char*>(buffer->data());
  return Tensor::string_view_of({chars, done}, std::move(buffer));
}

}  // namespace penstock
