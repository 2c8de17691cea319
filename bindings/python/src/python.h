// Common declarations of the extension: Python.h, owned references, and the database that its objects share.
//
// All fields of all objects are guarded by the GIL. It is released around every call of the engine that may wait; the
// objects of such a call are kept alive by the caller's arguments, and marked as busy if a second thread must not use
// them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sepal/db.h"

namespace sepal_python {

// An owned reference, or null.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.Release()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* const old = std::exchange(object_, other.Release());
    Py_XDECREF(old);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  static Ref To(PyObject* borrowed) {
    Py_INCREF(borrowed);
    return Ref(borrowed);
  }
  PyObject* get() const { return object_; }
  PyObject* Release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

inline PyObject* None() { return Py_NewRef(Py_None); }
inline PyObject* BytesOf(std::string_view bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}
// Text of the engine; invalid UTF-8 in it is escaped.
inline PyObject* TextOf(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
}

// An open database, shared by the objects created from it. It is closed with the last of them, or earlier by close().
struct Database {
  Database(std::unique_ptr<sepal::DB> opened, std::string path_of_it)
      : db(std::move(opened)), path(std::move(path_of_it)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // Later calls are refused; running ones continue, and the last of them frees the database.
  absl::Status Close();
  // Called with the GIL, so that nothing runs beside it.
  void FreeIfUnused() {
    if (closed && calls == 0) db.reset();
  }

  std::unique_ptr<sepal::DB> db;
  const std::string path;
  int calls = 0;  // that run without the GIL
  bool closed = false;
};

// Runs `work` without the GIL. The database must be open; it stays until `work` has returned, closed or not.
template <class Work>
auto WithoutGil(Database& database, const Work& work) {
  ++database.calls;
  PyThreadState* const thread = PyEval_SaveThread();
  auto result = work();
  PyEval_RestoreThread(thread);
  --database.calls;
  database.FreeIfUnused();
  return result;
}

// The same for calls that need no database.
template <class Work>
auto WithoutGil(const Work& work) {
  PyThreadState* const thread = PyEval_SaveThread();
  auto result = work();
  PyEval_RestoreThread(thread);
  return result;
}

// Marks an object as used by this thread while the GIL is released.
class Busy {
 public:
  explicit Busy(bool* flag) : flag_(flag) { *flag_ = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { *flag_ = false; }

 private:
  bool* const flag_;
};

template <class Function>
PyCFunction Method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
template <class Function>
void* Slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace sepal_python
