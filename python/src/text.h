// Text between Python and the engine, whose strings are bytes.
//
// Names of files need not be UTF-8. Like os.fsencode() and os.fsdecode(), what
// is not becomes lone surrogates in a str, and those become the bytes again.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace penstock::python {

/// A new str, or null with a Python error set.
inline PyObject* str_of(std::string_view text,
                        const char* errors = "surrogateescape") {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                              errors);
}

/// For messages, which are printed: bytes that are no text show as \xff.
inline PyObject* message_str_of(std::string_view text) {
  return str_of(text, "backslashreplace");
}

/// The bytes of the str `text`; false with a Python error set if it is none.
inline bool bytes_of(PyObject* text, std::string& out) {
  if (text == nullptr || !PyUnicode_Check(text)) return false;
  Py_ssize_t size = 0;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size)) {
    out.assign(utf8, static_cast<std::size_t>(size));
    return true;
  }
  PyErr_Clear();
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
  if (bytes == nullptr) return false;
  out.assign(PyBytes_AS_STRING(bytes),
             static_cast<std::size_t>(PyBytes_GET_SIZE(bytes)));
  Py_DECREF(bytes);
  return true;
}

}  // namespace penstock::python

namespace nanobind::detail {

// In place of nanobind/stl/string.h.
template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle src, std::uint32_t, cleanup_list*) noexcept {
    if (!penstock::python::bytes_of(src.ptr(), value)) {
      PyErr_Clear();
      return false;
    }
    return true;
  }
  static handle from_cpp(const std::string& value, rv_policy,
                         cleanup_list*) noexcept {
    return penstock::python::str_of(value);
  }
};

}  // namespace nanobind::detail
