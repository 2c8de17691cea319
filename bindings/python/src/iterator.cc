// Iterator: plyvel's, over a Cursor.

#include <array>
#include <new>

#include "src/arguments.h"
#include "src/cursor.h"
#include "src/errors.h"
#include "src/space.h"

namespace sepal_python {
namespace {

struct IteratorState {
  std::shared_ptr<Database> database;
  std::unique_ptr<Cursor> cursor;  // null: closed
  std::string prefix;              // of the space
  size_t prefix_size = 0;
  Cursor::Direction next = Cursor::Direction::kForward;
  bool with_key = true;
  bool with_value = true;
  bool busy = false;  // while it reads
};

struct IteratorObject {
  PyObject_HEAD PyObject* weak_references;
  IteratorState state;
};

PyTypeObject* iterator_type = nullptr;

IteratorState* Usable(PyObject* self) {
  IteratorState& state = reinterpret_cast<IteratorObject*>(self)->state;
  if (state.busy) [[unlikely]] {
    RaiseBusy("iterator");
    return nullptr;
  }
  if (state.database->closed || state.cursor == nullptr) [[unlikely]] {
    RaiseClosed(state.cursor == nullptr ? "iterator" : "database");
    return nullptr;
  }
  return &state;
}

PyObject* ObjectOf(const IteratorState& state, const Entry& entry) {
  const std::string_view key = entry.key.substr(state.prefix_size);
  if (!state.with_value) return state.with_key ? BytesOf(key) : None();
  if (!state.with_key) return BytesOf(entry.value);
  Ref pair(PyTuple_New(2));
  if (!pair) return nullptr;
  PyObject* const first = BytesOf(key);
  if (first == nullptr) return nullptr;
  PyTuple_SET_ITEM(pair.get(), 0, first);
  PyObject* const second = BytesOf(entry.value);
  if (second == nullptr) return nullptr;
  PyTuple_SET_ITEM(pair.get(), 1, second);
  return pair.Release();
}

// Runs `work` on the cursor without the GIL, and returns the cursor's status.
template <class Work>
absl::Status Read(IteratorState* state, const Work& work) {
  const Busy busy(&state->busy);
  return WithoutGil(*state->database, [&] {
    work(*state->cursor);
    return state->cursor->status();
  });
}

// Null without an exception: the end.
PyObject* Step(PyObject* self, bool on) {
  IteratorState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  const Cursor::Direction direction = static_cast<Cursor::Direction>(static_cast<bool>(state->next) == on);
  Entry entry;
  if (!state->cursor->Take(direction, &entry)) {
    const absl::Status status = Read(state, [direction](Cursor& cursor) { cursor.Fill(direction); });
    if (!state->cursor->Take(direction, &entry)) return status.ok() ? nullptr : Raise(status);
  }
  return ObjectOf(*state, entry);
}

PyObject* Next(PyObject* self) { return Step(self, true); }

PyObject* Prev(PyObject* self, PyObject*) {
  PyObject* const entry = Step(self, false);
  if (entry == nullptr && PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_StopIteration);
  return entry;
}

PyObject* SeekToStart(PyObject* self, PyObject*) {
  IteratorState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  state->cursor->SeekToStart();
  Py_RETURN_NONE;
}

PyObject* SeekToStop(PyObject* self, PyObject*) {
  IteratorState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  state->cursor->SeekToStop();
  Py_RETURN_NONE;
}

PyObject* Seek(PyObject* self, PyObject* argument) {
  Bytes target;
  if (!target.Take(argument, "target")) return nullptr;
  IteratorState* const state = Usable(self);
  if (state == nullptr) return nullptr;
  const std::string full = state->prefix + std::string(target.view());
  return NoneOrRaise(Read(state, [&](Cursor& cursor) { cursor.Seek(full); }));
}

PyObject* Close(PyObject* self, PyObject*) {
  IteratorState& state = reinterpret_cast<IteratorObject*>(self)->state;
  if (state.busy) return RaiseBusy("iterator");
  state.cursor.reset();
  Py_RETURN_NONE;
}

PyObject* Enter(PyObject* self, PyObject*) { return Usable(self) == nullptr ? nullptr : Py_NewRef(self); }
PyObject* Exit(PyObject* self, PyObject* const*, Py_ssize_t) { return Close(self, nullptr); }

void Deallocate(PyObject* self) {
  auto* const iterator = reinterpret_cast<IteratorObject*>(self);
  if (iterator->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  iterator->state.~IteratorState();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"prev", Prev, METH_NOARGS, "prev($self, /)\n--\n\nThe entry before the cursor; StopIteration at the end."},
    {"seek_to_start", SeekToStart, METH_NOARGS, "seek_to_start($self, /)\n--\n\nBefore the lowest key."},
    {"seek_to_stop", SeekToStop, METH_NOARGS, "seek_to_stop($self, /)\n--\n\nBehind the highest key."},
    {"seek", Seek, METH_O, "seek($self, target, /)\n--\n\nBefore the first key that is at or after the target."},
    {"close", Close, METH_NOARGS, "close($self, /)\n--\n\nReleases what the iterator holds."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Method(Exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(IteratorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// --- making one ---

enum Argument : size_t {
  kReverse,
  kStart,
  kStop,
  kIncludeStart,
  kIncludeStop,
  kPrefix,
  kIncludeKey,
  kIncludeValue,
  kVerifyChecksums,
  kFillCache,
  kArguments,
};
constexpr std::array<const char*, kArguments> kNames = {"reverse",          "start",     "stop",        "include_start",
                                                        "include_stop",     "prefix",    "include_key", "include_value",
                                                        "verify_checksums", "fill_cache"};
constexpr Signature kSignature = {.function = "iterator", .names = kNames, .positional = 0};

// Bounds in the engine's form: the first inclusive, the second exclusive.
bool TakeBounds(const SpaceState& space, std::span<PyObject* const> taken, sepal::ReadOptions* options) {
  std::optional<std::string> prefix;
  bool include_start = true, include_stop = false;
  if (!TakeOptionalBytes(taken[kStart], "start", &options->lower_bound) ||
      !TakeOptionalBytes(taken[kStop], "stop", &options->upper_bound) ||
      !TakeOptionalBytes(taken[kPrefix], "prefix", &prefix) || !TakeFlag(taken[kIncludeStart], &include_start) ||
      !TakeFlag(taken[kIncludeStop], &include_stop)) {
    return false;
  }
  if (prefix.has_value() && (options->lower_bound.has_value() || options->upper_bound.has_value())) {
    PyErr_SetString(PyExc_TypeError, "prefix cannot be combined with start or stop");
    return false;
  }
  // The next key in the order of bytes.
  if (options->lower_bound.has_value() && !include_start) options->lower_bound->push_back('\0');
  if (options->upper_bound.has_value() && include_stop) options->upper_bound->push_back('\0');
  if (options->lower_bound.has_value()) options->lower_bound->insert(0, space.prefix);
  if (options->upper_bound.has_value()) options->upper_bound->insert(0, space.prefix);
  options->prefix = space.prefix + prefix.value_or("");
  return true;
}

PyObject* Make(const SpaceState& space, const sepal::ReadOptions& options, IteratorState made) {
  sepal::DB& db = *space.database->db;
  const sepal::ColumnFamily& family = FamilyOf(space);
  auto iterator = WithoutGil(*space.database, [&] { return db.NewIterator(family, options); });
  if (absl::Status status = iterator->status(); !status.ok()) return Raise(status);
  made.cursor = std::make_unique<Cursor>(std::move(iterator), made.with_value);
  if (made.next == Cursor::Direction::kBack) made.cursor->SeekToStop();
  made.database = space.database;
  made.prefix = space.prefix;
  made.prefix_size = space.prefix.size();
  PyObject* const self = iterator_type->tp_alloc(iterator_type, 0);
  if (self == nullptr) return nullptr;
  new (&reinterpret_cast<IteratorObject*>(self)->state) IteratorState(std::move(made));
  return self;
}

}  // namespace

PyObject* NewIterator(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, kArguments> taken;
  if (!TakeArguments(kSignature, {arguments, count, names}, taken)) return nullptr;
  bool reverse = false;
  IteratorState made;
  sepal::ReadOptions options;
  if (!TakeFlag(taken[kReverse], &reverse) || !TakeFlag(taken[kIncludeKey], &made.with_key) ||
      !TakeFlag(taken[kIncludeValue], &made.with_value) || !TakeFlag(taken[kFillCache], &options.fill_cache)) {
    return nullptr;
  }
  const SpaceState* const space = OpenSpace(self);
  if (space == nullptr || !TakeBounds(*space, taken, &options)) return nullptr;
  const std::shared_ptr<const sepal::Snapshot> snapshot = space->snapshot;
  options.snapshot = snapshot.get();
  options.keys_only = !made.with_value;
  if (reverse) made.next = Cursor::Direction::kBack;
  return Make(*space, options, std::move(made));
}

PyObject* NewPlainIterator(PyObject* self) { return NewIterator(self, nullptr, 0, nullptr); }

bool AddIterator(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A cursor between entries, which it gives in order (DB.iterator).")},
      {Py_tp_dealloc, Slot(Deallocate)},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_iter, Slot(PyObject_SelfIter)},
      {Py_tp_iternext, Slot(Next)},
      {0, nullptr},
  };
  PyType_Spec spec = {"sepal.Iterator", static_cast<int>(sizeof(IteratorObject)), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  iterator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return iterator_type != nullptr && PyModule_AddType(module, iterator_type) == 0;
}

}  // namespace sepal_python
