#include "tests/support/example.h"
#include "tests/support/files.h"

namespace penstock::testing {
namespace {

std::string npy_file(std::int64_t first, std::int64_t rows) {
  std::string dict = "{'descr': '<i8', 'fortran_order': False, 'shape': (" +
                     std::to_string(rows) + ",), }";
  dict.append(128 - 10 - dict.size() - 1, ' ').push_back('\n');
  std::string bytes = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict;
  for (std::int64_t i = first; i < first + rows; ++i) {
    bytes.append(reinterpret_cast<const char*>(&i), sizeof(i));
  }
  return file_with("npy" + std::to_string(first), bytes);
}

PENSTOCK_EXAMPLES(
    npy, {
             {.name = "an array",
              .make = [] { return Dataset::npy(npy_file(0, 4)); },
              .model =
                  [] {
                    return scalars({0, 1, 2, 3});
                  }},
             {.name = "several arrays",
              .make =
                  [] {
                    return Dataset::npy({npy_file(0, 4), npy_file(10, 3)});
                  },
              .model =
                  [] {
                    return scalars({0, 1, 2, 3, 10, 11, 12});
                  }},
             {.name = "filtered",
              .make =
                  [] {
                    return Dataset::npy({npy_file(0, 4), npy_file(10, 3)})
                        .filter([](std::int64_t x) { return x % 2 == 0; });
                  },
              .model =
                  [] {
                    return scalars({0, 2, 10, 12});
                  }},
             {.name = "under a global shuffle",
              .make =
                  [] {
                    return Dataset::npy({npy_file(0, 4), npy_file(10, 3)})
                        .shuffle(kGlobal, 1)
                        .batch(2);
                  }},
         });

}  // namespace
}  // namespace penstock::testing
