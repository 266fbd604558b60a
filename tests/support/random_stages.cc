// Stages of random graphs: operators that regroup, merge, nest and draw.
//
// Values stay single int64 tensors; what gives tuples or datasets is followed
// by a map that takes them apart again. Stages whose treatment of errors has no
// five-line model fit only where nothing has failed so far.
#include "tests/support/random_stages.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/support/interleaved.h"

namespace penstock::testing {
namespace {

bool none_failed(const Graph& g) {
  return std::none_of(g.model.begin(), g.model.end(),
                      [](const ModelElement& e) { return e.failed(); });
}
bool clean_scalars(const Graph& g) { return g.scalars && none_failed(g); }
// In a branch a stage has another name, and so draws other numbers.
bool unmixed(const Graph& g) { return !g.random; }
bool unmixed_scalars(const Graph& g) { return g.scalars && !g.random; }
bool few(const Graph& g) { return g.model.size() <= kMaxElements / 3; }

std::int64_t number(const Element& e) { return e[0].value<std::int64_t>(); }
ModelElement scalar(std::int64_t x) { return {Tensor::scalar(x), "", 0}; }

Model batches_of(const Model& model, std::size_t size, bool drop) {
  Model out;
  for (std::size_t i = 0; i < model.size(); i += size) {
    const std::size_t end = std::min(i + size, model.size());
    if (drop && end - i < size) break;
    out.push_back(batched(std::span(model).subspan(i, end - i)));
  }
  return out;
}

// Batches per key: full ones as they fill, the rest in the order of the keys.
Model grouped(const Model& model,
              const std::function<std::int64_t(std::int64_t)>& key,
              const std::function<std::size_t(std::int64_t)>& size) {
  Model out;
  std::map<std::int64_t, Model> groups;
  for (const ModelElement& e : model) {
    const std::int64_t k = key(number(e.value));
    groups[k].push_back(e);
    if (groups[k].size() < size(k)) continue;
    out.push_back(batched(groups[k]));
    groups.erase(k);
  }
  for (const auto& [k, group] : groups) out.push_back(batched(group));
  return out;
}

std::int64_t fan_out(std::int64_t x) { return std::abs(x) % 4; }

// What each element becomes under nested(): up to three numbers from x on.
std::vector<Model> nested_models(const Model& model) {
  std::vector<Model> out;
  for (const ModelElement& e : model) {
    out.emplace_back();
    if (e.failed()) {
      out.back().push_back(e);
      continue;
    }
    const std::int64_t x = number(e.value);
    for (std::int64_t i = 0; i < fan_out(x); ++i) {
      out.back().push_back(scalar(x + i));
    }
  }
  return out;
}

// Some are read on the spot, some get pipes of their own.
Dataset nested(std::int64_t x) {
  Dataset range = Dataset::range(x, x + fan_out(x));
  if (x % 3 != 0) return range;
  return range.filter([](std::int64_t) { return true; });
}

// Takes what a run on one worker gives, which must lie in the model in order.
void take_subsequence(Graph& g) {
  const Outcomes got =
      run(g.dataset.with_options(
              {.cpu_budget = 1, .fuse = false, .max_block_rows = 1}),
          static_cast<std::int64_t>(2 * kMaxElements));
  Model out;
  std::size_t i = 0;
  for (const Outcome& o : got) {
    while (i < g.model.size() && !g.model[i].matches(o)) ++i;
    if (i == g.model.size()) {
      throw std::logic_error(
          absl::StrCat("not in the input, or out of order: ", o.to_string()));
    }
    out.push_back(g.model[i++]);
  }
  g.model = std::move(out);
}

Dataset some_source(Choices& c, std::int64_t n) {
  const auto value = [](std::int64_t i) { return 1000 + 7 * i; };
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(value(i));
  switch (c.below(6)) {
    case 0:
      return Dataset::range(1000, 1000 + 7 * n, 7);
    case 1:
      return Dataset::from_tensor_slices(Tensor::from(values));
    case 2: {
      std::vector<Element> elements;
      for (const std::int64_t v : values) {
        elements.emplace_back(Tensor::scalar(v));
      }
      if (n > 0) return Dataset::from_list(std::move(elements));
      return Dataset::range(0);
    }
    case 3:
      return Dataset::from_generator([values] {
        return [values, i = std::size_t{0}]() mutable {
          return i < values.size() ? std::optional(values[i++]) : std::nullopt;
        };
      });
    case 4:
      return Dataset::from_indexable(n, value);
    default:
      return Dataset::counter(1000, 7).take(n);
  }
}

Model source_model(std::int64_t n) {
  Model out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(scalar(1000 + 7 * i));
  return out;
}

Model packed(const Model& model, std::size_t length, std::size_t open) {
  Model out;
  std::vector<std::vector<std::int64_t>> rows;
  const auto emit = [&] {
    rows.front().resize(length, 0);
    out.push_back({Tensor::from(rows.front()), "", 0});
    rows.erase(rows.begin());
  };
  for (const ModelElement& e : model) {
    const std::int64_t x = number(e.value);
    const std::vector<std::int64_t> sequence(
        static_cast<std::size_t>(fan_out(x)) + 1, x);
    auto to = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
      return row.size() + sequence.size() <= length;
    });
    if (to == rows.end()) {
      if (rows.size() == open) emit();
      to = rows.insert(rows.end(), std::vector<std::int64_t>());
    }
    to->insert(to->end(), sequence.begin(), sequence.end());
    while (!rows.empty() && rows.front().size() == length) emit();
  }
  while (!rows.empty()) emit();
  return out;
}

Dataset first_leaf(const Dataset& ds, std::size_t leaf) {
  return ds.map([leaf](const Element& e) { return Element(e[leaf]); });
}

constexpr StageKind kMoreStages[] = {
    {"shard", always,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 4);
       const std::int64_t index = c.below(n);
       g.dataset = g.dataset.shard(n, index);
       Model out;
       for (auto i = static_cast<std::size_t>(index); i < g.model.size();
            i += static_cast<std::size_t>(n)) {
         out.push_back(g.model[i]);
       }
       g.model = std::move(out);
     }},
    {"enumerate", of_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t start = c.below(9);
       g.dataset = g.dataset.enumerate(start).map(
           [](std::int64_t i, std::int64_t x) { return 3 * x + i; });
       for (std::size_t i = 0; i < g.model.size(); ++i) {
         if (g.model[i].failed()) continue;
         g.model[i] = scalar(3 * number(g.model[i].value) + start +
                             static_cast<std::int64_t>(i));
       }
     }},
    {"zip", unmixed,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.below(80);
       g.dataset = first_leaf(Dataset::zip({g.dataset, some_source(c, n)}), 0);
       g.model.resize(std::min(g.model.size(), static_cast<std::size_t>(n)));
     }},
    {"concatenate", unmixed_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.below(20);
       g.dataset = g.dataset.concatenate(some_source(c, n));
       for (ModelElement& e : source_model(n)) g.model.push_back(e);
     }},
    {"choose_from_datasets", unmixed_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.below(40);
       const bool stop = c.chance(50);
       g.dataset = Dataset::choose_from_datasets(
           {g.dataset, some_source(c, n)},
           Dataset::range(200).map(
               [](std::int64_t i) { return std::int64_t{i % 3 == 2 ? 1 : 0}; }),
           {.stop_on_empty_dataset = stop});
       const Model from[2] = {g.model, source_model(n)};
       std::size_t at[2] = {0, 0};
       g.model.clear();
       for (int i = 0; i < 200; ++i) {
         const int k = i % 3 == 2 ? 1 : 0;
         if (at[k] < from[k].size()) {
           g.model.push_back(from[k][at[k]++]);
         } else if (stop) {
           break;
         }
       }
     }},
    {"sample_from_datasets", unmixed_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.below(40);
       g.dataset = Dataset::sample_from_datasets({g.dataset, some_source(c, n)},
                                                 {.seed = c.below(9)});
       for (ModelElement& e : source_model(n)) g.model.push_back(e);
       take_order(g, true);
       g.random = true;
     }},
    {"rejection_resample", of_scalars,
     [](Graph& g, Choices& c) {
       g.dataset =
           first_leaf(g.dataset.rejection_resample(
                          [](std::int64_t x) { return std::abs(x) % 2; },
                          {0.3, 0.7}, {.seed = c.below(9)}),
                      1);
       take_subsequence(g);
       g.random = true;
     }},
    {"take_while", of_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t k = c.below(60);
       const auto holds = [k](std::int64_t x) { return std::abs(x) % 61 != k; };
       g.dataset = g.dataset.take_while(holds);
       const auto end = std::find_if(
           g.model.begin(), g.model.end(), [&](const ModelElement& e) {
             return !e.failed() && !holds(number(e.value));
           });
       g.model.erase(end, g.model.end());
     }},
    {"unique", always,
     [](Graph& g, Choices&) {
       g.dataset = g.dataset.unique();
       std::set<std::string> seen;
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         if (seen.insert(e.to_string()).second) out.push_back({e, "", 0});
       });
     }},
    {"scan", clean_scalars,
     [](Graph& g, Choices&) {
       g.dataset = g.dataset.scan(std::int64_t{0},
                                  [](std::int64_t sum, std::int64_t x) {
                                    return std::pair(sum + x, sum + 2 * x);
                                  });
       std::int64_t sum = 0;
       for (ModelElement& e : g.model) {
         const std::int64_t x = number(e.value);
         e = scalar(sum + 2 * x);
         sum += x;
       }
     }},
    {"flat_map", [](const Graph& g) { return g.scalars && few(g); },
     [](Graph& g, Choices&) {
       g.dataset = g.dataset.flat_map(
           nested, {.output_signature = Spec::scalar<std::int64_t>()});
       Model out;
       for (const Model& list : nested_models(g.model)) {
         out.insert(out.end(), list.begin(), list.end());
       }
       g.model = std::move(out);
     }},
    {"interleave", [](const Graph& g) { return g.scalars && few(g); },
     [](Graph& g, Choices& c) {
       const std::int64_t cycle = c.between(1, 6);
       const std::int64_t block = c.between(1, 3);
       g.dataset = g.dataset.interleave(
           nested,
           {.cycle_length = cycle,
            .block_length = block,
            .num_parallel_calls = c.chance(50) ? kAutotune : c.between(1, 3),
            .output_signature = Spec::scalar<std::int64_t>()});
       g.model =
           interleaved(nested_models(g.model), static_cast<std::size_t>(cycle),
                       static_cast<std::size_t>(block));
     }},
    {"padded_batch", clean_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       const bool drop = c.chance(30);
       g.dataset = g.dataset.padded_batch(n, {.drop_remainder = drop});
       g.model = batches_of(g.model, static_cast<std::size_t>(n), drop);
       g.scalars = false;
     }},
    // Values of unknown shape would become ragged.
    {"ragged_batch of scalars",
     [](const Graph& g) {
       return clean_scalars(g) && g.dataset.element_spec().known();
     },
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       g.dataset = g.dataset.ragged_batch(n);
       g.model = batches_of(g.model, static_cast<std::size_t>(n), false);
       g.scalars = false;
     }},
    {"batch and unbatch", clean_scalars,
     [](Graph& g, Choices& c) {
       g.dataset = g.dataset.batch(c.between(1, 6)).unbatch();
     }},
    {"batch and rebatch", clean_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       const bool drop = c.chance(30);
       g.dataset = g.dataset.batch(c.between(1, 6))
                       .rebatch(n, {.drop_remainder = drop});
       g.model = batches_of(g.model, static_cast<std::size_t>(n), drop);
       g.scalars = false;
     }},
    {"windows one after the other", clean_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       const bool drop = c.chance(30);
       g.dataset =
           g.dataset.window(n, {.drop_remainder = drop})
               .flat_map([](const Element& w) { return Dataset::of(w[0]); },
                         {.output_signature = Spec::scalar<std::int64_t>()});
       const std::size_t size = g.model.size();
       if (drop) g.model.resize(size - size % static_cast<std::size_t>(n));
     }},
    {"group_by_window", clean_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       const auto key = [](std::int64_t x) { return std::abs(x) % 3; };
       g.dataset = g.dataset.group_by_window(
           key,
           [n](std::int64_t, const Dataset& window) { return window.batch(n); },
           {.window_size = n});
       g.model = grouped(g.model, key, [n](std::int64_t) {
         return static_cast<std::size_t>(n);
       });
       g.scalars = false;
     }},
    {"bucket_by_sequence_length", clean_scalars,
     [](Graph& g, Choices&) {
       const auto length = [](std::int64_t x) { return std::abs(x) % 9; };
       g.dataset =
           g.dataset.bucket_by_sequence_length(length, {3, 6}, {2, 3, 4});
       g.model = grouped(
           g.model,
           [&](std::int64_t x) {
             return std::min<std::int64_t>(2, length(x) / 3);
           },
           [](std::int64_t k) { return static_cast<std::size_t>(k + 2); });
       g.scalars = false;
     }},
    {"pack", clean_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t length = c.between(4, 9);
       const std::int64_t open = c.between(1, 3);
       g.dataset =
           first_leaf(g.dataset
                          .map([](std::int64_t x) {
                            return Tensor::from(std::vector<std::int64_t>(
                                static_cast<std::size_t>(fan_out(x)) + 1, x));
                          })
                          .pack(length, {.num_open = open}),
                      0);
       g.model = packed(g.model, static_cast<std::size_t>(length),
                        static_cast<std::size_t>(open));
       g.scalars = false;
     }},
    {"cache", none_failed,
     [](Graph& g, Choices&) { g.dataset = g.dataset.cache(); }},
    {"filter that fails and skips", of_scalars,
     [](Graph& g, Choices& c) {
       const auto limit =
           c.chance(50) ? std::optional(c.below(6)) : std::nullopt;
       g.dataset = g.dataset.filter(
           [](std::int64_t x) -> StatusOr<bool> {
             if (x % 5 == 1) return absl::DataLossError(absl::StrCat("f", x));
             return x % 2 == 0;
           },
           {.on_error = ErrorPolicy::skip(limit)});
       std::int64_t skipped = 0;
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         const std::int64_t x = number(e);
         if (x % 5 == 1) {
           if (limit && skipped++ >= *limit) {
             out.push_back(failure(absl::StrCat("f", x)));
           }
         } else if (x % 2 == 0) {
           out.push_back({e, "", 0});
         }
       });
     }},
};

}  // namespace

std::span<const StageKind> more_stages() { return kMoreStages; }

}  // namespace penstock::testing
