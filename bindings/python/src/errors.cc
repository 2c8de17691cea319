#include "src/errors.h"

#include <algorithm>
#include <cctype>

namespace sepal_python {
namespace {

// They live as long as the process, as the module does.
PyObject* error = nullptr;
PyObject* io_error = nullptr;
PyObject* busy_error = nullptr;
PyObject* corruption_error = nullptr;
PyObject* iterator_invalid_error = nullptr;
PyObject* invalid_argument_error = nullptr;
PyObject* not_found_error = nullptr;
PyObject* exists_error = nullptr;
PyObject* closed_error = nullptr;

bool AddError(PyObject* module, PyObject** made, const char* name, const char* doc, PyObject* base,
              PyObject* second = nullptr) {
  const Ref bases(second == nullptr ? PyTuple_Pack(1, base) : PyTuple_Pack(2, base, second));
  if (!bases) return false;
  const std::string qualified = std::string("sepal.") + name;
  *made = PyErr_NewExceptionWithDoc(qualified.c_str(), doc, bases.get(), nullptr);
  return *made != nullptr && PyModule_AddObjectRef(module, name, *made) == 0;
}

PyObject* ErrorOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return not_found_error;
    case absl::StatusCode::kAlreadyExists:
      return exists_error;
    case absl::StatusCode::kInvalidArgument:
      return invalid_argument_error;
    case absl::StatusCode::kDataLoss:
      return corruption_error;
    case absl::StatusCode::kUnavailable:
      return busy_error;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
      return io_error;
    default:
      return error;
  }
}

}  // namespace

bool AddErrors(PyObject* module) {
  return AddError(module, &error, "Error", "The base of all errors of the database; `code` is the status as a word.",
                  PyExc_Exception) &&
         AddError(module, &io_error, "IOError",
                  "A file operation failed, access was refused, or the disk or memory limit is full.", error,
                  PyExc_OSError) &&
         AddError(module, &busy_error, "BusyError", "The database is open elsewhere, or a write would have to wait.",
                  io_error) &&
         AddError(module, &corruption_error, "CorruptionError", "Bytes of a file fail their checksum.", error) &&
         AddError(module, &iterator_invalid_error, "IteratorInvalidError", "The raw iterator stands at no entry.",
                  error) &&
         AddError(module, &invalid_argument_error, "InvalidArgumentError", "An argument is out of its range.", error,
                  PyExc_ValueError) &&
         AddError(module, &not_found_error, "NotFoundError", "There is no such database or column family.", error) &&
         AddError(module, &exists_error, "ExistsError", "There is such a database or column family already.", error) &&
         AddError(module, &closed_error, "ClosedError", "The database, iterator or snapshot is closed.", error,
                  PyExc_RuntimeError);
}

PyObject* Raise(const absl::Status& status) {
  PyObject* const type = ErrorOf(status.code());
  const absl::string_view message = status.message();
  const Ref text(TextOf({message.data(), message.size()}));
  if (!text) return nullptr;
  const Ref raised(PyObject_CallOneArg(type, text.get()));
  if (!raised) return nullptr;
  std::string word = absl::StatusCodeToString(status.code());
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  const Ref code(TextOf(word));
  if (!code || PyObject_SetAttrString(raised.get(), "code", code.get()) != 0) return nullptr;
  PyErr_SetObject(type, raised.get());
  return nullptr;
}

PyObject* RaiseClosed(const char* what) {
  PyErr_Format(closed_error, "the %s is closed", what);
  return nullptr;
}

PyObject* RaiseIteratorInvalid() {
  PyErr_SetString(iterator_invalid_error, "the iterator stands at no entry");
  return nullptr;
}

PyObject* RaiseBusy(const char* what) {
  PyErr_Format(PyExc_RuntimeError, "another thread is using the %s", what);
  return nullptr;
}

}  // namespace sepal_python
