// Batches of images that a map writes: is every byte written once, into memory
// that is already there?
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "benchmarks/micro/bench.h"
#include "penstock/memory/buffer.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

const Shape kImage{224, 224, 3};
constexpr std::size_t kImageBytes = 224 * 224 * 3 * sizeof(float);
constexpr std::int64_t kImages = 256;
constexpr std::size_t kBatchBytes = kImages * kImageBytes;

const std::byte* image() {
  static const auto* const bytes = [] {
    auto* data = new std::byte[kImageBytes];
    for (std::size_t i = 0; i < kImageBytes; ++i) {
      data[i] = static_cast<std::byte>(i * 31);
    }
    return data;
  }();
  return bytes;
}

Dataset images(std::int64_t batches) {
  return Dataset::range(batches * kImages)
      .map(
          [](std::int64_t) {
            Tensor t = Tensor::allocate<float>(kImage).value();
            std::memcpy(t.mutable_data(), image(), kImageBytes);
            return t;
          },
          {.output_signature = Spec::tensor(DType::kFloat32, kImage)})
      .batch(kImages, {.drop_remainder = true});
}

std::byte* huge(std::size_t bytes) {
  void* raw = mmap(nullptr, bytes + Buffer::kHugeBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto at = reinterpret_cast<std::uintptr_t>(raw);
  at = (at + Buffer::kHugeBytes - 1) & ~(Buffer::kHugeBytes - 1);
  auto* data = reinterpret_cast<std::byte*>(at);
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

// Writes `batches` times kImages images, image by image, by `threads` threads.
void copy_images(const std::vector<std::byte*>& batches, std::int64_t rounds,
                 int threads) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (;;) {
      const std::int64_t i = next.fetch_add(1);
      if (i >= rounds * kImages) return;
      std::byte* batch =
          batches[static_cast<std::size_t>(i / kImages) % batches.size()];
      std::memcpy(batch + static_cast<std::size_t>(i % kImages) * kImageBytes,
                  image(), kImageBytes);
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}

double gb_per_s(std::int64_t batches, double ns) {
  return static_cast<double>(batches) * static_cast<double>(kBatchBytes) / ns;
}

}  // namespace

PENSTOCK_BENCH(16, batch_recycled) {
  const std::int64_t batches = table.quick() ? 4 : 24;
  const Dataset ds = images(batches);
  std::vector<std::byte*> two = {huge(kBatchBytes), huge(kBatchBytes)};
  copy_images(two, 2, 2);
  const auto drain = [&] {
    Iterator it = ds.iterator();
    while (auto batch = it.next()) keep(*batch);
  };
  drain();
  const auto t = interleave(
      table.quick() ? 3 : 9,
      {[&] { return time_of([&] { copy_images(two, batches, 2); }); },
       [&] { return time_of(drain); },
       [&] { return time_of([&] { copy_images(two, batches, 1); }); }});
  table.at_least("batches of 154 MB, given back: share of two memcpy threads",
                 median_ratio(t[0], t[1]), "x", 0.9);
  table.reference("  share of one memcpy thread", median_ratio(t[2], t[1]),
                  "x");
  table.reference("  rate", gb_per_s(batches, t[1].best()), "GB/s");
  table.reference("  two memcpy threads into recycled memory",
                  gb_per_s(batches, t[0].best()), "GB/s");
  for (std::byte* b : two) munmap(b, kBatchBytes);
}

PENSTOCK_BENCH(17, batch_kept) {
  const std::int64_t batches = table.quick() ? 2 : 12;
  const Dataset ds = images(batches);
  const auto kept = [&] {
    BufferPool::trim();
    std::vector<Element> all;
    all.reserve(static_cast<std::size_t>(batches));
    const double t = time_of([&] {
      Iterator it = ds.iterator();
      while (auto batch = it.next()) all.push_back(*std::move(batch));
    });
    all.clear();
    BufferPool::trim();
    return t;
  };
  const auto bare = [&](int threads) {
    std::vector<std::byte*> all;
    const double t = time_of([&] {
      for (std::int64_t i = 0; i < batches; ++i)
        all.push_back(huge(kBatchBytes));
      copy_images(all, batches, threads);
    });
    for (std::byte* b : all) munmap(b, kBatchBytes);
    return t;
  };
  const auto t =
      interleave(table.quick() ? 3 : 7,
                 {[&] { return bare(2); }, kept, [&] { return bare(1); }});
  table.at_least("batches of 154 MB, kept: share of two memcpy threads",
                 median_ratio(t[0], t[1]), "x", 0.8);
  table.reference("  share of one memcpy thread", median_ratio(t[2], t[1]),
                  "x");
  table.reference("  rate", gb_per_s(batches, t[1].best()), "GB/s");
  table.reference("  two memcpy threads into huge pages",
                  gb_per_s(batches, t[0].best()), "GB/s");
}

}  // namespace penstock::bench
