#include "penstock/dataset.h"

#include <algorithm>
#include <limits>
#include <new>

#include "penstock/build_dataset.h"
#include "penstock/element_failure.h"
#include "penstock/ops/batch/batch.h"
#include "penstock/ops/bucket_by_sequence_length/bucket_by_sequence_length.h"
#include "penstock/ops/cache/cache.h"
#include "penstock/ops/choose_from_datasets/choose_from_datasets.h"
#include "penstock/ops/concatenate/concatenate.h"
#include "penstock/ops/counter/counter.h"
#include "penstock/ops/enumerate/enumerate.h"
#include "penstock/ops/filter/filter.h"
#include "penstock/ops/flat_map/flat_map.h"
#include "penstock/ops/from_generator/from_generator.h"
#include "penstock/ops/from_indexable/from_indexable.h"
#include "penstock/ops/from_list/from_list.h"
#include "penstock/ops/from_source/random_access.h"
#include "penstock/ops/from_source/sequential.h"
#include "penstock/ops/from_tensor_slices/from_tensor_slices.h"
#include "penstock/ops/from_tensors/from_tensors.h"
#include "penstock/ops/group_by_window/group_by_window.h"
#include "penstock/ops/ignore_errors/ignore_errors.h"
#include "penstock/ops/interleave/interleave.h"
#include "penstock/ops/load/load.h"
#include "penstock/ops/on_error/on_error.h"
#include "penstock/ops/pack/pack.h"
#include "penstock/ops/padded_batch/padded_batch.h"
#include "penstock/ops/prefetch/prefetch.h"
#include "penstock/ops/ragged_batch/ragged_batch.h"
#include "penstock/ops/random/random.h"
#include "penstock/ops/range/range.h"
#include "penstock/ops/rebatch/rebatch.h"
#include "penstock/ops/rejection_resample/rejection_resample.h"
#include "penstock/ops/repeat/repeat.h"
#include "penstock/ops/sample_from_datasets/sample_from_datasets.h"
#include "penstock/ops/scan/scan.h"
#include "penstock/ops/shard/shard.h"
#include "penstock/ops/skip/skip.h"
#include "penstock/ops/take/take.h"
#include "penstock/ops/take_while/take_while.h"
#include "penstock/ops/unbatch/unbatch.h"
#include "penstock/ops/unique/unique.h"
#include "penstock/ops/window/window.h"
#include "penstock/ops/zip/zip.h"
#include "penstock/runtime/iterator.h"

namespace penstock {
namespace detail {

Dataset build_dataset(OpOr op, std::vector<NodeRef> inputs, std::string name) {
  if (!op.ok()) throw Error(op.status());
  NodeRef node = value_or_throw(
      Node::make(*std::move(op), std::move(inputs), std::move(name)));
  if (node->error_policy) {
    node = value_or_throw(ops::with_error_policy(node, node->options.on_error));
  }
  return Dataset(std::move(node));
}

}  // namespace detail

using detail::build_dataset;
using detail::OpOr;

Iterator::Iterator(std::unique_ptr<IteratorCore> core)
    : core_(std::move(core)) {}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;
Iterator::~Iterator() = default;

namespace {

Status moved_from() {
  return absl::FailedPreconditionError("iterator: it was moved from");
}

}  // namespace

IteratorCore& Iterator::running() const {
  if (core_ == nullptr) [[unlikely]]
    throw Error(moved_from());
  return *core_;
}
std::string Iterator::state_dict() const { return running().state_dict(); }
IteratorStats Iterator::stats() const { return running().stats(); }
std::string Iterator::explain() const { return running().explain(); }
bool Iterator::start_trace(std::int64_t events_per_thread) {
  return running().start_trace(events_per_thread);
}
Trace Iterator::stop_trace() { return running().stop_trace(); }
void Iterator::cancel() {
  if (core_ != nullptr) core_->cancel();
}
void Iterator::close() {
  if (core_ == nullptr || core_->close()) return;
  throw Error(absl::FailedPreconditionError(
      "close() was called by a function of this very iterator, which would "
      "wait for itself; cancel() ends the iterator from there"));
}
bool Iterator::close(std::chrono::nanoseconds timeout) {
  if (core_ == nullptr) return true;
  // A deadline of now + timeout must not overflow.
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  return core_->close(
      std::clamp(timeout, std::chrono::nanoseconds::zero(), kLongest).count());
}
std::vector<std::string> Iterator::running_stages() const {
  if (core_ == nullptr) return {};
  return core_->running_stages();
}

std::optional<Element> Iterator::next() try {
  // Filled where the caller wants it: moving an element costs 10 ns.
  std::optional<Element> element(std::in_place);
  IteratorCore& core = running();
  if (core.take_scalars(*element)) return element;
  ErrorRef error;
  switch (core.next(*element, error)) {
    case IteratorCore::Next::kElement:
      return element;
    case IteratorCore::Next::kEnd:
      element.reset();
      return element;
    case IteratorCore::Next::kInterrupted:
    case IteratorCore::Next::kError:
      break;
  }
  throw ElementFailure(std::move(error));
} catch (const std::bad_alloc&) {
  throw Error(out_of_memory());
}

StatusOr<std::optional<Element>> Iterator::try_next() try {
  if (core_ == nullptr) return moved_from();
  Element element;
  if (core_->take_scalars(element)) {
    return std::optional<Element>(std::move(element));
  }
  ErrorRef error;
  switch (core_->next(element, error)) {
    case IteratorCore::Next::kElement:
      return std::optional<Element>(std::move(element));
    case IteratorCore::Next::kEnd:
      return std::optional<Element>();
    case IteratorCore::Next::kInterrupted:
    case IteratorCore::Next::kError:
      break;
  }
  return error->to_status();
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Dataset::Dataset(NodeRef node)
    : node_(std::move(node)), state_(std::make_shared<DatasetState>()) {}

Dataset Dataset::range(std::int64_t stop) { return range(0, stop); }

Dataset Dataset::range(std::int64_t start, std::int64_t stop, std::int64_t step,
                       std::string name) {
  return build_dataset(ops::make_range(start, stop, step), {}, std::move(name));
}

Dataset Dataset::from_tensors(Element element, std::string name) {
  return build_dataset(ops::make_from_tensors(std::move(element)), {},
                       std::move(name));
}

Dataset Dataset::from_tensor_slices(Element element, std::string name) {
  return build_dataset(ops::make_from_tensor_slices(std::move(element)), {},
                       std::move(name));
}

Dataset Dataset::from_list(std::vector<Element> elements, std::string name) {
  return build_dataset(ops::make_from_list(std::move(elements)), {},
                       std::move(name));
}

Dataset Dataset::generator_dataset(SequentialFactory open, std::string identity,
                                   SourceOptions options) {
  return build_dataset(
      ops::make_from_generator(std::move(open), std::move(identity),
                               std::move(options.output_signature),
                               options.cardinality),
      {}, std::move(options.name));
}

Dataset Dataset::indexable_dataset(
    std::int64_t size, std::function<StatusOr<Element>(std::int64_t)> fn,
    std::string identity, SourceOptions options) {
  if (!options.cardinality.is_unknown() &&
      options.cardinality != Cardinality(size)) {
    throw Error(
        invalid_argument("from_indexable: cardinality must be the size ", size,
                         ", got ", options.cardinality.to_string()));
  }
  return build_dataset(
      ops::make_from_indexable(size, std::move(fn), std::move(identity),
                               std::move(options.output_signature)),
      {}, std::move(options.name));
}

Dataset Dataset::from_source(std::shared_ptr<const RandomAccessSource> source,
                             std::string name) {
  return build_dataset(
      ops::make_random_access(std::move(source), "from_source"), {},
      std::move(name));
}

Dataset Dataset::from_source(SequentialFactory open, SourceOptions options) {
  std::string identity =
      absl::StrCat(open ? open.target_type().name() : "", ":", options.name);
  return build_dataset(
      ops::make_sequential(
          std::move(open),
          {"from_source", std::move(identity),
           std::move(options.output_signature), options.cardinality}),
      {}, std::move(options.name));
}

Dataset Dataset::random(std::optional<std::uint64_t> seed,
                        bool rerandomize_each_iteration, std::string name) {
  return build_dataset(ops::make_random(seed, rerandomize_each_iteration), {},
                       std::move(name));
}

Dataset Dataset::counter(std::int64_t start, std::int64_t step,
                         std::string name) {
  return build_dataset(ops::make_counter(start, step), {}, std::move(name));
}

Dataset Dataset::map_function(FunctionRef fn, const MapOptions& options) const {
  return build_dataset(
      ops::make_map(std::move(fn), {options.num_parallel_calls,
                                    options.deterministic, options.on_error}),
      {node_}, options.name);
}

Dataset Dataset::filter_function(FunctionRef fn,
                                 const MapOptions& options) const {
  return build_dataset(
      ops::make_filter(std::move(fn),
                       {options.num_parallel_calls, options.deterministic,
                        options.on_error}),
      {node_}, options.name);
}

Dataset Dataset::flat_map_function(DatasetFunctionRef fn,
                                   const FlatMapOptions& options) const {
  return build_dataset(ops::make_flat_map(std::move(fn)), {node_},
                       options.name);
}

Dataset Dataset::interleave_function(DatasetFunctionRef fn,
                                     const InterleaveOptions& options) const {
  return build_dataset(
      ops::make_interleave(std::move(fn),
                           {options.cycle_length, options.block_length,
                            options.num_parallel_calls, options.deterministic}),
      {node_}, options.name);
}

Dataset Dataset::group_by_window_function(
    FunctionRef key, DatasetFunctionRef reduce,
    const GroupByWindowOptions& options) const {
  ops::GroupByWindowOptions group;
  group.window_size = options.window_size;
  group.window_size_func = options.window_size_func;
  return build_dataset(ops::make_group_by_window(
                           std::move(key), std::move(reduce), std::move(group)),
                       {node_}, options.name);
}

Dataset Dataset::bucket_function(FunctionRef length,
                                 std::vector<std::int64_t> boundaries,
                                 std::vector<std::int64_t> batch_sizes,
                                 const BucketByLengthOptions& options) const {
  return build_dataset(
      ops::make_bucket_by_sequence_length(
          std::move(length), node_->spec,
          {std::move(boundaries), std::move(batch_sizes), options.padded_shapes,
           options.padding_values, options.padded_shapes_as,
           options.padding_values_as, options.pad_to_bucket_boundary,
           options.no_padding, options.drop_remainder}),
      {node_}, options.name);
}

Dataset Dataset::rejection_resample_function(
    FunctionRef class_func, std::vector<double> target_dist,
    const RejectionResampleOptions& options) const {
  return build_dataset(
      ops::make_rejection_resample(
          std::move(class_func),
          {std::move(target_dist), options.initial_dist, options.seed}),
      {node_}, options.name);
}

Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets,
                                      SampleOptions options) {
  std::vector<NodeRef> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node());
  return build_dataset(
      ops::make_sample_from_datasets(
          datasets.size(),
          {std::move(options.weights), options.seed,
           options.stop_on_empty_dataset, options.rerandomize_each_iteration}),
      std::move(inputs), options.name);
}

Dataset Dataset::choose_from_datasets(const std::vector<Dataset>& datasets,
                                      const Dataset& choice,
                                      ChooseOptions options) {
  std::vector<NodeRef> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node());
  inputs.push_back(choice.node());
  return build_dataset(ops::make_choose_from_datasets(
                           datasets.size(), options.stop_on_empty_dataset),
                       std::move(inputs), options.name);
}

Dataset Dataset::batch(std::int64_t batch_size, BatchOptions options) const {
  return build_dataset(ops::make_batch(batch_size, options.drop_remainder),
                       {node_}, options.name);
}

Dataset Dataset::padded_batch(std::int64_t batch_size,
                              PaddedBatchOptions options) const {
  return build_dataset(
      ops::make_padded_batch(
          batch_size,
          {std::move(options.padded_shapes), std::move(options.padding_values),
           options.padded_shapes_as, options.padding_values_as,
           options.drop_remainder}),
      {node_}, std::move(options.name));
}

Dataset Dataset::ragged_batch(std::int64_t batch_size,
                              BatchOptions options) const {
  return build_dataset(
      ops::make_ragged_batch(batch_size, options.drop_remainder, node_->spec),
      {node_}, std::move(options.name));
}

Dataset Dataset::pack(std::int64_t length, PackOptions options) const {
  return pack(std::vector<std::int64_t>{length}, std::move(options));
}

Dataset Dataset::pack(std::vector<std::int64_t> lengths,
                      PackOptions options) const {
  return build_dataset(
      ops::make_pack({std::move(lengths), options.num_open, options.split_long,
                      std::move(options.padding_values),
                      options.drop_remainder}),
      {node_}, std::move(options.name));
}

Dataset Dataset::shuffle(ShuffleOptions options) const {
  // Inherited skip policies act behind the stages that need random access.
  const NodeRef input =
      node_->error_policy
          ? detail::value_or_throw(ops::without_error_policy(node_))
          : node_;
  if (options.buffer_size == kGlobal &&
      (!input->indexed || !input->cardinality.finite())) {
    throw Error(invalid_argument(
        "shuffle: GLOBAL needs random access to a finite input, but ",
        input->indexed ? input->stage().to_string() + " is endless"
                       : random_access_ends_at(*input, "does not give it"),
        "; put the shuffle before it, or use a buffer_size"));
  }
  return build_dataset(ops::make_shuffle({options.buffer_size, options.seed,
                                          options.reshuffle_each_iteration}),
                       {node_}, options.name);
}

Dataset Dataset::repeat(std::int64_t count, std::string name) const {
  return build_dataset(ops::make_repeat(count), {node_}, std::move(name));
}

Dataset Dataset::cache(CacheOptions options) const {
  return build_dataset(options.path
                           ? ops::make_file_cache(*std::move(options.path))
                           : ops::make_cache(),
                       {node_}, std::move(options.name));
}

Dataset Dataset::snapshot(std::string path, std::string name) const {
  return build_dataset(ops::make_snapshot(std::move(path)), {node_},
                       std::move(name));
}

Dataset Dataset::load(const std::string& path, std::string name) {
  return build_dataset(ops::make_load(path), {}, std::move(name));
}

Dataset Dataset::take(std::int64_t count, std::string name) const {
  return build_dataset(ops::make_take(count), {node_}, std::move(name));
}

Dataset Dataset::skip(std::int64_t count, std::string name) const {
  return build_dataset(ops::make_skip(count), {node_}, std::move(name));
}

Dataset Dataset::take_while_function(FunctionRef predicate,
                                     std::string name) const {
  return build_dataset(ops::make_take_while(std::move(predicate)), {node_},
                       std::move(name));
}

Dataset Dataset::unbatch(std::string name) const {
  return build_dataset(ops::make_unbatch(node_->spec), {node_},
                       std::move(name));
}

Dataset Dataset::rebatch(std::int64_t batch_size, BatchOptions options) const {
  return rebatch(std::vector<std::int64_t>{batch_size}, std::move(options));
}

Dataset Dataset::rebatch(std::vector<std::int64_t> batch_sizes,
                         BatchOptions options) const {
  return build_dataset(ops::make_rebatch(std::move(batch_sizes),
                                         options.drop_remainder, node_->spec),
                       {node_}, std::move(options.name));
}

Dataset Dataset::window(std::int64_t size, WindowOptions options) const {
  return build_dataset(
      ops::make_window({size, options.shift.value_or(size), options.stride,
                        options.drop_remainder}),
      {node_}, std::move(options.name));
}

Dataset Dataset::of(const Tensor& nested) {
  const auto* object = nested.dtype() == DType::kObject
                           ? dynamic_cast<DatasetObject*>(nested.object())
                           : nullptr;
  if (object == nullptr) {
    throw Error(invalid_argument("of: nested must be a dataset, got ",
                                 nested.to_string()));
  }
  return Dataset(object->node);
}

void Dataset::check_callable(std::string_view op, bool callable) {
  if (callable) return;
  throw Error(invalid_argument(to_absl(op), ": fn must be callable, got none"));
}

void Dataset::check_fold(std::string_view op,
                         Status (*check_state)(const Spec&),
                         const Element& state,
                         Status (*check_input)(const Spec&)) const {
  Status status = state.defined() ? check_state(Spec::of(state)) : Status();
  if (status.ok()) status = check_input(node_->spec);
  if (!status.ok()) throw Error(annotate(status, std::string(op) + ": "));
}

Dataset Dataset::scan_function(Element initial_state, ScanFunction fn,
                               std::string identity,
                               const ScanOptions& options) const {
  return build_dataset(
      ops::make_scan(std::move(initial_state), std::move(fn),
                     {options.output_signature, std::move(identity)}),
      {node_}, options.name);
}

Element Dataset::reduce_function(Element state,
                                 const ReduceFunction& fn) const {
  if (!state.defined()) {
    throw Error(invalid_argument(
        "reduce: initial_state must be a value, got <undefined>"));
  }
  const Element first = state;
  Iterator it = iterator();
  for (std::int64_t i = 0; std::optional<Element> element = it.next(); ++i) {
    auto next = fn(state, *element);
    Status status = next.ok() ? ops::check_state(first, *next) : next.status();
    if (!status.ok()) {
      throw Error(annotate(status, absl::StrCat("reduce: element ", i, ": ")));
    }
    state = *std::move(next);
  }
  return state;
}

Dataset Dataset::unique(std::string name) const {
  return build_dataset(ops::make_unique_op(), {node_}, std::move(name));
}

Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index,
                       std::string name) const {
  return build_dataset(ops::make_shard(num_shards, index), {node_},
                       std::move(name));
}

Dataset Dataset::enumerate(std::int64_t start, std::string name) const {
  return build_dataset(ops::make_enumerate(start), {node_}, std::move(name));
}

Dataset Dataset::concatenate(const Dataset& other, std::string name) const {
  return build_dataset(ops::make_concatenate(), {node_, other.node_},
                       std::move(name));
}

Dataset Dataset::zip(const Structure* structure,
                     const std::vector<Dataset>& datasets, std::string name) {
  if (structure != nullptr && structure->num_leaves() != datasets.size()) {
    throw Error(invalid_argument(
        "zip: datasets must be as many as the "
        "structure ",
        structure->to_string(), " has leaves, got ", datasets.size()));
  }
  std::vector<NodeRef> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node_);
  return build_dataset(ops::make_zip(structure), std::move(nodes),
                       std::move(name));
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets, std::string name) {
  return zip(Structure::leaves(datasets.size()), datasets, std::move(name));
}

Dataset Dataset::zip(
    const std::vector<std::pair<std::string, Dataset>>& datasets,
    std::string name) {
  std::vector<std::pair<std::string, const Structure*>> items;
  std::vector<Dataset> values;
  for (const auto& [key, dataset] : datasets) {
    for (const auto& [other, leaf] : items) {
      if (other == key) {
        throw Error(invalid_argument(
            "zip: datasets must have different keys, got '", key, "' twice"));
      }
    }
    items.emplace_back(key, Structure::leaf());
    values.push_back(dataset);
  }
  return zip(Structure::dict(std::move(items)), values, std::move(name));
}

Dataset Dataset::prefetch(std::int64_t n, std::string name) const {
  return build_dataset(ops::make_prefetch(n), {node_}, std::move(name));
}

Dataset Dataset::ignore_errors(std::optional<std::int64_t> limit,
                               std::string name) const {
  return build_dataset(ops::make_ignore_errors(limit), {node_},
                       std::move(name));
}

Dataset Dataset::with_options(Options options) const {
  return build_dataset(ops::make_with_options(std::move(options)), {node_}, "");
}

std::string Dataset::explain() const {
  std::string text = explain_graph(*node_);
  // Planning reads no data and counts no iteration.
  RunConfig config;
  config.scheduler = &default_scheduler();
  config.memory_budget = Account::process().budget();
  config.cpu_budget = config.scheduler->cpu_budget();
  auto run = Run::create(node_, config, {});
  if (run.ok()) absl::StrAppend(&text, "plan:\n", (*run)->explain());
  return text;
}

Element Dataset::at(std::int64_t i, const std::atomic<bool>* cancel) const {
  if (!node_->indexed) {
    throw Error(absl::FailedPreconditionError(absl::StrCat(
        "at: ", random_access_ends_at(*node_, "does not give random access"))));
  }
  const std::int64_t size = node_->cardinality.is_infinite()
                                ? std::numeric_limits<std::int64_t>::max()
                                : node_->cardinality.value();
  if (i < 0 || i >= size) {
    throw Error(absl::OutOfRangeError(
        absl::StrCat("at: index ", i, " is not in [0, ", size, ")")));
  }
  IndexRun run;
  run.begin = i;
  run.count = 1;
  std::vector<Block> blocks;
  const Status status = read_indexed(
      *node_, run, Epoch{state_->seed(node_->options), 0}, cancel, "", blocks);
  if (!status.ok()) throw Error(status);
  const Block& block = blocks.front();
  if (ErrorRef error = block.error_ref(0)) {
    throw ElementFailure(std::move(error));
  }
  return block.element(0);
}

Iterator Dataset::iterator(std::string_view state) const {
  return Iterator(
      detail::value_or_throw(IteratorCore::create(node_, state_, state)));
}

Iterator Dataset::iterator_on(Scheduler& scheduler,
                              std::string_view state) const {
  return Iterator(detail::value_or_throw(
      IteratorCore::create(node_, state_, state, &scheduler)));
}

void Dataset::save(const std::string& path, const SaveOptions& options) const {
  if (options.num_shards < 1) {
    throw Error(invalid_argument("save: num_shards must be >= 1, got ",
                                 options.num_shards));
  }
  auto made = ops::DatasetWriter::create(FileSystem::local(), path);
  if (!made.ok()) throw Error(annotate(made.status(), "save: "));
  auto writer = *std::move(made);
  Iterator it = iterator();
  for (std::int64_t i = 0; std::optional<Element> element = it.next(); ++i) {
    const std::int64_t shard = options.shard_func ? options.shard_func(*element)
                                                  : i % options.num_shards;
    const Status status = writer->add(shard, *element);
    if (!status.ok()) throw Error(status);
  }
  const Status status = writer->finish(node_->spec);
  if (!status.ok()) throw Error(status);
}

std::vector<Element> Dataset::to_list() const {
  std::vector<Element> out;
  Iterator it = iterator();
  while (std::optional<Element> element = it.next()) {
    out.push_back(*std::move(element));
  }
  return out;
}

}  // namespace penstock
