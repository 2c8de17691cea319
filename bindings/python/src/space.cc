#include "src/space.h"

#include <array>
#include <new>
#include <vector>

#include "src/arguments.h"
#include "src/errors.h"

namespace sepal_python {

SpaceTypes space_types;

namespace {

const char* KindOf(PyObject* self) { return Py_TYPE(self) == space_types.snapshot ? "snapshot" : "database"; }

PyObject* AllocateSpace(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self != nullptr) new (&StateOf(self)) SpaceState();
  return self;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Space*>(self)->parent);
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Space*>(self)->parent);
  return 0;
}

void Deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<Space*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Clear(self);
  StateOf(self).~SpaceState();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// --- reading ---

// The arguments of a get or a multi_get beside its keys.
struct Reading {
  const sepal::ReadOptions* options = &sepal::kDefaultReadOptions;
  sepal::ReadOptions own;

  bool Take(const SpaceState& state, PyObject* fill_cache) {
    bool fill = true;
    if (!TakeFlag(fill_cache, &fill)) return false;
    if (fill && state.snapshot == nullptr) return true;
    own.snapshot = state.snapshot.get();
    own.fill_cache = fill;
    options = &own;
    return true;
  }
};

constexpr std::array<const char*, 4> kGetNames = {"key", "default", "verify_checksums", "fill_cache"};
constexpr Signature kGet = {.function = "get", .names = kGetNames, .required = 1, .positional = 2};

PyObject* Get(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 4> taken;
  if (!TakeArguments(kGet, {arguments, count, names}, taken)) return nullptr;
  Bytes key;
  if (!key.Take(taken[0], "key")) return nullptr;
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  Reading reading;
  if (!reading.Take(*state, taken[3])) return nullptr;
  // The object may be closed while the call runs.
  const std::shared_ptr<const sepal::Snapshot> snapshot = state->snapshot;
  const FullKey full(*state, key.view());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  sepal::PinnedValue value;
  const absl::Status status =
      WithoutGil(*state->database, [&] { return db.Get(family, full.view(), value, *reading.options); });
  if (status.ok()) return BytesOf(value.value());
  if (!absl::IsNotFound(status)) return Raise(status);
  return taken[1] == nullptr ? None() : Py_NewRef(taken[1]);
}

constexpr std::array<const char*, 3> kMultiGetNames = {"keys", "default", "fill_cache"};
constexpr Signature kMultiGet = {.function = "multi_get", .names = kMultiGetNames, .required = 1, .positional = 2};

// The keys of a multi_get, with the prefix of the space.
class Keys {
 public:
  bool Take(const SpaceState& state, PyObject* tuple) {
    const size_t count = static_cast<size_t>(PyTuple_GET_SIZE(tuple));
    bytes_ = std::make_unique<Bytes[]>(count);
    if (!state.prefix.empty()) full_.reserve(count);
    views_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (!bytes_[i].Take(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)), "key")) return false;
      if (state.prefix.empty()) {
        views_.push_back(bytes_[i].view());
      } else {
        views_.push_back(full_.emplace_back(state.prefix + std::string(bytes_[i].view())));
      }
    }
    return true;
  }
  std::span<const std::string_view> views() const { return views_; }

 private:
  std::unique_ptr<Bytes[]> bytes_;
  std::vector<std::string> full_;
  std::vector<std::string_view> views_;
};

PyObject* ListOf(std::span<const sepal::PinnedValue> values, std::span<const absl::Status> statuses,
                 PyObject* missing) {
  Ref list(PyList_New(std::ssize(values)));
  if (!list) return nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    PyObject* const value = statuses[i].ok() ? BytesOf(values[i].value()) : Py_NewRef(missing);
    if (value == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), value);
  }
  return list.Release();
}

PyObject* MultiGet(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 3> taken;
  if (!TakeArguments(kMultiGet, {arguments, count, names}, taken)) return nullptr;
  // A tuple keeps the keys alive, even if other threads change the list.
  const Ref tuple(PySequence_Tuple(taken[0]));
  if (!tuple) return nullptr;
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  Keys keys;
  Reading reading;
  if (!keys.Take(*state, tuple.get()) || !reading.Take(*state, taken[2])) return nullptr;
  const std::shared_ptr<const sepal::Snapshot> snapshot = state->snapshot;
  std::vector<sepal::PinnedValue> values(keys.views().size());
  std::vector<absl::Status> statuses(keys.views().size());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  const absl::Status status = WithoutGil(
      *state->database, [&] { return db.MultiGet(family, keys.views(), values, statuses, *reading.options); });
  if (!status.ok()) return Raise(status);
  return ListOf(values, statuses, taken[1] == nullptr ? Py_None : taken[1]);
}

// --- writing ---

constexpr std::array<const char*, 3> kPutNames = {"key", "value", "sync"};
constexpr Signature kPut = {.function = "put", .names = kPutNames, .required = 2, .positional = 2};

PyObject* Put(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 3> taken;
  if (!TakeArguments(kPut, {arguments, count, names}, taken)) return nullptr;
  Bytes key, value;
  bool sync = false;
  if (!key.Take(taken[0], "key") || !value.Take(taken[1], "value") || !TakeFlag(taken[2], &sync)) return nullptr;
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const FullKey full(*state, key.view());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  return NoneOrRaise(
      WithoutGil(*state->database, [&] { return db.Put(family, full.view(), value.view(), {.sync = sync}); }));
}

constexpr std::array<const char*, 2> kDeleteNames = {"key", "sync"};
constexpr Signature kDelete = {.function = "delete", .names = kDeleteNames, .required = 1, .positional = 1};

PyObject* Delete(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  std::array<PyObject*, 2> taken;
  if (!TakeArguments(kDelete, {arguments, count, names}, taken)) return nullptr;
  Bytes key;
  bool sync = false;
  if (!key.Take(taken[0], "key") || !TakeFlag(taken[1], &sync)) return nullptr;
  SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const FullKey full(*state, key.view());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  return NoneOrRaise(WithoutGil(*state->database, [&] { return db.Delete(family, full.view(), {.sync = sync}); }));
}

// --- what a space makes ---

PyObject* TakeSnapshot(PyObject* self, PyObject*) {
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  SpaceState made = *state;
  sepal::DB& db = *state->database->db;
  made.snapshot = WithoutGil(*state->database, [&] { return db.GetSnapshot(); });
  return NewSpace(space_types.snapshot, std::move(made), nullptr);
}

PyObject* PrefixedDb(PyObject* self, PyObject* argument) {
  Bytes prefix;
  if (!prefix.Take(argument, "prefix")) return nullptr;
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  SpaceState made = *state;
  made.prefix.append(prefix.view());
  PyObject* const parent = reinterpret_cast<Space*>(self)->parent;
  return NewSpace(space_types.prefixed_db, std::move(made), parent == nullptr ? self : parent);
}

PyObject* CloseSnapshot(PyObject* self, PyObject*) {
  StateOf(self).snapshot.reset();
  Py_RETURN_NONE;
}

PyObject* Enter(PyObject* self, PyObject*) { return OpenSpace(self) == nullptr ? nullptr : Py_NewRef(self); }

// A view of another column family as of the same moment.
PyObject* FamilyOfSnapshot(PyObject* self, PyObject* argument) {
  std::string name;
  if (!TakeText(argument, "name", &name)) return nullptr;
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  SpaceState made = *state;
  made.prefix.clear();
  sepal::DB& db = *state->database->db;
  auto family = WithoutGil(*made.database, [&] { return db.FindColumnFamily(name); });
  if (!family.ok()) return Raise(family.status());
  made.family = *std::move(family);
  return NewSpace(space_types.snapshot, std::move(made), nullptr);
}

// --- attributes ---

PyObject* Prefix(PyObject* self, void*) { return BytesOf(StateOf(self).prefix); }

PyObject* Parent(PyObject* self, void*) {
  PyObject* const parent = reinterpret_cast<Space*>(self)->parent;
  return parent == nullptr ? None() : Py_NewRef(parent);
}

PyObject* Name(PyObject* self, void*) {
  const SpaceState& state = StateOf(self);
  if (state.family != nullptr) return TextOf(state.family->name());
  if (state.database == nullptr) return None();
  const std::string& path = state.database->path;
  return PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
}

PyObject* Closed(PyObject* self, void*) {
  const SpaceState& state = StateOf(self);
  const bool released = Py_TYPE(self) == space_types.snapshot && state.snapshot == nullptr;
  return PyBool_FromLong(state.database == nullptr || state.database->closed || released);
}

PyObject* Represent(PyObject* self) {
  const Ref name(Name(self, nullptr));
  if (!name) return nullptr;
  if (!StateOf(self).prefix.empty()) {
    const Ref prefix(Prefix(self, nullptr));
    if (!prefix) return nullptr;
    return PyUnicode_FromFormat("<%s of %R under %R at %p>", Py_TYPE(self)->tp_name, name.get(), prefix.get(), self);
  }
  return PyUnicode_FromFormat("<%s %R at %p>", Py_TYPE(self)->tp_name, name.get(), self);
}

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Space, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef prefixed_attributes[] = {
    {"prefix", Prefix, nullptr, "What all keys of the object begin with in the database.", nullptr},
    {"db", Parent, nullptr, "The database.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyGetSetDef family_attributes[] = {
    {"name", Name, nullptr, "The name of the column family.", nullptr},
    {"db", Parent, nullptr, "The database.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyGetSetDef database_attributes[] = {
    {"name", Name, nullptr, "The path of the database.", nullptr},
    {"closed", Closed, nullptr, "Whether close() was called.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyGetSetDef snapshot_attributes[] = {
    {"closed", Closed, nullptr, "Whether the snapshot, or the database, was closed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef snapshot_only[] = {
    {"close", CloseSnapshot, METH_NOARGS, "close($self, /)\n--\n\nReleases the snapshot."},
    {"release", CloseSnapshot, METH_NOARGS, "release($self, /)\n--\n\nThe same."},
    {"column_family", FamilyOfSnapshot, METH_O,
     "column_family($self, name, /)\n--\n\nA column family as of the same moment."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Method(+[](PyObject* self, PyObject* const*, Py_ssize_t) { return CloseSnapshot(self, nullptr); }),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef snapshots[] = {
    {"snapshot", TakeSnapshot, METH_NOARGS, "snapshot($self, /)\n--\n\nA view as of now."},
    {"prefixed_db", PrefixedDb, METH_O,
     "prefixed_db($self, prefix, /)\n--\n\nThe entries whose keys begin with the prefix, under keys without it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyMethodDef reading_methods[] = {
    {"get", Method(Get), METH_FASTCALL | METH_KEYWORDS,
     "get($self, key, default=None, *, verify_checksums=False, fill_cache=True)\n--\n\nThe value of a key, or the "
     "default."},
    {"multi_get", Method(MultiGet), METH_FASTCALL | METH_KEYWORDS,
     "multi_get($self, keys, default=None, *, fill_cache=True)\n--\n\nThe values of many keys as of one moment, in a "
     "list."},
    {"read_value", Method(ReadValue), METH_FASTCALL | METH_KEYWORDS,
     "read_value($self, key, offset, size)\n--\n\nA part of a value and the size of the whole, or None."},
    {"open_value", OpenValue, METH_O,
     "open_value($self, key, /)\n--\n\nThe value that the key has now, as a file that is read in parts."},
    {"iterator", Method(NewIterator), METH_FASTCALL | METH_KEYWORDS,
     "iterator($self, *, reverse=False, start=None, stop=None, include_start=True, include_stop=False, prefix=None, "
     "include_key=True, include_value=True, verify_checksums=False, fill_cache=True)\n--\n\nAn iterator over the "
     "entries in order."},
    {"raw_iterator", Method(NewRawIterator), METH_FASTCALL | METH_KEYWORDS,
     "raw_iterator($self, *, verify_checksums=False, fill_cache=True)\n--\n\nAn iterator as the engine has it."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef writing_methods[] = {
    {"put", Method(Put), METH_FASTCALL | METH_KEYWORDS,
     "put($self, key, value, *, sync=False)\n--\n\nSets the value of a key; durably with sync."},
    {"put_stream", Method(PutStream), METH_FASTCALL | METH_KEYWORDS,
     "put_stream($self, key, source, size, *, sync=False)\n--\n\nSets a value of so many bytes, which a file or an "
     "iterable gives in parts."},
    {"delete", Method(Delete), METH_FASTCALL | METH_KEYWORDS,
     "delete($self, key, *, sync=False)\n--\n\nDeletes a key, which need not exist."},
    {"write_batch", Method(NewBatch), METH_FASTCALL | METH_KEYWORDS,
     "write_batch($self, *, transaction=False, sync=False)\n--\n\nA batch of updates that are written whole or not at "
     "all."},
    {nullptr, nullptr, 0, nullptr},
};

SpaceState* OpenSpace(PyObject* self) {
  SpaceState& state = StateOf(self);
  const bool open = state.database != nullptr && !state.database->closed;
  if (!open) {
    RaiseClosed("database");
    return nullptr;
  }
  if (Py_TYPE(self) == space_types.snapshot && state.snapshot == nullptr) {
    RaiseClosed(KindOf(self));
    return nullptr;
  }
  return &state;
}

PyObject* NewSpace(PyTypeObject* type, SpaceState state, PyObject* parent) {
  PyObject* const self = AllocateSpace(type, nullptr, nullptr);
  if (self == nullptr) return nullptr;
  StateOf(self) = std::move(state);
  reinterpret_cast<Space*>(self)->parent = Py_XNewRef(parent);
  return self;
}

namespace {

struct Kind {
  const char* name;
  const char* doc;
  std::vector<PyMethodDef*> methods;
  PyGetSetDef* attributes;
  bool made_by_caller = false;  // else only by methods of other objects
};

// The slots refer to `methods`, which lives as long as the type.
PyTypeObject* AddSpace(PyObject* module, const Kind& kind) {
  auto* const methods = new std::vector<PyMethodDef>();
  for (PyMethodDef* part : kind.methods) {
    for (; part->ml_name != nullptr; ++part) methods->push_back(*part);
  }
  methods->push_back({nullptr, nullptr, 0, nullptr});
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>(kind.doc)},
      {Py_tp_dealloc, Slot(Deallocate)},
      {Py_tp_traverse, Slot(Traverse)},
      {Py_tp_clear, Slot(Clear)},
      {Py_tp_methods, methods->data()},
      {Py_tp_members, members},
      {Py_tp_getset, kind.attributes},
      {Py_tp_iter, Slot(NewPlainIterator)},
      {Py_tp_repr, Slot(Represent)},
  };
  unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  if (kind.made_by_caller) {
    slots.push_back({Py_tp_new, Slot(AllocateSpace)});
    slots.push_back({Py_tp_init, Slot(InitDatabase)});
    flags |= Py_TPFLAGS_BASETYPE;
  } else {
    flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {kind.name, static_cast<int>(sizeof(Space)), 0, flags, slots.data()};
  PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) != 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

bool AddSpaces(PyObject* module) {
  space_types.db =
      AddSpace(module, {.name = "sepal.DB",
                        .doc = "A database in a directory.",
                        .methods = {reading_methods, writing_methods, snapshots, family_methods, database_methods},
                        .attributes = database_attributes,
                        .made_by_caller = true});
  if (space_types.db == nullptr) return false;
  space_types.column_family =
      AddSpace(module, {.name = "sepal.ColumnFamily",
                        .doc = "A named key space of a database (DB.column_family).",
                        .methods = {reading_methods, writing_methods, snapshots, family_methods},
                        .attributes = family_attributes});
  if (space_types.column_family == nullptr) return false;
  space_types.prefixed_db = AddSpace(module, {.name = "sepal.PrefixedDB",
                                              .doc = "The entries of a database under a prefix (DB.prefixed_db).",
                                              .methods = {reading_methods, writing_methods, snapshots},
                                              .attributes = prefixed_attributes});
  if (space_types.prefixed_db == nullptr) return false;
  space_types.snapshot = AddSpace(module, {.name = "sepal.Snapshot",
                                           .doc = "A database as of one moment (DB.snapshot).",
                                           .methods = {reading_methods, snapshot_only},
                                           .attributes = snapshot_attributes});
  return space_types.snapshot != nullptr;
}

}  // namespace sepal_python
