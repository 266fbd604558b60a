#include "tests/support/example.h"
#include "tests/support/temp_dir.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

Dataset saved(I64 n, const SaveOptions& options = {}) {
  const std::string path = fresh_path();
  Dataset::range(n).save(path, options);
  return Dataset::load(path);
}

PENSTOCK_EXAMPLES(
    load,
    {
        {.name = "one shard",
         .make = [] { return saved(4); },
         .model = [] { return scalars({0, 1, 2, 3}); }},
        {.name = "several shards keep the order",
         .make = [] { return saved(7, {.num_shards = 3}); },
         .model = [] { return scalars({0, 1, 2, 3, 4, 5, 6}); }},
        {.name = "uneven shards are read in turns",
         .make =
             [] {
               return saved(6, {.shard_func = [](const Element& e) -> I64 {
                                  return e[0].value<I64>() < 4 ? 0 : 1;
                                }});
             },
         .model = [] { return scalars({0, 4, 1, 5, 2, 3}); }},
        {.name = "under a global shuffle",
         .make =
             [] { return saved(30).shuffle(kGlobal, 2).batch(4).repeat(2); }},
        {.name = "nothing",
         .make = [] { return saved(0); },
         .model = [] { return scalars({}); }},
    });

}  // namespace
}  // namespace penstock::testing
