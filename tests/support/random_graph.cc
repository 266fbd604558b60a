#include "tests/support/random_graph.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "tests/support/random_stages.h"

namespace penstock::testing {
std::uint64_t hash_of(const Element& element) {
  Fingerprint fp;
  fp.add(element.to_string());
  return fp.low();
}

ModelElement failure(std::string text) { return {{}, std::move(text), 0}; }

namespace {
// Without why an error was not skipped, which no model knows.
std::string what_failed(const Outcome& outcome) {
  const std::string_view message = to_std(outcome.error.message());
  return std::string(message.substr(0, message.rfind(" (not skipped: ")));
}
}  // namespace

// Drops or changes values; errors stay where they are.
Model each_value(const Model& in,
                 const std::function<void(const Element&, Model&)>& fn) {
  Model out;
  for (const ModelElement& e : in) {
    if (e.failed()) {
      out.push_back(e);
    } else {
      fn(e.value, out);
    }
  }
  return out;
}

// Takes the order of a shuffle from a run on one worker with blocks of 1, after
// checking that it is a permutation of the model (unless elements may be other
// ones, under a repeat).
void take_order(Graph& graph, bool permutation) {
  const Outcomes got =
      run(graph.dataset.with_options(
              {.cpu_budget = 1, .fuse = false, .max_block_rows = 1}),
          static_cast<std::int64_t>(10 * kMaxElements));
  if (permutation && got.size() != graph.model.size()) {
    throw std::logic_error(absl::StrCat("a shuffle gave ", got.size(), " of ",
                                        graph.model.size(), " elements"));
  }
  Model ordered;
  std::vector<bool> used(graph.model.size());
  for (const Outcome& o : got) {
    std::size_t i = 0;
    while (i < used.size() && (used[i] || !graph.model[i].matches(o))) ++i;
    if (i < used.size()) {
      used[i] = true;
      ordered.push_back(graph.model[i]);
    } else if (permutation) {
      throw std::logic_error(
          absl::StrCat("a shuffle gave what was not there: ", o.to_string()));
    } else if (o.ok()) {
      ordered.push_back({o.element, "", 0});
    } else {
      ordered.push_back(failure(what_failed(o)));
    }
  }
  graph.model = std::move(ordered);
}

Model repeated(const Model& model, std::size_t count) {
  Model out;
  for (std::size_t i = 0; i < count; ++i) {
    out.insert(out.end(), model.begin(), model.end());
  }
  return out;
}

ModelElement batched(std::span<const ModelElement> group) {
  ModelElement out;
  std::int64_t errors = 0;
  for (const ModelElement& e : group) {
    if (!e.failed()) continue;
    if (errors++ == 0) out = e;
  }
  if (errors > 0) {
    out.others += errors - 1;
    return out;
  }
  std::vector<std::int64_t> values;
  const Shape& shape = group[0].value[0].shape();
  for (const ModelElement& e : group) {
    if (!(e.value[0].shape() == shape)) {
      return failure("use padded_batch to pad them to one shape");
    }
    for (std::int64_t v : e.value[0].as<std::int64_t>()) values.push_back(v);
  }
  return {
      Tensor::from(std::span<const std::int64_t>(values),
                   shape.prepended(static_cast<std::int64_t>(group.size()))),
      "", 0};
}

bool always(const Graph&) { return true; }
bool of_scalars(const Graph& g) { return g.scalars; }

namespace {

// The table. An entry appends its stage to the dataset and does the same to the
// model; keep the model too simple to be wrong.
constexpr StageKind kStages[] = {
    {"map of numbers", of_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t k = c.below(10);
       g.dataset = g.dataset.map([k](std::int64_t x) { return 3 * x + k; });
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         const auto x = e[0].value<std::int64_t>();
         out.push_back({Tensor::scalar(3 * x + k), "", 0});
       });
     }},
    {"map of elements, result not declared", always,
     [](Graph& g, Choices&) {
       g.dataset = g.dataset.map(
           [](const Element& e) -> StatusOr<Element> { return e; });
     }},
    {"map with a width", always,
     [](Graph& g, Choices& c) {
       const bool late = c.chance(20);
       g.dataset = g.dataset.map(
           [late](const Element& e) {
             if (late && hash_of(e) % 16 == 0) {
               std::this_thread::sleep_for(std::chrono::microseconds(300));
             }
             return e;
           },
           {.num_parallel_calls = c.between(1, 4),
            .output_signature = g.dataset.element_spec()});
     }},
    {"map that fails", always,
     [](Graph& g, Choices& c) {
       const auto k = static_cast<std::uint64_t>(c.below(7));
       const auto text = [](const Element& e) {
         return absl::StrCat("boom ", hash_of(e));
       };
       g.dataset = g.dataset.map(
           [k, text](const Element& e) -> StatusOr<Element> {
             if (hash_of(e) % 7 == k) return absl::DataLossError(text(e));
             return e;
           },
           {.output_signature = g.dataset.element_spec()});
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         out.push_back(hash_of(e) % 7 == k ? failure(text(e))
                                           : ModelElement{e, "", 0});
       });
     }},
    {"map that throws", of_scalars,
     [](Graph& g, Choices& c) {
       const std::int64_t k = c.below(9);
       const auto bad = [k](std::int64_t x) { return (x % 9 + 9) % 9 == k; };
       g.dataset = g.dataset.map([bad](std::int64_t x) {
         if (bad(x)) throw std::runtime_error(absl::StrCat("thrown ", x));
         return x;
       });
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         const auto x = e[0].value<std::int64_t>();
         out.push_back(bad(x) ? failure(absl::StrCat("thrown ", x))
                              : ModelElement{e, "", 0});
       });
     }},
    {"map that fails and skips", of_scalars,
     [](Graph& g, Choices& c) {
       const auto limit =
           c.chance(50) ? std::optional(c.below(6)) : std::nullopt;
       g.dataset = g.dataset.map(
           [](std::int64_t x) -> StatusOr<std::int64_t> {
             if (x % 4 == 1) return absl::DataLossError(absl::StrCat("s", x));
             return x;
           },
           {.on_error = ErrorPolicy::skip(limit)});
       std::int64_t skipped = 0;
       Model out;
       for (const ModelElement& e : g.model) {
         if (e.failed() || e.value[0].value<std::int64_t>() % 4 != 1) {
           out.push_back(e);
         } else if (limit && skipped++ >= *limit) {
           out.push_back(
               failure(absl::StrCat("s", e.value[0].value<std::int64_t>())));
         }
       }
       g.model = std::move(out);
     }},
    {"map that fails and replaces", of_scalars,
     [](Graph& g, Choices&) {
       const Element other = Tensor::scalar<std::int64_t>(-5);
       g.dataset = g.dataset.map(
           [](std::int64_t x) -> StatusOr<std::int64_t> {
             if (x % 4 == 1) return absl::DataLossError("replaced");
             return x;
           },
           {.on_error = ErrorPolicy::replace(other)});
       for (ModelElement& e : g.model) {
         if (!e.failed() && e.value[0].value<std::int64_t>() % 4 == 1) {
           e = {other, "", 0};
         }
       }
     }},
    {"filter", always,
     [](Graph& g, Choices& c) {
       const auto m = static_cast<std::uint64_t>(c.between(2, 6));
       const bool keep_few = c.chance(30);
       const auto keep = [m, keep_few](const Element& e) {
         return (hash_of(e) % m == 0) == keep_few;
       };
       g.dataset = g.dataset.filter(keep);
       g.model = each_value(g.model, [&](const Element& e, Model& out) {
         if (keep(e)) out.push_back({e, "", 0});
       });
     }},
    {"filter that fails", always,
     [](Graph& g, Choices&) {
       g.dataset = g.dataset.filter([](const Element& e) -> StatusOr<bool> {
         const std::uint64_t h = hash_of(e) % 8;
         if (h == 7) return absl::DataLossError("no verdict");
         return h % 2 == 0;
       });
       g.model = each_value(g.model, [](const Element& e, Model& out) {
         const std::uint64_t h = hash_of(e) % 8;
         if (h == 7) out.push_back(failure("no verdict"));
         if (h % 2 == 0) out.push_back({e, "", 0});
       });
     }},
    {"batch", always,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.between(1, 6);
       const bool drop = c.chance(30);
       g.dataset = g.dataset.batch(n, {.drop_remainder = drop});
       Model out;
       const auto size = static_cast<std::size_t>(n);
       for (std::size_t i = 0; i < g.model.size(); i += size) {
         const std::size_t end = std::min(i + size, g.model.size());
         if (drop && end - i < size) break;
         out.push_back(batched({g.model.begin() + static_cast<long>(i),
                                g.model.begin() + static_cast<long>(end)}));
       }
       g.model = std::move(out);
       g.scalars = false;
     }},
    {"take", always,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.chance(10) ? -1 : c.below(60);
       g.dataset = g.dataset.take(n);
       if (n >= 0 && static_cast<std::size_t>(n) < g.model.size()) {
         g.model.resize(static_cast<std::size_t>(n));
       }
     }},
    {"skip", always,
     [](Graph& g, Choices& c) {
       const std::int64_t n = c.chance(5) ? -1 : c.below(20);
       g.dataset = g.dataset.skip(n);
       const std::size_t gone =
           n < 0 ? g.model.size()
                 : std::min(g.model.size(), static_cast<std::size_t>(n));
       g.model.erase(g.model.begin(),
                     g.model.begin() + static_cast<long>(gone));
     }},
    {"repeat", always,
     [](Graph& g, Choices& c) {
       std::int64_t n = c.below(4);
       if (g.model.size() * static_cast<std::size_t>(n) > kMaxElements) n = 1;
       g.dataset = g.dataset.repeat(n);
       g.model = repeated(g.model, static_cast<std::size_t>(n));
       if (g.random) take_order(g, false);
     }},
    {"repeat for ever, some taken",
     // An input that may be empty in one repetition only has no model.
     [](const Graph& g) { return !g.random; },
     [](Graph& g, Choices& c) {
       const auto n = static_cast<std::size_t>(c.below(60));
       g.dataset = g.dataset.repeat().take(static_cast<std::int64_t>(n));
       if (!g.model.empty())
         g.model = repeated(g.model, n / g.model.size() + 1);
       if (g.model.size() > n) g.model.resize(n);
     }},
    {"shuffle", always,
     [](Graph& g, Choices& c) {
       g.dataset = g.dataset.shuffle(
           {.buffer_size = c.between(1, 12),
            .seed = c.chance(70) ? std::optional<std::uint64_t>(c.below(5))
                                 : std::nullopt,
            .reshuffle_each_iteration = c.chance(70)});
       take_order(g, true);
       g.random = true;
     }},
    {"global shuffle",
     [](const Graph& g) {
       return g.dataset.node()->indexed && g.dataset.cardinality().finite();
     },
     [](Graph& g, Choices& c) {
       g.dataset = g.dataset.shuffle(kGlobal, c.below(5));
       take_order(g, true);
       g.random = true;
     }},
    {"prefetch", always,
     [](Graph& g, Choices& c) {
       g.dataset = g.dataset.prefetch(c.between(-1, 3));
     }},
    {"ignore_errors", always,
     [](Graph& g, Choices& c) {
       const auto limit =
           c.chance(40) ? std::optional(c.below(5)) : std::nullopt;
       g.dataset = g.dataset.ignore_errors(limit);
       std::int64_t ignored = 0;
       Model out;
       for (const ModelElement& e : g.model) {
         if (!e.failed() || (limit && ignored++ >= *limit)) out.push_back(e);
       }
       g.model = std::move(out);
     }},
    {"with_options", always,
     [](Graph& g, Choices& c) {
       g.dataset = g.dataset.with_options(random_options(c));
     }},
};

}  // namespace

std::int64_t Choices::below(std::int64_t n) {
  const auto bound = static_cast<std::uint64_t>(std::max<std::int64_t>(1, n));
  if (!from_bytes_) return static_cast<std::int64_t>(random_.below(bound));
  if (bytes_.empty()) return 0;
  const std::uint8_t byte = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return static_cast<std::int64_t>(byte % bound);
}

std::string ModelElement::to_string() const {
  if (!failed()) return value.to_string();
  if (others == 0) return error;
  return absl::StrCat(error, " (and ", others, " more error",
                      others > 1 ? "s" : "", " in this batch)");
}

bool ModelElement::matches(const Outcome& outcome) const {
  if (failed() == outcome.ok()) return false;
  if (!failed()) return outcome.element == value;
  return absl::EndsWith(what_failed(outcome), to_string());
}

Graph random_graph(Choices& choices, int stages) {
  Graph graph;
  const std::int64_t start = choices.between(-20, 20);
  const std::int64_t n = choices.chance(5) ? 0 : choices.between(1, 120);
  graph.dataset = Dataset::range(start, start + n);
  for (std::int64_t x = start; x < start + n; ++x) {
    graph.model.push_back({Tensor::scalar(x), "", 0});
  }
  // Stages that were given no seed draw the same numbers in each build.
  graph.dataset = graph.dataset.with_options({.seed = 11});
  for (int i = 0; i < stages && !choices.spent(); ++i) {
    const std::span<const StageKind> more = more_stages();
    const auto k = static_cast<std::size_t>(choices.below(
        static_cast<std::int64_t>(std::size(kStages) + more.size())));
    const StageKind& kind =
        k < std::size(kStages) ? kStages[k] : more[k - std::size(kStages)];
    if (kind.fits(graph)) kind.add(graph, choices);
  }
  return graph;
}

Options random_options(Choices& choices) {
  Options options;
  if (choices.chance(60)) {
    options.cpu_budget = std::array<int, 3>{1, 2, 8}[choices.below(3)];
  }
  if (choices.chance(40)) options.max_block_rows = choices.between(1, 9);
  if (choices.chance(30)) options.fuse = false;
  if (choices.chance(20)) options.memory_budget = 256 * 1024;
  return options;
}

std::string difference(const Outcomes& got,
                       std::span<const ModelElement> wanted) {
  for (std::size_t i = 0; i < std::max(got.size(), wanted.size()); ++i) {
    const bool more = i < got.size();
    if (more && i < wanted.size() && wanted[i].matches(got[i])) continue;
    return absl::StrCat("element ", i, " of ", wanted.size(), " (got ",
                        got.size(), ") is ",
                        more ? got[i].to_string() : "missing", " instead of ",
                        i < wanted.size() ? wanted[i].to_string() : "the end");
  }
  return "";
}

}  // namespace penstock::testing
