// Sources of files, and writing TFRecord.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.h"
#include "convert.h"
#include "interpreter.h"
#include "penstock/file_io.h"
#include "penstock/io/glob.h"
#include "penstock/io/http.h"
#include "text.h"

namespace penstock::python {
namespace {

using I64 = std::int64_t;
using Text = std::string;

/// An element type by name, and a default where it has one.
struct TypedValue {
  DType dtype = DType::kInvalid;
  Tensor value;
};

TypedValue typed_value(nb::handle item) {
  const auto pair = nb::cast<nb::tuple>(item);
  const auto name = nb::cast<Text>(pair[0]);
  TypedValue out;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) {
      out.dtype = static_cast<DType>(i);
    }
  }
  if (!pair[1].is_none()) {
    out.value = value_or_raise(
        from_python(nb::object(pair[1]).ptr(), Arrays::kCopy))[0];
  }
  return out;
}

/// What a source of files takes: a dataset of names, or names and patterns.
template <class F>
Dataset from_files(nb::handle files, F&& make) {
  if (nb::isinstance<Dataset>(files)) {
    return make(nb::cast<const Dataset&>(files));
  }
  const auto names = nb::cast<std::vector<Text>>(files);
  // Looks the patterns up, and may read a header.
  const WorkingWithoutGil released;
  return make(FileNames(names));
}

Dataset csv(nb::object files, nb::list columns, std::vector<Text> select,
            bool header, Text delimiter, bool quotes, Text na_value,
            Text compression, I64 reads, I64 max_record_bytes, Text name) {
  if (delimiter.size() != 1) {
    throw Error(invalid_argument("csv: delimiter must be one character, got '",
                                 delimiter, "'"));
  }
  CsvOptions o;
  for (nb::handle item : columns) {
    const auto column = nb::cast<nb::tuple>(item);
    TypedValue typed = typed_value(column[1]);
    o.columns.push_back({.name = nb::cast<Text>(column[0]),
                         .dtype = typed.dtype,
                         .default_value = std::move(typed.value),
                         .index = nb::cast<I64>(column[2])});
  }
  o.select_columns = std::move(select);
  o.header = header;
  o.delimiter = delimiter[0];
  o.use_quote_delim = quotes;
  o.na_value = std::move(na_value);
  o.compression = std::move(compression);
  o.num_parallel_reads = reads;
  o.max_record_bytes = max_record_bytes;
  o.name = std::move(name);
  return from_files(files,
                    [&](const auto& from) { return Dataset::csv(from, o); });
}

Dataset jsonl(nb::object files, nb::list fields, Text compression, I64 reads,
              I64 max_record_bytes, Text name) {
  std::vector<JsonField> wanted;
  for (nb::handle item : fields) {
    const auto field = nb::cast<nb::tuple>(item);
    TypedValue typed = typed_value(field[1]);
    auto field_name = nb::cast<Text>(field[0]);
    // As a key, "a.b" looks into objects.
    Text key = field_name.find('.') == Text::npos ? "" : field_name;
    wanted.push_back({.name = std::move(field_name),
                      .dtype = typed.dtype,
                      .list = nb::cast<bool>(field[2]),
                      .default_value = std::move(typed.value),
                      .key = std::move(key)});
  }
  const JsonlOptions o{.compression = std::move(compression),
                       .num_parallel_reads = reads,
                       .max_record_bytes = max_record_bytes,
                       .name = std::move(name)};
  return from_files(
      files, [&](const auto& from) { return Dataset::jsonl(from, wanted, o); });
}

std::string_view bytes_of(nb::handle record, Text& keep) {
  if (PyBytes_Check(record.ptr())) {
    return {PyBytes_AS_STRING(record.ptr()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(record.ptr()))};
  }
  const Element element =
      value_or_raise(from_python(record.ptr(), Arrays::kShare));
  if (element.size() != 1 || element[0].dtype() != DType::kString ||
      element[0].rank() != 0) {
    throw Error(
        invalid_argument("TFRecordWriter: a record must be bytes or str"));
  }
  keep = element[0].str();
  return keep;
}

std::vector<Text> write_tfrecord(const Dataset& dataset, const Text& path,
                                 I64 shards, Text compression, int level,
                                 bool index, nb::object progress) {
  io::WriteTFRecordOptions o;
  o.compression = std::move(compression);
  o.compression_level = level;
  o.index = index;
  o.progress = [&](const io::WriteProgress& done) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) progress(done.records, done.bytes);
  };
  const WorkingWithoutGil released;
  return io::write_tfrecord(dataset, path, shards, std::move(o));
}

}  // namespace

void bind_file_sources(nb::class_<Dataset>& c) {
  c.def_static("text_lines", [](nb::object files, Text compression, I64 reads,
                                I64 skip_lines, I64 max_record_bytes,
                                Text name) {
    const TextLinesOptions o{.compression = std::move(compression),
                             .num_parallel_reads = reads,
                             .skip_lines = skip_lines,
                             .max_record_bytes = max_record_bytes,
                             .name = std::move(name)};
    return from_files(
        files, [&](const auto& from) { return Dataset::text_lines(from, o); });
  });
  c.def_static(
      "fixed_length_records",
      [](nb::object files, I64 record_bytes, I64 header_bytes, I64 footer_bytes,
         Text compression, I64 reads, std::optional<bool> index, Text name) {
        const FixedLengthOptions o{.header_bytes = header_bytes,
                                   .footer_bytes = footer_bytes,
                                   .compression = std::move(compression),
                                   .num_parallel_reads = reads,
                                   .index = use_index(index),
                                   .name = std::move(name)};
        return from_files(files, [&](const auto& from) {
          return Dataset::fixed_length_records(from, record_bytes, o);
        });
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg().none(), nb::arg());
  c.def_static("csv", &csv);
  c.def_static("jsonl", &jsonl);
  c.def_static(
      "tar", [](nb::object files, std::vector<Text> fields, Text compression,
                I64 reads, I64 max_record_bytes, Text name) {
        const TarOptions o{.fields = std::move(fields),
                           .compression = std::move(compression),
                           .num_parallel_reads = reads,
                           .max_record_bytes = max_record_bytes,
                           .name = std::move(name)};
        return from_files(
            files, [&](const auto& from) { return Dataset::tar(from, o); });
      });
  c.def_static(
      "image_folder",
      [](const Text& root, std::optional<std::vector<Text>> extensions,
         Text name) {
        ImageFolderOptions o;
        if (extensions) o.extensions = *std::move(extensions);
        o.name = std::move(name);
        const WorkingWithoutGil released;
        return Dataset::image_folder(root, std::move(o));
      },
      nb::arg(), nb::arg().none(), nb::arg());
  c.def_static("npy", [](std::vector<Text> files, Text name) {
    const WorkingWithoutGil released;
    return Dataset::npy(FileNames(std::move(files)), std::move(name));
  });
}

void bind_files(nb::module_& m) {
  nb::class_<io::TFRecordWriter>(m, "TFRecordWriter")
      .def(nb::new_(
               [](const Text& path, Text compression, int level, bool index) {
                 return io::TFRecordWriter(
                     path, {.compression = std::move(compression),
                            .compression_level = level,
                            .index = index});
               }),
           nb::arg("path"), nb::arg("compression"), nb::arg("level"),
           nb::arg("index"))
      .def("write",
           [](io::TFRecordWriter& self, nb::handle record) {
             Text keep;
             self.write(bytes_of(record, keep));
           })
      .def("close", [](io::TFRecordWriter& self) {
        const WorkingWithoutGil released;
        self.close();
      });
  m.def("write_tfrecord", &write_tfrecord, nb::arg("dataset"), nb::arg("path"),
        nb::arg("shards"), nb::arg("compression"), nb::arg("level"),
        nb::arg("index"), nb::arg("progress").none());
  m.def(
      "set_http_options",
      [](double connect_timeout, double stall_timeout, int retries,
         double backoff, std::vector<Text> headers, Text ca_file) {
        set_http_options({connect_timeout, stall_timeout, retries, backoff,
                          std::move(headers), std::move(ca_file)});
      },
      nb::arg("connect_timeout"), nb::arg("stall_timeout"), nb::arg("retries"),
      nb::arg("backoff"), nb::arg("headers"), nb::arg("ca_file"));
  m.def("class_names", [](const Text& root) {
    const WorkingWithoutGil released;
    return io::class_names(root);
  });
  m.def("matching_files", [](const std::vector<Text>& patterns) {
    const WorkingWithoutGil released;
    std::vector<Text> out;
    for (const Text& pattern : patterns) {
      auto names = value_or_raise(glob(FileSystem::local(), pattern));
      out.insert(out.end(), names.begin(), names.end());
    }
    std::sort(out.begin(), out.end());
    return out;
  });
}

}  // namespace penstock::python
