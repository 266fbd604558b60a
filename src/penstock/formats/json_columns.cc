#include "penstock/formats/json_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "penstock/memory/visit_dtype.h"

namespace penstock {
namespace {

// Of the strings of a column that has none yet.
constexpr std::size_t kFirstTextBytes = 4096;

}  // namespace

JsonHeld json_held_as(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kFloat32:
      return JsonHeld::kFloats;
    case DType::kFloat64:
      return JsonHeld::kDoubles;
    case DType::kBool:
      return JsonHeld::kBools;
    case DType::kString:
      return JsonHeld::kStrings;
    default:
      return JsonHeld::kInts;
  }
}

void JsonColumn::start(const JsonField& field, std::size_t rows) {
  dtype_ = field.dtype;
  held_ = json_held_as(field.dtype);
  list_ = field.list;
  ints_.clear();
  doubles_.clear();
  floats_.clear();
  bools_.clear();
  text_size_ = 0;
  ends_.clear();
  splits_.assign(1, 0);
  switch (held_) {
    case JsonHeld::kInts:
      ints_.reserve(rows);
      break;
    case JsonHeld::kFloats:
      floats_.reserve(rows);
      break;
    case JsonHeld::kDoubles:
      doubles_.reserve(rows);
      break;
    case JsonHeld::kBools:
      bools_.reserve(rows);
      break;
    case JsonHeld::kStrings:
      ends_.reserve(rows);
      make_room(1);
  }
  if (list_) splits_.reserve(rows + 1);
}

std::size_t JsonColumn::held_bytes() const {
  return 8 * (ints_.capacity() + doubles_.capacity() + ends_.capacity() +
              splits_.capacity()) +
         4 * floats_.capacity() + bools_.capacity() + text_room_;
}

std::int64_t JsonColumn::size() const {
  switch (held_) {
    case JsonHeld::kInts:
      return static_cast<std::int64_t>(ints_.size());
    case JsonHeld::kFloats:
      return static_cast<std::int64_t>(floats_.size());
    case JsonHeld::kDoubles:
      return static_cast<std::int64_t>(doubles_.size());
    case JsonHeld::kBools:
      return static_cast<std::int64_t>(bools_.size());
    default:
      return static_cast<std::int64_t>(ends_.size());
  }
}

void JsonColumn::resize(std::int64_t to) {
  const auto n = static_cast<std::size_t>(to);
  switch (held_) {
    case JsonHeld::kInts:
      ints_.resize(n);
      break;
    case JsonHeld::kFloats:
      floats_.resize(n);
      break;
    case JsonHeld::kDoubles:
      doubles_.resize(n);
      break;
    case JsonHeld::kBools:
      bools_.resize(n);
      break;
    case JsonHeld::kStrings:
      if (n < ends_.size()) {
        text_size_ = n == 0 ? 0 : static_cast<std::size_t>(ends_[n - 1]);
      }
      ends_.resize(n, static_cast<std::int64_t>(text_size_));
  }
}

void JsonColumn::cut(std::size_t rows) {
  if (list_) splits_.resize(rows + 1);
  resize(list_ ? splits_.back() : static_cast<std::int64_t>(rows));
}

void JsonColumn::add_nothing(std::size_t rows) {
  cut(rows);
  if (list_) {
    end_list();
  } else {
    resize(static_cast<std::int64_t>(rows) + 1);
  }
}

bool JsonColumn::add_bool(const char* token) {
  const bool yes = *token == 't' && is_json_word(token, "true");
  if (!yes && (*token != 'f' || !is_json_word(token, "false"))) return false;
  bools_.push_back(yes ? 1 : 0);
  return true;
}

bool JsonColumn::add_number(const char* token) {
  JsonNumber number;
  if (!read_json_number(token, number)) return false;
  if (dtype_ == DType::kUInt64) {
    std::uint64_t u = 0;
    if (!json_uint64(number, u)) return false;
    ints_.push_back(static_cast<std::int64_t>(u));
    return true;
  }
  if (held_ == JsonHeld::kInts) {
    std::int64_t i = 0;
    if (!json_int64(number, i)) return false;
    if (dtype_ != DType::kInt64 && !visit_integer<bool>(dtype_, [i]<class T>() {
          return std::in_range<T>(i);
        })) {
      return false;
    }
    ints_.push_back(i);
    return true;
  }
  double d = 0;
  if (!json_double(number, d)) return false;
  if (held_ == JsonHeld::kDoubles) {
    doubles_.push_back(d);
    return true;
  }
  const auto f = static_cast<float>(d);
  if (dtype_ == DType::kFloat16 && std::isinf(to_float(to_float16(f)))) {
    return false;
  }
  floats_.push_back(f);
  return true;
}

void JsonColumn::make_room(std::size_t bytes) {
  if (bytes <= text_room_ - text_size_) return;
  const std::size_t room =
      std::max({2 * text_room_, text_size_ + bytes, kFirstTextBytes});
  auto more = std::make_unique_for_overwrite<char[]>(room);
  if (text_size_ > 0) std::memcpy(more.get(), text_.get(), text_size_);
  text_ = std::move(more);
  text_room_ = room;
}

bool JsonColumn::add_written(std::string_view inside, bool escapes) {
  make_room(inside.size());
  char* const to = text_.get() + text_size_;
  if (escapes && std::memchr(inside.data(), '\\', inside.size()) != nullptr) {
    const char* const end = unescape_json(inside, to);
    if (end == nullptr) return false;
    text_size_ += static_cast<std::size_t>(end - to);
  } else if (!inside.empty()) {
    std::memcpy(to, inside.data(), inside.size());
    text_size_ += inside.size();
  }
  ends_.push_back(static_cast<std::int64_t>(text_size_));
  return true;
}

void JsonColumn::add_default(const JsonField& field) {
  const Tensor& d = field.default_value;
  switch (held_) {
    case JsonHeld::kInts:
      ints_.push_back(visit_integer<std::int64_t>(dtype_, [&]<class T>() {
        return static_cast<std::int64_t>(d.value<T>());
      }));
      break;
    case JsonHeld::kFloats:
      floats_.push_back(dtype_ == DType::kFloat16 ? to_float(d.value<Float16>())
                                                  : d.value<float>());
      break;
    case JsonHeld::kDoubles:
      doubles_.push_back(d.value<double>());
      break;
    case JsonHeld::kBools:
      bools_.push_back(d.value<bool>() ? 1 : 0);
      break;
    case JsonHeld::kStrings:
      add_written(d.str(), false);
  }
}

StatusOr<Tensor> JsonColumn::finish() const {
  const std::int64_t n = size();
  const auto rows = static_cast<std::size_t>(n);
  if (held_ == JsonHeld::kStrings) {
    Ref<Buffer> offsets = Buffer::allocate((rows + 1) * sizeof(std::int64_t));
    Ref<Buffer> bytes = Buffer::allocate(text_size_);
    if (!offsets || !bytes) {
      return absl::ResourceExhaustedError("no memory for strings");
    }
    auto* to = reinterpret_cast<std::int64_t*>(offsets->data());
    to[0] = 0;
    if (rows > 0) std::memcpy(to + 1, ends_.data(), rows * sizeof(*to));
    if (text_size_ > 0) std::memcpy(bytes->data(), text_.get(), text_size_);
    return Tensor::strings_from(std::move(offsets), std::move(bytes), Shape{n});
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype_, Shape{n}));
  if (rows == 0) return out;
  switch (held_) {
    case JsonHeld::kInts:
      visit_integer<void>(dtype_, [&]<class T>() {
        if constexpr (sizeof(T) == sizeof(std::int64_t)) {
          std::memcpy(out.mutable_data(), ints_.data(), rows * sizeof(T));
        } else {
          std::transform(ints_.begin(), ints_.end(),
                         out.mutable_as<T>().begin(),
                         [](std::int64_t i) { return static_cast<T>(i); });
        }
      });
      break;
    case JsonHeld::kFloats:
      if (dtype_ == DType::kFloat16) {
        std::transform(floats_.begin(), floats_.end(),
                       out.mutable_as<Float16>().begin(), to_float16);
      } else {
        std::memcpy(out.mutable_data(), floats_.data(), rows * sizeof(float));
      }
      break;
    case JsonHeld::kDoubles:
      std::memcpy(out.mutable_data(), doubles_.data(), rows * sizeof(double));
      break;
    default:
      std::memcpy(out.mutable_data(), bools_.data(), rows);
  }
  return out;
}

}  // namespace penstock
