// GIF over giflib: all frames, drawn over each other as a viewer shows them.
//
// Records are read one by one rather than with DGifSlurp, so that limits hold
// before memory is taken and a file that ends early keeps its whole frames out.
#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/image/decode.h"

namespace penstock::image {
namespace {

struct Input {
  std::string_view data;
  std::size_t at = 0;
};

int read_bytes(GifFileType* file, GifByteType* out, int count) {
  auto& in = *static_cast<Input*>(file->UserData);
  const std::size_t bytes = std::min(
      static_cast<std::size_t>(std::max(count, 0)), in.data.size() - in.at);
  if (bytes > 0) std::memcpy(out, in.data.data() + in.at, bytes);
  in.at += bytes;
  return static_cast<int>(bytes);
}

struct CloseGif {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};
using File = std::unique_ptr<GifFileType, CloseGif>;

using Frame = std::vector<std::uint8_t>;  // RGB, the whole canvas

class Reader {
 public:
  Reader(std::string_view contents, const GifOptions& options)
      : options_(options) {
    input_.data = contents;
  }

  Status read();
  const std::vector<Frame>& frames() const { return frames_; }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }

 private:
  Status failure(std::string_view what) const {
    return absl::DataLossError(absl::StrCat(
        "decode_gif: GIF: ", to_absl(what), ", frame ", frames_.size(),
        ", near byte ", input_.at, " of ", input_.data.size()));
  }
  Status failure(int error) const {
    const char* text = GifErrorString(error);
    return failure(text != nullptr ? text : "damaged data");
  }
  Status too_large() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "decode_gif: GIF: ", frames_.size() + 1, " frames of ", height_, " x ",
        width_,
        " pixels, more than max_image_pixels = ", options_.max_image_pixels));
  }
  Status read_extension();
  Status read_frame();
  void dispose(const GifImageDesc& area, int mode, const Frame& before);

  GifOptions options_;
  Input input_;
  File file_;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::vector<Frame> frames_;
  Frame canvas_;
  GraphicsControlBlock control_{};
};

Status Reader::read() {
  int error = 0;
  file_.reset(DGifOpen(&input_, read_bytes, &error));
  if (!file_) return failure(error);
  height_ = file_->SHeight;
  width_ = file_->SWidth;
  control_.TransparentColor = NO_TRANSPARENT_COLOR;
  while (true) {
    GifRecordType type;
    if (DGifGetRecordType(file_.get(), &type) == GIF_ERROR) {
      return failure(file_->Error);
    }
    if (type == TERMINATE_RECORD_TYPE) break;
    if (type == EXTENSION_RECORD_TYPE) {
      PS_RETURN_IF_ERROR(read_extension());
    } else if (type == IMAGE_DESC_RECORD_TYPE) {
      PS_RETURN_IF_ERROR(read_frame());
      if (static_cast<std::int64_t>(frames_.size()) == options_.max_frames) {
        break;
      }
    }
  }
  if (frames_.empty()) return failure("there is no frame");
  return absl::OkStatus();
}

Status Reader::read_extension() {
  int code = 0;
  GifByteType* data = nullptr;
  if (DGifGetExtension(file_.get(), &code, &data) == GIF_ERROR) {
    return failure(file_->Error);
  }
  if (code == GRAPHICS_EXT_FUNC_CODE && data != nullptr && data[0] >= 4) {
    DGifExtensionToGCB(data[0], data + 1, &control_);
  }
  while (data != nullptr) {
    if (DGifGetExtensionNext(file_.get(), &data) == GIF_ERROR) {
      return failure(file_->Error);
    }
  }
  return absl::OkStatus();
}

Status Reader::read_frame() {
  if (DGifGetImageDesc(file_.get()) == GIF_ERROR) return failure(file_->Error);
  const GifImageDesc area = file_->Image;
  if (area.Width <= 0 || area.Height <= 0) {
    return failure(absl::StrCat("a frame of ", area.Height, " x ", area.Width));
  }
  if (frames_.empty()) {
    // Some files declare a canvas smaller than their first frame.
    if (height_ <= 0 || width_ <= 0) {
      height_ = area.Top + area.Height;
      width_ = area.Left + area.Width;
    }
    if (height_ * width_ > options_.max_image_pixels) return too_large();
    canvas_.assign(static_cast<std::size_t>(height_ * width_ * 3), 0);
  }
  const auto count = static_cast<std::int64_t>(frames_.size()) + 1;
  if (count * height_ * width_ > options_.max_image_pixels) return too_large();
  if (std::int64_t{area.Width} * area.Height > options_.max_image_pixels) {
    return too_large();
  }
  const ColorMapObject* colours =
      area.ColorMap != nullptr ? area.ColorMap : file_->SColorMap;
  if (colours == nullptr) return failure("there is no colour map");

  const Frame before =
      control_.DisposalMode == DISPOSE_PREVIOUS ? canvas_ : Frame();
  std::vector<GifPixelType> line(static_cast<std::size_t>(area.Width));
  const auto draw = [&](std::int64_t y) -> bool {
    if (DGifGetLine(file_.get(), line.data(), area.Width) == GIF_ERROR) {
      return false;
    }
    const std::int64_t row = area.Top + y;
    if (row < 0 || row >= height_) return true;
    for (std::int64_t x = 0; x < area.Width; ++x) {
      const std::int64_t column = area.Left + x;
      if (column < 0 || column >= width_) continue;
      const int index = line[static_cast<std::size_t>(x)];
      if (index == control_.TransparentColor) continue;
      std::uint8_t* out = canvas_.data() +
                          static_cast<std::size_t>((row * width_ + column) * 3);
      if (index >= colours->ColorCount) {
        out[0] = out[1] = out[2] = 0;
        continue;
      }
      const GifColorType& colour = colours->Colors[index];
      out[0] = colour.Red;
      out[1] = colour.Green;
      out[2] = colour.Blue;
    }
    return true;
  };
  constexpr int kFirst[] = {0, 4, 2, 1};
  constexpr int kStep[] = {8, 8, 4, 2};
  for (int pass = 0; pass < (area.Interlace ? 4 : 1); ++pass) {
    const int step = area.Interlace ? kStep[pass] : 1;
    for (std::int64_t y = area.Interlace ? kFirst[pass] : 0; y < area.Height;
         y += step) {
      if (!draw(y)) return failure(file_->Error);
    }
  }
  frames_.push_back(canvas_);
  dispose(area, control_.DisposalMode, before);
  control_ = {};
  control_.TransparentColor = NO_TRANSPARENT_COLOR;
  return absl::OkStatus();
}

void Reader::dispose(const GifImageDesc& area, int mode, const Frame& before) {
  if (mode == DISPOSE_PREVIOUS) canvas_ = before;
  if (mode != DISPOSE_BACKGROUND) return;
  const std::int64_t left = std::clamp<std::int64_t>(area.Left, 0, width_);
  const std::int64_t right =
      std::clamp<std::int64_t>(area.Left + area.Width, 0, width_);
  const std::int64_t bottom =
      std::min<std::int64_t>(area.Top + area.Height, height_);
  for (std::int64_t y = std::max(area.Top, 0); y < bottom; ++y) {
    const auto from = canvas_.begin() + (y * width_ + left) * 3;
    std::fill(from, from + (right - left) * 3, std::uint8_t{0});
  }
}

}  // namespace

StatusOr<Tensor> decode_gif(std::string_view contents,
                            const GifOptions& options) {
  if (options.max_frames < 0) {
    return invalid_argument("decode_gif: max_frames must be >= 0, got ",
                            options.max_frames);
  }
  if (detect_format(contents) != Format::kGif) {
    return invalid_argument(
        "decode_gif: not a GIF: ",
        contents.empty() ? "no data" : "it does not begin with GIF8");
  }
  Reader reader(contents, options);
  PS_RETURN_IF_ERROR(reader.read());
  const auto count = static_cast<std::int64_t>(reader.frames().size());
  PS_ASSIGN_OR_RETURN(Tensor image,
                      Tensor::allocate<std::uint8_t>(
                          Shape{count, reader.height(), reader.width(), 3}));
  std::byte* out = image.mutable_data();
  for (const Frame& frame : reader.frames()) {
    std::memcpy(out, frame.data(), frame.size());
    out += frame.size();
  }
  return image;
}

}  // namespace penstock::image
