// RawIterator: the engine's, which stands at an entry.

#include <array>
#include <new>

#include "src/arguments.h"
#include "src/errors.h"
#include "src/space.h"

namespace sepal_python {
namespace {

struct RawState {
  std::shared_ptr<Database> database;
  std::unique_ptr<sepal::Iterator> iterator;  // null: closed
  std::string prefix;                         // of the space
  bool busy = false;                          // while it reads
};

struct RawIterator {
  PyObject_HEAD PyObject* weak_references;
  RawState state;
};

PyTypeObject* raw_type = nullptr;

RawState* Usable(PyObject* self) {
  RawState& state = reinterpret_cast<RawIterator*>(self)->state;
  if (state.busy) {
    RaiseBusy("iterator");
    return nullptr;
  }
  if (state.database->closed || state.iterator == nullptr) {
    RaiseClosed(state.iterator == nullptr ? "iterator" : "database");
    return nullptr;
  }
  return &state;
}

// The same at an entry.
RawState* AtEntry(PyObject* self) {
  RawState* const state = Usable(self);
  if (state == nullptr || state->iterator->Valid()) return state;
  RaiseIteratorInvalid();
  return nullptr;
}

template <class Work>
PyObject* Move(RawState* state, const Work& work) {
  if (state == nullptr) return nullptr;
  const Busy busy(&state->busy);
  return NoneOrRaise(WithoutGil(*state->database, [&] {
    work(*state->iterator);
    return state->iterator->status();
  }));
}

PyObject* Valid(PyObject* self, PyObject*) {
  const RawState* const state = Usable(self);
  return state == nullptr ? nullptr : PyBool_FromLong(state->iterator->Valid());
}
PyObject* SeekToFirst(PyObject* self, PyObject*) {
  return Move(Usable(self), [](sepal::Iterator& it) { it.SeekToFirst(); });
}
PyObject* SeekToLast(PyObject* self, PyObject*) {
  return Move(Usable(self), [](sepal::Iterator& it) { it.SeekToLast(); });
}
PyObject* Seek(PyObject* self, PyObject* argument) {
  Bytes target;
  if (!target.Take(argument, "target")) return nullptr;
  RawState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  const std::string full = state->prefix + std::string(target.view());
  return Move(state, [&](sepal::Iterator& it) { it.Seek(full); });
}
PyObject* Next(PyObject* self, PyObject*) {
  return Move(AtEntry(self), [](sepal::Iterator& it) { it.Next(); });
}
PyObject* Prev(PyObject* self, PyObject*) {
  return Move(AtEntry(self), [](sepal::Iterator& it) { it.Prev(); });
}

PyObject* Key(PyObject* self, PyObject*) {
  const RawState* const state = AtEntry(self);
  return state == nullptr ? nullptr : BytesOf(state->iterator->key().substr(state->prefix.size()));
}
PyObject* Value(PyObject* self, PyObject*) {
  const RawState* const state = AtEntry(self);
  return state == nullptr ? nullptr : BytesOf(state->iterator->value());
}
PyObject* Item(PyObject* self, PyObject*) {
  const Ref key(Key(self, nullptr));
  if (!key) return nullptr;
  const Ref value(Value(self, nullptr));
  return value ? PyTuple_Pack(2, key.get(), value.get()) : nullptr;
}

PyObject* Close(PyObject* self, PyObject*) {
  RawState& state = reinterpret_cast<RawIterator*>(self)->state;
  if (state.busy) return RaiseBusy("iterator");
  state.iterator.reset();
  Py_RETURN_NONE;
}
PyObject* Enter(PyObject* self, PyObject*) { return Usable(self) == nullptr ? nullptr : Py_NewRef(self); }
PyObject* Exit(PyObject* self, PyObject* const*, Py_ssize_t) { return Close(self, nullptr); }

void Deallocate(PyObject* self) {
  auto* const iterator = reinterpret_cast<RawIterator*>(self);
  if (iterator->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  iterator->state.~RawState();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"valid", Valid, METH_NOARGS, "valid($self, /)\n--\n\nWhether the iterator stands at an entry."},
    {"seek_to_first", SeekToFirst, METH_NOARGS, "seek_to_first($self, /)\n--\n\n"},
    {"seek_to_last", SeekToLast, METH_NOARGS, "seek_to_last($self, /)\n--\n\n"},
    {"seek", Seek, METH_O, "seek($self, target, /)\n--\n\nTo the first key that is at or after the target."},
    {"next", Next, METH_NOARGS, "next($self, /)\n--\n\n"},
    {"prev", Prev, METH_NOARGS, "prev($self, /)\n--\n\n"},
    {"key", Key, METH_NOARGS, "key($self, /)\n--\n\n"},
    {"value", Value, METH_NOARGS, "value($self, /)\n--\n\n"},
    {"item", Item, METH_NOARGS, "item($self, /)\n--\n\nKey and value."},
    {"close", Close, METH_NOARGS, "close($self, /)\n--\n\nReleases what the iterator holds."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Method(Exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(RawIterator, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

constexpr std::array<const char*, 2> kNames = {"verify_checksums", "fill_cache"};
constexpr Signature kSignature = {.function = "raw_iterator", .names = kNames, .positional = 0};

}  // namespace

PyObject* NewRawIterator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 2> taken;
  sepal::ReadOptions options;
  if (!TakeArguments(kSignature, {arguments, count, names}, taken) || !TakeFlag(taken[1], &options.fill_cache)) {
    return nullptr;
  }
  const SpaceState* const space = OpenSpace(self);
  if (space == nullptr) return nullptr;
  const std::shared_ptr<const sepal::Snapshot> snapshot = space->snapshot;
  options.snapshot = snapshot.get();
  options.prefix = space->prefix;
  sepal::DB& db = *space->database->db;
  const sepal::ColumnFamily& family = FamilyOf(*space);
  RawState made = {.database = space->database,
                   .iterator = WithoutGil(*space->database, [&] { return db.NewIterator(family, options); }),
                   .prefix = space->prefix};
  if (absl::Status status = made.iterator->status(); !status.ok()) return Raise(status);
  PyObject* const object = raw_type->tp_alloc(raw_type, 0);
  if (object == nullptr) return nullptr;
  new (&reinterpret_cast<RawIterator*>(object)->state) RawState(std::move(made));
  return object;
}

bool AddRawIterator(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("An iterator that stands at an entry (DB.raw_iterator).")},
      {Py_tp_dealloc, Slot(Deallocate)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {0, nullptr},
  };
  PyType_Spec spec = {"sepal.RawIterator", static_cast<int>(sizeof(RawIterator)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  raw_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return raw_type != nullptr && PyModule_AddType(module, raw_type) == 0;
}

}  // namespace sepal_python
