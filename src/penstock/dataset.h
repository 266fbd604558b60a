// The public C++ API: datasets and iterators.
//
// A Dataset is an immutable description; copying it is free and building it
// reads no data. Wrong arguments throw penstock::Error when the graph is
// built. Iterating starts the pipeline: in parallel, ahead of the consumer,
// with the same elements however it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/error.h"
#include "penstock/file_options.h"
#include "penstock/graph/node.h"
#include "penstock/graph/options.h"
#include "penstock/memory/element.h"
#include "penstock/ops/map/map.h"
#include "penstock/ops/shuffle/shuffle.h"
#include "penstock/runtime/stats.h"
#include "penstock/runtime/trace.h"
#include "penstock/source.h"
#include "penstock/typed_fold.h"
#include "penstock/typed_function.h"

namespace penstock {

class IteratorCore;
class Scheduler;
struct DatasetState;

/// A running pipeline. Movable. next() may be called from several threads. One
/// that was moved from is closed; asking it for anything is FailedPrecondition.
class Iterator {
 public:
  explicit Iterator(std::unique_ptr<IteratorCore> core);
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;
  ~Iterator();

  /// The next element, or nothing at the end. Throws Error for an element that
  /// failed; the next call goes on behind it.
  std::optional<Element> next();
  /// The same without exceptions.
  StatusOr<std::optional<Element>> try_next();
  /// Bytes from which Dataset::iterator(state) continues exactly here.
  std::string state_dict() const;
  IteratorStats stats() const;
  /// The plan that is running.
  std::string explain() const;
  /// Records what each thread does from now on, for a timeline: the last
  /// `events_per_thread` events of each. False if that is under way already.
  bool start_trace(std::int64_t events_per_thread = 1 << 16);
  /// What was recorded since.
  Trace stop_trace();
  /// A waiting next() returns; no new work starts. Returns at once.
  void cancel();
  /// Waits for user functions that are running, then frees everything. One of
  /// its own functions may not call it, nor next().
  void close();
  /// The same, but gives up after `timeout`: false when functions still run,
  /// running_stages() then names their stages. No new call is started; what
  /// the running ones hold is freed when they return.
  bool close(std::chrono::nanoseconds timeout);
  /// Stages with a call of the user's code under way.
  std::vector<std::string> running_stages() const;

  /// For code that builds on the engine; not of one that was moved from.
  IteratorCore& core() { return *core_; }

 private:
  IteratorCore& running() const;

  std::unique_ptr<IteratorCore> core_;
};

struct MapOptions {
  std::int64_t num_parallel_calls = kAutotune;
  std::optional<bool> deterministic = std::nullopt;
  ErrorPolicy on_error = {};
  /// What the function gives, when its type does not tell.
  Spec output_signature = {};
  std::string name = "";
};

struct BatchOptions {
  bool drop_remainder = false;
  std::string name = "";
};

struct PaddedBatchOptions {
  /// Shape of each leaf, in order; -1 pads to the longest of the batch. None:
  /// every dimension that the spec leaves open, to the longest.
  std::vector<PartialShape> padded_shapes = {};
  /// Scalar of each leaf, or one for all; an undefined Tensor is 0 or "".
  std::vector<Tensor> padding_values = {};
  /// How they nest, where the spec of the elements is unknown: by key, and one
  /// in place of a component for all of it. Null: leaf by leaf.
  const Structure* padded_shapes_as = nullptr;
  const Structure* padding_values_as = nullptr;
  bool drop_remainder = false;
  std::string name = "";
};

struct PackOptions {
  /// Rows being filled at once: a sequence goes into the first it fits in. With
  /// 1 the sequences keep their order.
  std::int64_t num_open = 1;
  /// Cuts sequences longer than a row; each piece is a segment of its own.
  bool split_long = false;
  /// Scalar of each leaf, or one for all; an undefined Tensor is 0 or "".
  std::vector<Tensor> padding_values = {};
  /// Leaves out the rows that are still open at the end.
  bool drop_remainder = false;
  std::string name = "";
};

struct CacheOptions {
  /// Of the file; unset: in memory.
  std::optional<std::string> path = std::nullopt;
  std::string name = "";
};

struct SaveOptions {
  /// Elements go to the shards in turn, and come back in their order.
  std::int64_t num_shards = 1;
  /// Instead, the number of the shard an element goes to.
  std::function<std::int64_t(const Element&)> shard_func = nullptr;
};

struct ShuffleOptions {
  /// Elements in the window, or kGlobal.
  std::int64_t buffer_size = 0;
  std::optional<std::uint64_t> seed = std::nullopt;
  bool reshuffle_each_iteration = true;
  std::string name = "";
};

struct FlatMapOptions {
  /// What the nested datasets give; unknown if it is not said.
  Spec output_signature = {};
  std::string name = "";
};

struct InterleaveOptions {
  /// Datasets that take turns; AUTOTUNE is 16 on every machine.
  std::int64_t cycle_length = kAutotune;
  /// Elements of one turn.
  std::int64_t block_length = 1;
  /// Calls of the function at once, and datasets worked on at once.
  std::int64_t num_parallel_calls = kAutotune;
  /// False: elements of whichever dataset has one first.
  std::optional<bool> deterministic = std::nullopt;
  Spec output_signature = {};
  std::string name = "";
};

struct GroupByWindowOptions {
  /// Elements of one window.
  std::int64_t window_size = 0;
  /// Or a size for each key; called once per key.
  std::function<std::int64_t(std::int64_t)> window_size_func = nullptr;
  Spec output_signature = {};
  std::string name = "";
};

struct WindowOptions {
  /// Elements between the beginnings of two windows; unset: the size.
  std::optional<std::int64_t> shift = std::nullopt;
  /// Elements between two elements of a window.
  std::int64_t stride = 1;
  /// Leaves out windows that are not full.
  bool drop_remainder = false;
  std::string name = "";
};

struct ScanOptions {
  /// What the function gives out, when its type does not tell.
  Spec output_signature = {};
  std::string name = "";
};

struct BucketByLengthOptions {
  /// As padded_batch takes them.
  std::vector<PartialShape> padded_shapes = {};
  std::vector<Tensor> padding_values = {};
  const Structure* padded_shapes_as = nullptr;
  const Structure* padding_values_as = nullptr;
  /// Pads open dimensions to the longest length of the bucket; an element too
  /// long for the last boundary is an error.
  bool pad_to_bucket_boundary = false;
  bool no_padding = false;
  bool drop_remainder = false;
  std::string name = "";
};

struct SampleOptions {
  /// One per dataset, in any unit; empty: all equal.
  std::vector<double> weights = {};
  std::optional<std::uint64_t> seed = std::nullopt;
  /// True: the first dataset found at its end ends everything; otherwise it
  /// leaves the draw.
  bool stop_on_empty_dataset = false;
  bool rerandomize_each_iteration = false;
  std::string name = "";
};

struct ChooseOptions {
  /// False: choices of a dataset that has ended are passed over.
  bool stop_on_empty_dataset = true;
  std::string name = "";
};

struct RejectionResampleOptions {
  /// Share of each class in the input; empty: estimated while it runs.
  std::vector<double> initial_dist = {};
  std::optional<std::uint64_t> seed = std::nullopt;
  std::string name = "";
};

class Dataset {
 public:
  // --- sources ------------------------------------------------------------
  static Dataset range(std::int64_t stop);
  static Dataset range(std::int64_t start, std::int64_t stop,
                       std::int64_t step = 1, std::string name = "");
  /// One element; shares its memory.
  static Dataset from_tensors(Element element, std::string name = "");
  /// The slices along the first dimension of all tensors, without copying.
  static Dataset from_tensor_slices(Element element, std::string name = "");
  /// The elements of a list: one structure and dtypes, shapes may differ.
  static Dataset from_list(std::vector<Element> elements,
                           std::string name = "");
  /// What a generator gives, call after call: `make()` gives a callable for
  /// each iteration, which returns std::optional<T> or
  /// StatusOr<std::optional<T>>, nothing at the end. T is what a map function
  /// may return. One worker at a time calls it; it is destroyed at the end. If
  /// it throws or fails, the error is delivered once and the dataset ends. A
  /// restored iterator makes a new one and reads forward.
  template <class F>
  static Dataset from_generator(F make, SourceOptions options = {}) {
    static_assert(std::is_invocable_v<const F&>,
                  "make() must take no arguments and give a generator; several "
                  "iterators call it at once, so it cannot be mutable");
    using Source = detail::GeneratorSource<detail::GeneratorOf<F>>;
    if (!options.output_signature.known()) {
      options.output_signature = detail::result_spec<typename Source::Value>();
    }
    std::string identity = detail::function_identity<F>(options.name);
    return generator_dataset(detail::generator_factory(std::move(make)),
                             std::move(identity), std::move(options));
  }
  /// fn(0), ..., fn(size - 1), or without end for Cardinality::kInfinite. Many
  /// workers call `fn` at once, in any order; an error or exception takes the
  /// place of its element. A cardinality, if given, must be the size.
  template <class F>
  static Dataset from_indexable(std::int64_t size, F fn,
                                SourceOptions options = {}) {
    static_assert(std::is_invocable_v<const F&, std::int64_t>,
                  "fn must take an index, a std::int64_t; it is called from "
                  "many threads at once, so it cannot be mutable");
    using Result =
        std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t>>;
    if (!options.output_signature.known()) {
      options.output_signature = detail::result_spec<Result>();
    }
    std::string identity = detail::function_identity<F>(options.name);
    if (detail::is_null(fn)) {
      return indexable_dataset(size, nullptr, std::move(identity),
                               std::move(options));
    }
    return indexable_dataset(
        size,
        // Shared: what a lambda holds need not be copyable.
        [fn = std::make_shared<const F>(std::move(fn))](std::int64_t i)
            -> StatusOr<Element> { return detail::to_result((*fn)(i)); },
        std::move(identity), std::move(options));
  }
  /// A source of the user that is read by index.
  static Dataset from_source(std::shared_ptr<const RandomAccessSource> source,
                             std::string name = "");
  /// A source of the user that is read in order; `open` is called once for each
  /// iteration, from a worker.
  static Dataset from_source(SequentialFactory open,
                             SourceOptions options = {});
  /// Random int64 in [0, 2^32), without end. The same values in each iteration,
  /// unless it is told to draw new ones.
  static Dataset random(std::optional<std::uint64_t> seed = std::nullopt,
                        bool rerandomize_each_iteration = false,
                        std::string name = "");
  /// start, start + step, ... without end, as int64.
  static Dataset counter(std::int64_t start = 0, std::int64_t step = 1,
                         std::string name = "");

  // --- files ----------------------------------------------------------------
  /// Names of files, sorted. A pattern that matches none is an error.
  static Dataset list_files(const FileNames& patterns,
                            ListFilesOptions options = {});
  /// The records of TFRecord files, one file after the other. Plain files are
  /// read by index: at(i), global shuffles, one file from all workers.
  static Dataset tfrecord(const FileNames& files, TFRecordOptions options = {});
  static Dataset tfrecord(const Dataset& files, TFRecordOptions options = {});
  /// Lines without their ends.
  static Dataset text_lines(const FileNames& files,
                            TextLinesOptions options = {});
  static Dataset text_lines(const Dataset& files,
                            TextLinesOptions options = {});
  /// Records of one size; of plain files by index.
  static Dataset fixed_length_records(const FileNames& files,
                                      std::int64_t record_bytes,
                                      FixedLengthOptions options = {});
  static Dataset fixed_length_records(const Dataset& files,
                                      std::int64_t record_bytes,
                                      FixedLengthOptions options = {});
  /// Records of CSV files as dicts of scalars; a batch is a dict of columns.
  static Dataset csv(const FileNames& files, CsvOptions options = {});
  /// The columns must be given.
  static Dataset csv(const Dataset& files, CsvOptions options);
  /// JSON objects, one per line, as dicts of `fields`.
  static Dataset jsonl(const FileNames& files, std::vector<JsonField> fields,
                       JsonlOptions options = {});
  static Dataset jsonl(const Dataset& files, std::vector<JsonField> fields,
                       JsonlOptions options = {});
  /// Samples of tar files as WebDataset has them: dicts of "__key__" and the
  /// bytes of the files that share it, by extension.
  static Dataset tar(const FileNames& files, TarOptions options = {});
  static Dataset tar(const Dataset& files, TarOptions options = {});
  /// (path, label) of the images in a directory per class; io::class_names()
  /// tells the names.
  static Dataset image_folder(const std::string& root,
                              ImageFolderOptions options = {});
  /// Rows of the arrays in .npy files, or dicts of the rows of all arrays in
  /// .npz files. Mapped into memory: elements are views.
  static Dataset npy(const FileNames& files, std::string name = "");

  /// Element i of every dataset as one tuple, as long as the shortest.
  static Dataset zip(const std::vector<Dataset>& datasets,
                     std::string name = "");
  /// The same as a dict.
  static Dataset zip(
      const std::vector<std::pair<std::string, Dataset>>& datasets,
      std::string name = "");
  /// The same nested as `structure` says, whose leaves stand for `datasets`.
  static Dataset zip(const Structure* structure,
                     const std::vector<Dataset>& datasets,
                     std::string name = "");

  /// What save() wrote at `path`; one element of each shard in turn.
  static Dataset load(const std::string& path, std::string name = "");
  /// Each element from one of `datasets`, drawn at random.
  static Dataset sample_from_datasets(const std::vector<Dataset>& datasets,
                                      SampleOptions options = {});
  /// Elements of `datasets` in the order that `choice`, a dataset of int64
  /// numbers, says. A number that names no dataset is an error in place.
  static Dataset choose_from_datasets(const std::vector<Dataset>& datasets,
                                      const Dataset& choice,
                                      ChooseOptions options = {});

  // --- transformations ------------------------------------------------------
  template <class F>
  Dataset map(F fn, MapOptions options = {}) const {
    return map_function(
        detail::make_function(std::move(fn), options.output_signature,
                              options.name),
        options);
  }
  template <class F>
  Dataset filter(F predicate, MapOptions options = {}) const {
    return filter_function(
        detail::make_function(std::move(predicate), {}, options.name), options);
  }
  /// `fn` makes a Dataset of each element; their elements in order.
  template <class F>
  Dataset flat_map(F fn, FlatMapOptions options = {}) const {
    return flat_map_function(
        detail::make_dataset_function(std::move(fn), options.output_signature,
                                      options.name),
        options);
  }
  /// The same with `cycle_length` datasets taking turns.
  template <class F>
  Dataset interleave(F fn, InterleaveOptions options = {}) const {
    return interleave_function(
        detail::make_dataset_function(std::move(fn), options.output_signature,
                                      options.name),
        options);
  }
  /// Collects elements of equal key_fn(element) to windows; the elements of
  /// reduce_fn(std::int64_t key, Dataset window) follow. What is left at the
  /// end comes out in key order.
  template <class K, class R>
  Dataset group_by_window(K key_fn, R reduce_fn,
                          GroupByWindowOptions options) const {
    return group_by_window_function(
        detail::make_function(std::move(key_fn), {}, options.name),
        detail::make_dataset_function(std::move(reduce_fn),
                                      options.output_signature, options.name),
        options);
  }
  /// Batches of elements of similar length: bucket i takes lengths in
  /// [boundaries[i - 1], boundaries[i]) and makes batches of batch_sizes[i].
  template <class F>
  Dataset bucket_by_sequence_length(F length_fn,
                                    std::vector<std::int64_t> boundaries,
                                    std::vector<std::int64_t> batch_sizes,
                                    BucketByLengthOptions options = {}) const {
    return bucket_function(
        detail::make_function(std::move(length_fn), {}, options.name),
        std::move(boundaries), std::move(batch_sizes), options);
  }
  /// (class, element), with elements dropped so that the classes that
  /// `class_func` gives have the shares of `target_dist`.
  template <class F>
  Dataset rejection_resample(F class_func, std::vector<double> target_dist,
                             RejectionResampleOptions options = {}) const {
    return rejection_resample_function(
        detail::make_function(std::move(class_func), {}, options.name),
        std::move(target_dist), options);
  }
  Dataset batch(std::int64_t batch_size, BatchOptions options = {}) const;
  /// Elements padded to one shape and stacked. An element larger than its
  /// padded shape fails with DataLoss.
  Dataset padded_batch(std::int64_t batch_size,
                       PaddedBatchOptions options = {}) const;
  /// Elements as one without padding: leaves of unknown shape become ragged.
  Dataset ragged_batch(std::int64_t batch_size,
                       BatchOptions options = {}) const;
  /// Several sequences per row of `length`: elements of rank-1 tensors become
  /// rows of values, segment ids (from 1; 0 is padding) and positions (from 0),
  /// both int32. A tensor gives the tuple of the three; a key k of a dict gives
  /// k, k_segment_ids and k_positions. A sequence that is too long is an error.
  Dataset pack(std::int64_t length, PackOptions options = {}) const;
  /// A length for each leaf, in order.
  Dataset pack(std::vector<std::int64_t> lengths,
               PackOptions options = {}) const;
  Dataset shuffle(ShuffleOptions options) const;
  Dataset shuffle(std::int64_t buffer_size,
                  std::optional<std::uint64_t> seed = std::nullopt) const {
    return shuffle(ShuffleOptions{.buffer_size = buffer_size, .seed = seed});
  }
  /// Without `count`, or with -1: for ever.
  Dataset repeat(std::int64_t count = -1, std::string name = "") const;
  /// Keeps the elements in memory from the first complete pass on. They belong
  /// to this Dataset object and its copies; their bytes stay charged.
  Dataset cache(CacheOptions options = {}) const;
  /// Keeps them in the file `path`, which is replayed as long as it is there,
  /// whatever the input. A second writer is refused with AlreadyExists.
  /// A template: braces are CacheOptions.
  template <class Path>
    requires std::convertible_to<const Path&, std::string_view> ||
             std::convertible_to<const Path&, std::string>
  Dataset cache(const Path& path, std::string name = "") const {
    return cache(CacheOptions{std::string(path), std::move(name)});
  }
  /// Keeps them in the directory `path`. While one iterator writes, others
  /// compute for themselves.
  Dataset snapshot(std::string path, std::string name = "") const;
  Dataset take(std::int64_t count, std::string name = "") const;
  Dataset skip(std::int64_t count, std::string name = "") const;
  /// The elements before the first for which `predicate` gives false.
  template <class F>
  Dataset take_while(F predicate, std::string name = "") const {
    return take_while_function(
        detail::make_function(std::move(predicate), {}, name), name);
  }
  /// Serialized tf.train.Examples become dicts of `features`; batches of them
  /// become batches. VarLen and Ragged values of a batch are ragged.
  Dataset parse_example(std::vector<Feature> features,
                        std::string name = "") const;
  /// Serialized SequenceExamples become (context, sequences).
  Dataset parse_sequence_example(std::vector<Feature> context_features,
                                 std::vector<Feature> sequence_features,
                                 std::string name = "") const;
  /// Every row of an element's first dimension as an element.
  Dataset unbatch(std::string name = "") const;
  /// Batches of another size: what unbatch() and batch() give, cheaper.
  Dataset rebatch(std::int64_t batch_size, BatchOptions options = {}) const;
  /// The sizes are taken in turn.
  Dataset rebatch(std::vector<std::int64_t> batch_sizes,
                  BatchOptions options = {}) const;
  /// Windows of `size` elements as nested datasets, one for each leaf.
  Dataset window(std::int64_t size, WindowOptions options = {}) const;
  /// The dataset that a leaf of a window is.
  static Dataset of(const Tensor& nested);
  /// fn(state, element) -> (next state, output), one call after the other.
  template <class Init, class F>
  Dataset scan(Init initial_state, F fn, ScanOptions options = {}) const {
    check_callable("scan", !detail::is_null(fn));
    auto callable = detail::as_callable(std::move(fn));
    using Fold = detail::Fold<decltype(callable)>;
    Element state = Fold::initial(std::move(initial_state));
    check_fold("scan", Fold::check_state, state, Fold::check_input);
    if (!options.output_signature.known()) {
      options.output_signature = detail::scan_output_spec<decltype(callable)>();
    }
    return scan_function(
        std::move(state), detail::make_scan_function(std::move(callable)),
        absl::StrCat(typeid(F).name(), ":", options.name), options);
  }
  /// fn(state, element) -> next state, over all elements, at once.
  template <class Init, class F>
  Element reduce(Init initial_state, F fn) const {
    check_callable("reduce", !detail::is_null(fn));
    auto callable = detail::as_callable(std::move(fn));
    using Fold = detail::Fold<decltype(callable)>;
    Element state = Fold::initial(std::move(initial_state));
    check_fold("reduce", Fold::check_state, state, Fold::check_input);
    return reduce_function(std::move(state),
                           detail::make_reduce_function(std::move(callable)));
  }
  /// Every element once, where it is seen first.
  Dataset unique(std::string name = "") const;
  /// Every num_shards-th element, beginning with element `index`.
  Dataset shard(std::int64_t num_shards, std::int64_t index,
                std::string name = "") const;
  /// (start + position, element) for every element.
  Dataset enumerate(std::int64_t start = 0, std::string name = "") const;
  /// These elements, then those of `other`.
  Dataset concatenate(const Dataset& other, std::string name = "") const;
  Dataset prefetch(std::int64_t n = kAutotune, std::string name = "") const;
  Dataset ignore_errors(std::optional<std::int64_t> limit = std::nullopt,
                        std::string name = "") const;
  Dataset with_options(Options options) const;
  /// fn(*this): lets own transformations read like the built-in ones.
  template <class F>
  Dataset apply(F fn) const {
    return fn(*this);
  }

  // --- looking at it ------------------------------------------------------
  Cardinality cardinality() const { return node_->cardinality; }
  const Spec& element_spec() const { return node_->spec; }
  /// The graph and the plan it runs as.
  std::string explain() const;
  std::string fingerprint() const { return node_->fingerprint(); }
  /// Element `i` of an indexed chain, as iteration 0 would give it. Computed
  /// by the caller's thread; once `cancel` is true no further call is started,
  /// and it throws.
  Element at(std::int64_t i, const std::atomic<bool>* cancel = nullptr) const;

  // --- running ------------------------------------------------------------
  /// Continues at `state` if it is given.
  Iterator iterator(std::string_view state = "") const;
  /// For tests: runs on another scheduler (a simulation).
  Iterator iterator_on(Scheduler& scheduler, std::string_view state = "") const;
  std::vector<Element> to_list() const;
  /// Iterates, and writes all elements to the directory `path`. What was saved
  /// there before stays until all is written; an error leaves it.
  void save(const std::string& path, const SaveOptions& options = {}) const;

  class RangeIterator;
  struct Sentinel {};
  RangeIterator begin() const;
  Sentinel end() const { return {}; }

  // --- for code that builds on the engine ---------------------------------
  explicit Dataset(NodeRef node);
  const NodeRef& node() const { return node_; }
  Dataset map_function(FunctionRef fn, const MapOptions& options) const;
  Dataset filter_function(FunctionRef fn, const MapOptions& options) const;
  Dataset flat_map_function(DatasetFunctionRef fn,
                            const FlatMapOptions& options) const;
  Dataset interleave_function(DatasetFunctionRef fn,
                              const InterleaveOptions& options) const;
  static Dataset generator_dataset(SequentialFactory open, std::string identity,
                                   SourceOptions options);
  static Dataset indexable_dataset(
      std::int64_t size, std::function<StatusOr<Element>(std::int64_t)> fn,
      std::string identity, SourceOptions options);
  Dataset take_while_function(FunctionRef predicate, std::string name) const;
  Dataset scan_function(Element initial_state, ScanFunction fn,
                        std::string identity, const ScanOptions& options) const;
  Element reduce_function(Element state, const ReduceFunction& fn) const;
  Dataset group_by_window_function(FunctionRef key, DatasetFunctionRef reduce,
                                   const GroupByWindowOptions& options) const;
  Dataset bucket_function(FunctionRef length,
                          std::vector<std::int64_t> boundaries,
                          std::vector<std::int64_t> batch_sizes,
                          const BucketByLengthOptions& options) const;
  Dataset rejection_resample_function(
      FunctionRef class_func, std::vector<double> target_dist,
      const RejectionResampleOptions& options) const;

 private:
  static void check_callable(std::string_view op, bool callable);
  /// Throws unless a function of a state and an element can take these.
  void check_fold(std::string_view op, Status (*check_state)(const Spec&),
                  const Element& state,
                  Status (*check_input)(const Spec&)) const;

  NodeRef node_;
  std::shared_ptr<DatasetState> state_;
};

/// For range-for; an input iterator over a running pipeline.
class Dataset::RangeIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Element;
  using difference_type = std::ptrdiff_t;
  using pointer = const Element*;
  using reference = const Element&;

  explicit RangeIterator(Iterator iterator)
      : iterator_(std::make_shared<Iterator>(std::move(iterator))) {
    ++*this;
  }
  const Element& operator*() const { return *element_; }
  const Element* operator->() const { return &*element_; }
  RangeIterator& operator++() {
    element_ = iterator_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const RangeIterator& it, Sentinel) {
    return !it.element_.has_value();
  }

 private:
  std::shared_ptr<Iterator> iterator_;
  std::optional<Element> element_;
};

inline Dataset::RangeIterator Dataset::begin() const {
  return RangeIterator(iterator());
}

}  // namespace penstock
