// The exceptions of the module, and their creation from a status.
#pragma once

#include "src/python.h"

namespace sepal_python {

// Makes the classes and adds them to the module.
bool AddErrors(PyObject* module);

// Sets the exception for `status`, which is not ok. Returns null, for callers to return.
PyObject* Raise(const absl::Status& status);
// None, or the exception.
inline PyObject* NoneOrRaise(const absl::Status& status) { return status.ok() ? None() : Raise(status); }

// "the database is closed", as ClosedError.
PyObject* RaiseClosed(const char* what);
PyObject* RaiseIteratorInvalid();
// An iterator or a batch that another thread uses at this moment.
PyObject* RaiseBusy(const char* what);

}  // namespace sepal_python
