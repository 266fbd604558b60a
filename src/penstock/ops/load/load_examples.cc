#include <map>

#include "tests/support/example.h"
#include "tests/support/temp_dir.h"

namespace penstock::testing {
namespace {

using I64 = std::int64_t;

// Saved once per example: the path is part of the graph, and a state must fit
// a dataset that is built again.
Dataset saved(const std::string& example, I64 n,
              const SaveOptions& options = {}) {
  static auto* const paths = new std::map<std::string, std::string>;
  std::string& path = (*paths)[example];
  if (path.empty()) {
    path = fresh_path();
    Dataset::range(n).save(path, options);
  }
  return Dataset::load(path);
}

PENSTOCK_EXAMPLES(
    load, {
              {.name = "one shard",
               .make = [] { return saved("one", 4); },
               .model =
                   [] {
                     return scalars({0, 1, 2, 3});
                   }},
              {.name = "several shards keep the order",
               .make = [] { return saved("several", 7, {.num_shards = 3}); },
               .model =
                   [] {
                     return scalars({0, 1, 2, 3, 4, 5, 6});
                   }},
              {.name = "uneven shards are read in turns",
               .make =
                   [] {
                     return saved("uneven", 6,
                                  {.shard_func = [](const Element& e) -> I64 {
                                    return e[0].value<I64>() < 4 ? 0 : 1;
                                  }});
                   },
               .model =
                   [] {
                     return scalars({0, 4, 1, 5, 2, 3});
                   }},
              {.name = "under a global shuffle",
               .make =
                   [] {
                     return saved("shuffled", 30)
                         .shuffle(kGlobal, 2)
                         .batch(4)
                         .repeat(2);
                   }},
              {.name = "nothing",
               .make = [] { return saved("nothing", 0); },
               .model = [] { return scalars({}); }},
          });

}  // namespace
}  // namespace penstock::testing
