// A part of a database with the same methods for reads and writes: the database itself, a column family, the keys under
// a prefix, or a snapshot of one of these. One struct, with a Python type for each.
#pragma once

#include "src/python.h"

namespace sepal_python {

struct SpaceState {
  std::shared_ptr<Database> database;               // null: it was never opened
  std::shared_ptr<sepal::ColumnFamily> family;      // null: the default one
  std::shared_ptr<const sepal::Snapshot> snapshot;  // of a Snapshot, until it is closed
  std::string prefix;
};

struct Space {
  PyObject_HEAD PyObject* weak_references;
  PyObject* parent;  // the DB of a PrefixedDB or ColumnFamily; null in others
  SpaceState state;
};

// They live as long as the process.
struct SpaceTypes {
  PyTypeObject* db = nullptr;
  PyTypeObject* column_family = nullptr;
  PyTypeObject* prefixed_db = nullptr;
  PyTypeObject* snapshot = nullptr;
};
extern SpaceTypes space_types;

// Makes the types and adds them to the module.
bool AddSpaces(PyObject* module);

// Creates an object of the type with these contents.
PyObject* NewSpace(PyTypeObject* type, SpaceState state, PyObject* parent);

// The state of an open object; null, with an exception, for a closed one.
SpaceState* OpenSpace(PyObject* self);
inline SpaceState& StateOf(PyObject* self) { return reinterpret_cast<Space*>(self)->state; }
inline const sepal::ColumnFamily& FamilyOf(const SpaceState& state) {
  return state.family != nullptr ? *state.family : state.database->db->DefaultColumnFamily();
}

// A key with the prefix of its space.
class FullKey {
 public:
  FullKey(const SpaceState& state, std::string_view key) : view_(key) {
    if (state.prefix.empty()) return;
    joined_.reserve(state.prefix.size() + key.size());
    joined_.append(state.prefix).append(key);
    view_ = joined_;
  }
  std::string_view view() const { return view_; }

 private:
  std::string joined_;
  std::string_view view_;
};

// The methods that all of them have, and those that change data.
extern PyMethodDef reading_methods[];
extern PyMethodDef writing_methods[];
extern PyMethodDef family_methods[];
extern PyMethodDef database_methods[];

int InitDatabase(PyObject* self, PyObject* arguments, PyObject* keywords);

// Values in parts (streams.cc).
PyObject* PutStream(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* ReadValue(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* OpenValue(PyObject* self, PyObject* key);

// The objects that spaces create (batch.cc, iterator.cc, raw_iterator.cc).
PyObject* NewBatch(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* NewIterator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
PyObject* NewPlainIterator(PyObject* self);
PyObject* NewRawIterator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names);
bool AddBatch(PyObject* module);
bool AddIterator(PyObject* module);
bool AddRawIterator(PyObject* module);

}  // namespace sepal_python
