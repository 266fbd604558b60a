#include "penstock/image/jpeg_reader.h"

// jpeglib.h needs what stdio declares, and jpegint.h what jpeglib.h does.
#include <cstdio>
//
#include <jerror.h>
#include <jpeglib.h>
//
#if defined(LIBJPEG_TURBO_VERSION) && __has_include(<jpegint.h>)
#include <jpegint.h>
#define PENSTOCK_JPEG_ENTROPY 1
#endif

#include <csetjmp>
#include <cstring>

#include "penstock/image/jpeg_entropy.h"
#include "penstock/image/pixels.h"

namespace penstock::image {
namespace {

// A progressive file with thousands of scans would take minutes; real ones
// have about ten.
constexpr int kMaxScans = 200;
constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};

}  // namespace

struct JpegReader::Core {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  char warning[JMSG_LENGTH_MAX] = {};
  const JOCTET* begin = nullptr;
  std::size_t size = 0;
  bool recover = false;
  bool made = false;
  JpegEntropy entropy;

  std::size_t offset() const {
    // After the end was reached the buffer may be the two bytes of kEnd.
    const JOCTET* at = source.next_input_byte;
    if (at < begin || at > begin + size) return size;
    return static_cast<std::size_t>(at - begin);
  }
};

namespace {

// The client data of every libjpeg object here is its Core.
template <class Core, class Info>
Core& core_of(Info info) {
  return *static_cast<Core*>(info->client_data);
}

// Runs `step`, which holds no object with a destructor; false after an error
// of libjpeg. A function that calls setjmp is never inlined, so the caller's
// variables are safe.
template <class Core, class Step>
bool guarded(Core& core, Step step) {
  if (setjmp(core.jump) != 0) return false;
  step();
  return true;
}

int orientation_of(const std::uint8_t* data, std::size_t size) {
  if (size < 14 || std::memcmp(data, "Exif\0\0", 6) != 0) return 1;
  const std::uint8_t* tiff = data + 6;
  const std::size_t length = size - 6;
  const bool big = tiff[0] == 'M';
  const auto u16 = [&](std::size_t at) -> std::uint32_t {
    if (at + 2 > length) return 0;
    return big ? tiff[at] << 8 | tiff[at + 1] : tiff[at + 1] << 8 | tiff[at];
  };
  const auto u32 = [&](std::size_t at) -> std::uint32_t {
    return big ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at);
  };
  if (u16(2) != 42) return 1;
  const std::size_t directory = u32(4);
  const std::uint32_t entries = u16(directory);
  for (std::uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * std::size_t{i};
    if (entry + 12 > length) break;
    if (u16(entry) != 0x0112) continue;
    const std::uint32_t value = u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// libjpeg keeps the tables of the last picture for one that has none of its
// own. A table that is marked has no value a file may give it.
void mark_tables(jpeg_decompress_struct& info) {
  for (JQUANT_TBL* table : info.quant_tbl_ptrs) {
    if (table != nullptr) table->quantval[0] = 0;
  }
  for (auto* tables : {info.dc_huff_tbl_ptrs, info.ac_huff_tbl_ptrs}) {
    for (int i = 0; i < NUM_HUFF_TBLS; ++i) {
      if (tables[i] != nullptr) tables[i]->bits[0] = 1;
    }
  }
}

bool has_marked_tables(const jpeg_decompress_struct& info) {
  for (const JQUANT_TBL* table : info.quant_tbl_ptrs) {
    if (table != nullptr && table->quantval[0] == 0) return true;
  }
  for (auto* tables : {info.dc_huff_tbl_ptrs, info.ac_huff_tbl_ptrs}) {
    for (int i = 0; i < NUM_HUFF_TBLS; ++i) {
      if (tables[i] != nullptr && tables[i]->bits[0] != 0) return true;
    }
  }
  return false;
}

// Lets JpegEntropy decode the scan that libjpeg is about to, if it is of the
// kind that it knows.
template <class Core>
bool take_over([[maybe_unused]] Core& core) {
#ifdef PENSTOCK_JPEG_ENTROPY
  jpeg_decompress_struct& info = core.info;
  if (info.progressive_mode != FALSE || info.arith_code != FALSE ||
      info.data_precision != 8 || info.Ss != 0 || info.Se != 63 ||
      info.comps_in_scan > JpegEntropy::kMaxComponents ||
      info.blocks_in_MCU > JpegEntropy::kMaxBlocks) {
    return false;
  }
  JpegEntropy::Block blocks[JpegEntropy::kMaxBlocks];
  for (int b = 0; b < info.blocks_in_MCU; ++b) {
    const int c = info.MCU_membership[b];
    const jpeg_component_info& component = *info.cur_comp_info[c];
    const int dc = component.dc_tbl_no;
    const int ac = component.ac_tbl_no;
    if (dc < 0 || dc >= JpegEntropy::kTables || ac < 0 ||
        ac >= JpegEntropy::kTables) {
      return false;
    }
    const JHUFF_TBL* dc_table = info.dc_huff_tbl_ptrs[dc];
    const JHUFF_TBL* ac_table = info.ac_huff_tbl_ptrs[ac];
    if (dc_table == nullptr || ac_table == nullptr ||
        !core.entropy.set_dc(dc, dc_table->bits, dc_table->huffval) ||
        !core.entropy.set_ac(ac, ac_table->bits, ac_table->huffval)) {
      return false;
    }
    blocks[b] = {c, dc, ac};
  }
  core.entropy.begin({info.src->next_input_byte, info.src->bytes_in_buffer},
                     {blocks, static_cast<std::size_t>(info.blocks_in_MCU)},
                     info.restart_interval);
  info.entropy->decode_mcu = [](j_decompress_ptr of, JBLOCKROW* unit) {
    return static_cast<boolean>(core_of<Core>(of).entropy.decode(unit));
  };
  return true;
#else
  return false;
#endif
}

}  // namespace

JpegReader::JpegReader() : core_(std::make_unique<Core>()) {
  Core& core = *core_;
  core.info.err = jpeg_std_error(&core.errors);
  core.errors.error_exit = [](j_common_ptr info) {
    Core& self = core_of<Core>(info);
    info->err->format_message(info, self.message);
    std::longjmp(self.jump, 1);
  };
  core.errors.emit_message = [](j_common_ptr info, int level) {
    if (level >= 0) return;
    if (info->err->num_warnings++ == 0) {
      info->err->format_message(info, core_of<Core>(info).warning);
    }
  };
  core.errors.output_message = [](j_common_ptr) {};
  create();
  core.source.init_source = [](j_decompress_ptr) {};
  core.source.term_source = [](j_decompress_ptr) {};
  core.source.resync_to_restart = jpeg_resync_to_restart;
  core.source.fill_input_buffer = [](j_decompress_ptr info) -> boolean {
    Core& self = core_of<Core>(info);
    if (!self.recover) return FALSE;  // suspends: the caller sees no rows
    info->err->num_warnings++;
    self.source.next_input_byte = kEnd;
    self.source.bytes_in_buffer = sizeof(kEnd);
    return TRUE;
  };
  core.source.skip_input_data = [](j_decompress_ptr info, long count) {
    jpeg_source_mgr& source = core_of<Core>(info).source;
    if (count <= 0) return;
    const auto bytes =
        std::min(static_cast<std::size_t>(count), source.bytes_in_buffer);
    source.next_input_byte += bytes;
    source.bytes_in_buffer -= bytes;
  };
  core.progress.progress_monitor = [](j_common_ptr info) {
    auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
    if (decompress->input_scan_number <= kMaxScans) return;
    Core& self = core_of<Core>(info);
    std::snprintf(self.message, sizeof(self.message), "more than %d scans",
                  kMaxScans);
    std::longjmp(self.jump, 1);
  };
}

void JpegReader::create() {
  Core& core = *core_;
  core.info.client_data = &core;
  core.made = guarded(core, [&core] {
    jpeg_create_decompress(&core.info);
    core.info.client_data = &core;
    core.info.src = &core.source;
    core.info.progress = &core.progress;
  });
}

JpegReader::~JpegReader() {
  if (core_->made) jpeg_destroy_decompress(&core_->info);
}

JpegReader& JpegReader::local() {
  thread_local JpegReader reader;
  return reader;
}

Status JpegReader::failure(std::string_view what) const {
  return absl::DataLossError(absl::StrCat(operation_, ": JPEG: ", to_absl(what),
                                          ", near byte ", core_->offset(),
                                          " of ", core_->size));
}

Status JpegReader::truncated() const {
  return absl::DataLossError(
      absl::StrCat(operation_, ": JPEG: the data end early: ", rows_read_,
                   " of ", window_.height, " rows in ", core_->size, " bytes"));
}

Status JpegReader::open(std::string_view contents, const JpegOptions& options,
                        std::string_view operation) {
  Core& core = *core_;
  options_ = options;
  operation_ = operation;
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 &&
      options.channels != 4) {
    return invalid_argument(operation_, ": channels must be 0, 1, 3 or 4, got ",
                            options.channels);
  }
  if (!core.made) {
    return absl::ResourceExhaustedError(
        absl::StrCat(operation_, ": JPEG: ", core.message));
  }
  close();
  core.begin = reinterpret_cast<const JOCTET*>(contents.data());
  core.size = contents.size();
  core.recover = options.try_recover_truncated;
  shape_ = {};
  rows_read_ = 0;
  ended_ = false;
  if (detect_format(contents) != Format::kJpeg) {
    return invalid_argument(
        operation_, ": not a JPEG: ",
        contents.empty() ? "no data"
        : detect_format(contents) == Format::kUnknown
            ? "it does not begin with FF D8 FF"
            : absl::StrCat("the data are ",
                           to_absl(format_name(detect_format(contents)))));
  }
  mark_tables(core.info);
  bool ended = !read_header();
  if (has_marked_tables(core.info)) {
    jpeg_destroy_decompress(&core.info);
    create();
    ended = !core.made || !read_header();
  }
  if (ended) {
    return failure(core.message[0] != 0 ? core.message
                                        : "the data end in the header");
  }
  int orientation = 1;
  for (auto* m = core.info.marker_list; m != nullptr; m = m->next) {
    if (orientation == 1) orientation = orientation_of(m->data, m->data_length);
  }
  shape_ = {core.info.image_height, core.info.image_width,
            core.info.num_components, orientation};
  if (shape_.height * shape_.width > options.max_image_pixels) {
    return absl::ResourceExhaustedError(absl::StrCat(
        operation_, ": JPEG: ", shape_.height, " x ", shape_.width,
        " pixels, more than max_image_pixels = ", options.max_image_pixels));
  }
  channels_ = options.channels;
  if (channels_ == 0) channels_ = std::min<int>(core.info.num_components, 3);
  if (channels_ == 2) return failure("two components are of no colour space");
  return absl::OkStatus();
}

// False where it ends early, or with libjpeg's message.
bool JpegReader::read_header() {
  Core& core = *core_;
  core.source.next_input_byte = core.begin;
  core.source.bytes_in_buffer = core.size;
  core.errors.num_warnings = 0;
  core.message[0] = 0;
  int state = JPEG_SUSPENDED;
  return guarded(core,
                 [&] {
                   jpeg_save_markers(&core.info, JPEG_APP0 + 1, 0xFFFF);
                   state = jpeg_read_header(&core.info, TRUE);
                 }) &&
         state == JPEG_HEADER_OK;
}

bool JpegReader::has_end() const {
  // Coded pixels hold no FF D9; a thumbnail in the header may.
  const std::string_view data(reinterpret_cast<const char*>(core_->begin),
                              core_->size);
  return data.substr(core_->offset()).rfind("\xFF\xD9") !=
         std::string_view::npos;
}

// Reading the header resets them.
void JpegReader::set_parameters() {
  jpeg_decompress_struct& info = core_->info;
  const bool cmyk =
      info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = cmyk             ? JCS_CMYK
                         : channels_ == 1 ? JCS_GRAYSCALE
                         : channels_ == 3 ? JCS_RGB
                                          : JCS_EXT_RGBA;
  row_channels_ = cmyk ? 4 : channels_;
  info.scale_num = static_cast<unsigned>(eighths_);
  info.scale_denom = 8;
  info.do_fancy_upsampling = options_.fancy_upscaling ? TRUE : FALSE;
  info.dct_method =
      options_.dct_method == DctMethod::kFast ? JDCT_IFAST : JDCT_ISLOW;
}

Status JpegReader::start(int eighths, const std::optional<Window>& window) {
  Core& core = *core_;
  eighths_ = eighths;
  set_parameters();
  if (!guarded(core, [&core] { jpeg_calc_output_dimensions(&core.info); })) {
    return failure(core.message);
  }
  scaled_height_ = core.info.output_height;
  scaled_width_ = core.info.output_width;
  window_ = window.value_or(Window{0, 0, scaled_height_, scaled_width_});
  const Window& w = window_;
  // Written so that no sum can overflow.
  if (w.y < 0 || w.x < 0 || w.height <= 0 || w.width <= 0 ||
      w.height > scaled_height_ || w.width > scaled_width_ ||
      w.y > scaled_height_ - w.height || w.x > scaled_width_ - w.width) {
    return invalid_argument(operation_, ": the window y=", w.y, " x=", w.x,
                            " height=", w.height, " width=", w.width,
                            " is not inside the picture of ", scaled_height_,
                            " x ", scaled_width_);
  }
  // Without an end marker libjpeg stops before the last bits are used.
  return begin(!options_.plain_libjpeg && has_end());
}

Status JpegReader::begin(bool own_entropy) {
  Core& core = *core_;
  const Window& w = window_;
  boolean started = FALSE;
  if (!guarded(core, [&] { started = jpeg_start_decompress(&core.info); })) {
    return failure(core.message);
  }
  ended_ = started == FALSE;
  multiple_scans_ = jpeg_has_multiple_scans(&core.info) != FALSE;
  own_entropy_ = own_entropy && !ended_ && !multiple_scans_ && take_over(core);
  column_ = w.x;
  skip_ = w.y;
  std::int64_t row_width = scaled_width_;
  // libjpeg-turbo skips rows and columns wrongly where it merges upsampling
  // with colour conversion (without fancy upscaling), and now and then in
  // progressive files; there whole rows are decoded and thrown away.
  const bool partial = options_.fancy_upscaling && !multiple_scans_;
  if (!ended_ && partial && (w.width < scaled_width_ || w.y > 0)) {
    // Smoothing of the chroma reads one sample to each side: with a margin the
    // pixels are those of the whole picture.
    const std::int64_t first = std::max<std::int64_t>(0, w.x - 4);
    const std::int64_t last = std::min(scaled_width_, w.x + w.width + 4);
    auto x = static_cast<JDIMENSION>(first);
    auto width = static_cast<JDIMENSION>(last - first);
    JDIMENSION skipped = 0;
    if (!guarded(core, [&] {
          if (width < core.info.output_width) {
            jpeg_crop_scanline(&core.info, &x, &width);
          } else {
            x = 0;
          }
          if (w.y > 0) {
            skipped =
                jpeg_skip_scanlines(&core.info, static_cast<JDIMENSION>(w.y));
          }
        })) {
      return failure(core.message);
    }
    ended_ = skipped != static_cast<JDIMENSION>(w.y);
    column_ = w.x - static_cast<std::int64_t>(x);
    skip_ = 0;
    row_width = core.info.output_width;
  }
  direct_ = core.info.out_color_space != JCS_CMYK && row_width == w.width;
  if (!direct_ || skip_ > 0) {
    row_.resize(static_cast<std::size_t>(row_width * row_channels_));
  }
  return gave_up() ? begin_again() : absl::OkStatus();
}

bool JpegReader::gave_up() const {
  return own_entropy_ && core_->entropy.gave_up();
}

// From the first byte, with libjpeg's own entropy decoding, down to the row
// that is next.
Status JpegReader::begin_again() {
  Core& core = *core_;
  close();
  if (!read_header()) return failure(core_->message);
  set_parameters();
  PS_RETURN_IF_ERROR(begin(false));
  skip_ += rows_read_;
  row_.resize(static_cast<std::size_t>(core.info.output_width) *
              static_cast<std::size_t>(row_channels_));
  return absl::OkStatus();
}

Status JpegReader::read(std::uint8_t* rows, std::ptrdiff_t stride,
                        std::int64_t count) {
  constexpr std::int64_t kLines = 16;
  Core& core = *core_;
  const auto row_bytes = static_cast<std::size_t>(window_.width * channels_);
  std::int64_t done = 0;
  while (done < count && !ended_) {
    JSAMPROW lines[kLines];
    const bool direct = direct_ && skip_ == 0;
    const std::int64_t wanted = direct ? std::min(kLines, count - done) : 1;
    for (std::int64_t i = 0; i < wanted; ++i) {
      lines[i] = direct ? rows + (done + i) * stride : row_.data();
    }
    JDIMENSION got = 0;
    if (!guarded(core, [&] {
          got = jpeg_read_scanlines(&core.info, lines,
                                    static_cast<JDIMENSION>(wanted));
        })) {
      return failure(core.message);
    }
    if (got == 0) {
      if (gave_up()) {
        PS_RETURN_IF_ERROR(begin_again());
        continue;
      }
      ended_ = true;
      break;
    }
    if (skip_ > 0) {
      skip_ -= got;
      continue;
    }
    if (!direct) {
      std::uint8_t* out = rows + done * stride;
      const std::uint8_t* in = row_.data() + column_ * row_channels_;
      if (core.info.out_color_space == JCS_CMYK) {
        cmyk_to_pixels(in, window_.width, core.info.saw_Adobe_marker != FALSE,
                       channels_, out);
      } else {
        std::memcpy(out, in, row_bytes);
      }
    }
    done += got;
    rows_read_ += got;
  }
  if (core.errors.num_warnings > 0 && options_.strict) {
    return failure(core.warning[0] != 0 ? core.warning : "the data end early");
  }
  if (done < count) {
    const auto fraction =
        static_cast<float>(rows_read_) / static_cast<float>(window_.height);
    if (fraction < options_.acceptable_fraction) return truncated();
    for (; done < count; ++done)
      std::memset(rows + done * stride, 0, row_bytes);
  }
  return absl::OkStatus();
}

void JpegReader::close() {
  Core& core = *core_;
  if (core.made) guarded(core, [&core] { jpeg_abort_decompress(&core.info); });
}

}  // namespace penstock::image
