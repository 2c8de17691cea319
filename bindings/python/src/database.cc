#include "src/python.h"

namespace sepal_python {

Database::~Database() {
  if (db == nullptr || closed) return;
  // Objects may be destroyed while an exception propagates.
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  (void)Close();
  PyErr_Restore(type, value, trace);
}

absl::Status Database::Close() {
  closed = true;
  return WithoutGil(*this, [this] { return db->Close(); });
}

}  // namespace sepal_python
