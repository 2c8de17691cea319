#include "src/arguments.h"

#include <algorithm>

namespace sepal_python {
namespace {

bool Refuse(const Signature& signature, const char* format, const char* name) {
  PyErr_Format(PyExc_TypeError, format, signature.function, name);
  return false;
}

// The place of `name` among the signature's; its size if there is none.
size_t Find(const Signature& signature, PyObject* name) {
  const auto found = std::find_if(signature.names.begin(), signature.names.end(), [&](const char* known) {
    return PyUnicode_CompareWithASCIIString(name, known) == 0;
  });
  return static_cast<size_t>(found - signature.names.begin());
}

}  // namespace

bool TakeArguments(const Signature& signature, const Call& call, std::span<PyObject*> values) {
  const Py_ssize_t most = signature.positional < 0 ? std::ssize(signature.names) : signature.positional;
  if (call.count > most) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments (%zd given)", signature.function, most,
                 call.count);
    return false;
  }
  std::fill(values.begin(), values.end(), nullptr);
  std::copy_n(call.arguments, call.count, values.begin());
  const Py_ssize_t named = call.names == nullptr ? 0 : PyTuple_GET_SIZE(call.names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(call.names, i);
    const size_t place = Find(signature, name);
    if (place == signature.names.size()) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", signature.function, name);
      return false;
    }
    if (values[place] != nullptr) {
      return Refuse(signature, "%s() got multiple values for argument '%s'", signature.names[place]);
    }
    values[place] = call.arguments[call.count + i];
  }
  for (size_t i = 0; i < static_cast<size_t>(signature.required); ++i) {
    if (values[i] == nullptr) return Refuse(signature, "%s() missing required argument '%s'", signature.names[i]);
  }
  return true;
}

bool Bytes::TakeBuffer(PyObject* object, const char* name) {
  if (!PyObject_CheckBuffer(object)) {
    PyErr_Format(PyExc_TypeError, "%s must be bytes, not %.100s", name, Py_TYPE(object)->tp_name);
    return false;
  }
  if (PyObject_GetBuffer(object, &buffer_, PyBUF_SIMPLE) != 0) return false;
  view_ = {static_cast<const char*>(buffer_.buf), static_cast<size_t>(buffer_.len)};
  return true;
}

bool TakeFlag(PyObject* object, bool* value) {
  if (object == nullptr) return true;
  const int truth = PyObject_IsTrue(object);
  *value = truth == 1;
  return truth >= 0;
}

bool TakeSize(PyObject* object, const char* name, uint64_t* value) {
  if (object == nullptr || object == Py_None) return true;
  if (!PyLong_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s must be int, not %.100s", name, Py_TYPE(object)->tp_name);
    return false;
  }
  const unsigned long long taken = PyLong_AsUnsignedLongLong(object);
  if (taken == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s is out of its range: %R", name, object);
    return false;
  }
  *value = taken;
  return true;
}

bool TakeText(PyObject* object, const char* name, std::string* value) {
  if (object == nullptr || object == Py_None) return true;
  if (PyBytes_Check(object)) {
    value->assign(PyBytes_AS_STRING(object), static_cast<size_t>(PyBytes_GET_SIZE(object)));
    return true;
  }
  if (!PyUnicode_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s must be str, not %.100s", name, Py_TYPE(object)->tp_name);
    return false;
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) return false;
  value->assign(text, static_cast<size_t>(size));
  return true;
}

bool TakePath(PyObject* object, std::string* value) {
  if (object == nullptr || object == Py_None) return true;
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(object, &encoded) == 0) return false;
  const Ref path(encoded);
  value->assign(PyBytes_AS_STRING(path.get()), static_cast<size_t>(PyBytes_GET_SIZE(path.get())));
  return true;
}

bool TakeOptionalBytes(PyObject* object, const char* name, std::optional<std::string>* value) {
  if (object == nullptr || object == Py_None) return true;
  Bytes bytes;
  if (!bytes.Take(object, name)) return false;
  value->emplace(bytes.view());
  return true;
}

}  // namespace sepal_python
