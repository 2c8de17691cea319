// Arguments of calls: names, bytes, numbers. Every function returns false with the exception set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/python.h"

namespace sepal_python {

// The parameters of a function: first those that may be positional, then those that must be named.
struct Signature {
  const char* function;
  std::span<const char* const> names;
  int required = 0;     // of the first ones
  int positional = -1;  // how many may be given by place; -1: all
};

// The arguments of one call, by METH_FASTCALL | METH_KEYWORDS.
struct Call {
  PyObject* const* arguments;
  Py_ssize_t count;  // by place
  PyObject* names;   // of the others; null: none
};

// Fills `values`, one for each name; null where an argument is missing. They are borrowed.
bool TakeArguments(const Signature& signature, const Call& call, std::span<PyObject*> values);

// The bytes of a bytes-like object, which the caller keeps alive. A str is refused.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  }
  bool Take(PyObject* object, const char* name) {
    if (PyBytes_CheckExact(object)) [[likely]] {
      view_ = {PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object))};
      return true;
    }
    return TakeBuffer(object, name);
  }
  std::string_view view() const { return view_; }

 private:
  bool TakeBuffer(PyObject* object, const char* name);

  std::string_view view_;
  Py_buffer buffer_ = {};
};

// A missing argument leaves the value as it is; so does None, but for TakeFlag.
bool TakeFlag(PyObject* object, bool* value);
bool TakeSize(PyObject* object, const char* name, uint64_t* value);
bool TakeText(PyObject* object, const char* name, std::string* value);
bool TakePath(PyObject* object, std::string* value);
bool TakeOptionalBytes(PyObject* object, const char* name, std::optional<std::string>* value);

}  // namespace sepal_python
