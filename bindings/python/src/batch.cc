// WriteBatch: updates that are written whole or not at all.

#include <array>
#include <new>

#include "src/arguments.h"
#include "src/errors.h"
#include "src/space.h"

namespace sepal_python {
namespace {

struct BatchState {
  SpaceState space;
  sepal::WriteBatch batch;
  bool transaction = false;
  bool sync = false;
  bool busy = false;  // while it is written
};

struct Batch {
  PyObject_HEAD PyObject* weak_references;
  BatchState state;
};

PyTypeObject* batch_type = nullptr;

// Null, with an exception: the database is closed, or another thread writes the batch.
BatchState* Usable(PyObject* self) {
  BatchState& state = reinterpret_cast<Batch*>(self)->state;
  if (state.space.database->closed) {
    RaiseClosed("database");
    return nullptr;
  }
  if (state.busy) {
    RaiseBusy("batch");
    return nullptr;
  }
  return &state;
}

void Deallocate(PyObject* self) {
  auto* const batch = reinterpret_cast<Batch*>(self);
  if (batch->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  batch->state.~BatchState();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// The target of an update: the space of the batch, or a column family that the call names.
struct Target {
  const SpaceState* space = nullptr;

  bool Take(const BatchState& batch, PyObject* family) {
    space = &batch.space;
    if (family == nullptr || family == Py_None) return true;
    if (Py_TYPE(family) != space_types.column_family) {
      PyErr_Format(PyExc_TypeError, "column_family must be ColumnFamily, not %.100s", Py_TYPE(family)->tp_name);
      return false;
    }
    space = OpenSpace(family);
    return space != nullptr;
  }
};

constexpr std::array<const char*, 3> kPutNames = {"key", "value", "column_family"};
constexpr Signature kPut = {.function = "put", .names = kPutNames, .required = 2, .positional = 2};

PyObject* Put(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 3> taken;
  if (!TakeArguments(kPut, {arguments, count, names}, taken)) return nullptr;
  Bytes key, value;
  if (!key.Take(taken[0], "key") || !value.Take(taken[1], "value")) return nullptr;
  BatchState* const state = Usable(self);
  Target target;
  if (state == nullptr || !target.Take(*state, taken[2])) return nullptr;
  const FullKey full(*target.space, key.view());
  if (target.space->family == nullptr) {
    state->batch.Put(full.view(), value.view());
  } else {
    state->batch.Put(*target.space->family, full.view(), value.view());
  }
  Py_RETURN_NONE;
}

constexpr std::array<const char*, 2> kDeleteNames = {"key", "column_family"};
constexpr Signature kDelete = {.function = "delete", .names = kDeleteNames, .required = 1, .positional = 1};

PyObject* Delete(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 2> taken;
  if (!TakeArguments(kDelete, {arguments, count, names}, taken)) return nullptr;
  Bytes key;
  if (!key.Take(taken[0], "key")) return nullptr;
  BatchState* const state = Usable(self);
  Target target;
  if (state == nullptr || !target.Take(*state, taken[1])) return nullptr;
  const FullKey full(*target.space, key.view());
  if (target.space->family == nullptr) {
    state->batch.Delete(full.view());
  } else {
    state->batch.Delete(*target.space->family, full.view());
  }
  Py_RETURN_NONE;
}

PyObject* Clear(PyObject* self, PyObject*) {
  BatchState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  state->batch.Clear();
  Py_RETURN_NONE;
}

PyObject* Append(PyObject* self, PyObject* other) {
  if (Py_TYPE(other) != batch_type) {
    PyErr_Format(PyExc_TypeError, "append() takes a WriteBatch, not %.100s", Py_TYPE(other)->tp_name);
    return nullptr;
  }
  BatchState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  // Appended to itself, it would read what it overwrites.
  const sepal::WriteBatch appended = reinterpret_cast<Batch*>(other)->state.batch;
  state->batch.Append(appended);
  Py_RETURN_NONE;
}

PyObject* Write(PyObject* self, PyObject*) {
  BatchState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  const Busy busy(&state->busy);
  Database& database = *state->space.database;
  sepal::DB& db = *database.db;
  return NoneOrRaise(WithoutGil(database, [&] { return db.Write(state->batch, {.sync = state->sync}); }));
}

PyObject* ApproximateSize(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(reinterpret_cast<Batch*>(self)->state.batch.ByteSize());
}

Py_ssize_t Length(PyObject* self) { return reinterpret_cast<Batch*>(self)->state.batch.Count(); }

PyObject* Enter(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* Exit(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  const bool failed = count > 0 && arguments[0] != Py_None;
  const bool given_up = failed && reinterpret_cast<Batch*>(self)->state.transaction;
  const Ref done(given_up ? Clear(self, nullptr) : Write(self, nullptr));
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"put", Method(Put), METH_FASTCALL | METH_KEYWORDS, "put($self, key, value, *, column_family=None)\n--\n\n"},
    {"delete", Method(Delete), METH_FASTCALL | METH_KEYWORDS, "delete($self, key, *, column_family=None)\n--\n\n"},
    {"clear", Clear, METH_NOARGS, "clear($self, /)\n--\n\nForgets all updates."},
    {"append", Append, METH_O, "append($self, batch, /)\n--\n\nAdds the updates of another batch."},
    {"write", Write, METH_NOARGS, "write($self, /)\n--\n\nWrites the updates to the database, and keeps them."},
    {"approximate_size", ApproximateSize, METH_NOARGS, "approximate_size($self, /)\n--\n\nBytes of the batch."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Method(Exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Batch, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr std::array<const char*, 2> kNewNames = {"transaction", "sync"};
constexpr Signature kNew = {.function = "write_batch", .names = kNewNames, .positional = 0};

}  // namespace

PyObject* NewBatch(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 2> taken;
  if (!TakeArguments(kNew, {arguments, count, names}, taken)) return nullptr;
  bool transaction = false, sync = false;
  if (!TakeFlag(taken[0], &transaction) || !TakeFlag(taken[1], &sync)) return nullptr;
  const SpaceState* const space = OpenSpace(self);
  if (space == nullptr) return nullptr;
  PyObject* const made = batch_type->tp_alloc(batch_type, 0);
  if (made == nullptr) return nullptr;
  BatchState& state = *new (&reinterpret_cast<Batch*>(made)->state) BatchState();
  state.space = *space;
  state.transaction = transaction;
  state.sync = sync;
  return made;
}

bool AddBatch(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("Updates that are written whole or not at all (DB.write_batch).")},
      {Py_tp_dealloc, Slot(Deallocate)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_sq_length, Slot(Length)},
      {0, nullptr},
  };
  PyType_Spec spec = {"sepal.WriteBatch", static_cast<int>(sizeof(Batch)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  batch_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return batch_type != nullptr && PyModule_AddType(module, batch_type) == 0;
}

}  // namespace sepal_python
