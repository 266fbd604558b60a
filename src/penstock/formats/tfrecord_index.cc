#include "penstock/formats/tfrecord_index.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "penstock/base/codec.h"
#include "penstock/formats/tfrecord.h"

namespace penstock::tfrecord {
namespace {

constexpr std::string_view kMagic = "PSTFIDX1";

}  // namespace

std::int64_t Index::offset(std::int64_t i) const {
  if (i == size()) return end_;
  const auto at = static_cast<std::size_t>(i);
  std::int64_t offset = anchors_[at / kStride];
  for (std::size_t k = at - at % kStride; k < at; ++k) {
    offset += static_cast<std::int64_t>(sizes_[k] + kFrameBytes);
  }
  return offset;
}

std::int64_t Index::largest_payload() const {
  return sizes_.empty() ? 0 : *std::max_element(sizes_.begin(), sizes_.end());
}

bool Index::add(std::uint64_t payload_bytes) {
  if (payload_bytes > std::numeric_limits<std::uint32_t>::max()) return false;
  if (sizes_.size() % kStride == 0) anchors_.push_back(end_);
  sizes_.push_back(static_cast<std::uint32_t>(payload_bytes));
  end_ += static_cast<std::int64_t>(payload_bytes + kFrameBytes);
  return true;
}

std::string Index::encode(const Subject& subject) const {
  Encoder out;
  out.raw(kMagic);
  out.i64(subject.size);
  out.i64(subject.modified_ns);
  out.u64(static_cast<std::uint64_t>(tail_.code()));
  out.bytes(to_std(tail_.message()));
  out.u64(sizes_.size());
  out.raw({reinterpret_cast<const char*>(sizes_.data()),
           sizes_.size() * sizeof(std::uint32_t)});
  out.fixed64(crc32c(out.str()));
  return std::move(out).take();
}

StatusOr<Index> Index::decode(std::string_view bytes, const Subject& subject) {
  const Status damaged = absl::DataLossError("damaged index");
  if (bytes.size() < kMagic.size() + 8 ||
      bytes.substr(0, kMagic.size()) != kMagic) {
    return damaged;
  }
  const std::string_view covered = bytes.substr(0, bytes.size() - 8);
  if (Decoder(bytes.substr(covered.size())).fixed64() != crc32c(covered)) {
    return damaged;
  }
  Decoder in(covered.substr(kMagic.size()));
  Subject named;
  named.size = in.i64();
  named.modified_ns = in.i64();
  const std::uint64_t code = in.u64();
  const std::string_view message = in.bytes();
  const std::size_t n = in.count(sizeof(std::uint32_t));
  const std::string_view sizes = in.raw(n * sizeof(std::uint32_t));
  if (!in.ok() || !in.at_end() || code > 16) return damaged;
  if (!(named == subject)) {
    return absl::FailedPreconditionError("the file has changed since");
  }
  Index index;
  index.sizes_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t size = 0;
    std::memcpy(&size, sizes.data() + i * sizeof(size), sizeof(size));
    index.add(size);
  }
  index.tail_ = Status(static_cast<StatusCode>(code), to_absl(message));
  if (index.end_ > subject.size ||
      (index.tail_.ok() && index.end_ != subject.size)) {
    return damaged;
  }
  return index;
}

}  // namespace penstock::tfrecord
