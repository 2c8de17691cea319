// The methods of a database beside reading and writing: column families, properties, maintenance, copies.
#include <array>

#include "src/arguments.h"
#include "src/errors.h"
#include "src/functions.h"
#include "src/space.h"

namespace sepal_python {
namespace {

// Runs `work(db)`, which returns a status, without the GIL.
template <class Work>
PyObject* Run(PyObject* self, const Work& work) {
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  sepal::DB& db = *state->database->db;
  return NoneOrRaise(WithoutGil(*state->database, [&] { return work(db); }));
}

// --- properties ---

PyObject* GetProperty(PyObject* self, PyObject* argument) {
  if (argument == Py_None) {
    PyErr_SetString(PyExc_TypeError, "name must be str or bytes, not NoneType");
    return nullptr;
  }
  std::string name;
  if (!TakeText(argument, "name", &name)) return nullptr;
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  // Programs use LevelDB's names.
  constexpr std::string_view kLevelDb = "leveldb.";
  if (name.starts_with(kLevelDb)) name = "sepal." + name.substr(kLevelDb.size());
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  const auto value = WithoutGil(*state->database, [&] { return db.GetProperty(family, name); });
  if (!value.has_value()) return None();
  return PyBytes_Check(argument) ? BytesOf(*value) : TextOf(*value);
}

bool Set(PyObject* dictionary, const char* name, uint64_t number) {
  const Ref value(PyLong_FromUnsignedLongLong(number));
  return value && PyDict_SetItemString(dictionary, name, value.get()) == 0;
}

PyObject* LevelOf(const sepal::LevelProperties& level) {
  Ref made(PyDict_New());
  const Ref score(PyFloat_FromDouble(level.compaction_score));
  const bool set = made && score && Set(made.get(), "runs", level.runs) && Set(made.get(), "tables", level.tables) &&
                   Set(made.get(), "bytes", level.bytes) && Set(made.get(), "entries", level.entries) &&
                   Set(made.get(), "tombstones", level.tombstones) &&
                   PyDict_SetItemString(made.get(), "compaction_score", score.get()) == 0;
  return set ? made.Release() : nullptr;
}

PyObject* PropertiesOf(const sepal::Properties& properties) {
  Ref made(PyDict_New());
  const Ref levels(PyList_New(0));
  if (!made || !levels) return nullptr;
  for (const sepal::LevelProperties& level : properties.levels) {
    const Ref entry(LevelOf(level));
    if (!entry || PyList_Append(levels.get(), entry.get()) != 0) return nullptr;
  }
  const Ref error(properties.background_error.ok() ? None() : TextOf(properties.background_error.ToString()));
  const bool set = error && PyDict_SetItemString(made.get(), "levels", levels.get()) == 0 &&
                   Set(made.get(), "runs", properties.runs) && Set(made.get(), "entries", properties.entries) &&
                   Set(made.get(), "table_bytes", properties.table_bytes) &&
                   Set(made.get(), "live_bytes", properties.live_bytes) &&
                   Set(made.get(), "memtable_bytes", properties.memtable_bytes) &&
                   Set(made.get(), "compaction_debt_bytes", properties.compaction_debt_bytes) &&
                   Set(made.get(), "longest_merge_chain", properties.longest_merge_chain) &&
                   Set(made.get(), "memtable_operands", properties.memtable_operands) &&
                   Set(made.get(), "block_cache_bytes", properties.block_cache_bytes) &&
                   Set(made.get(), "last_sequence", properties.last_sequence) &&
                   PyDict_SetItemString(made.get(), "background_error", error.get()) == 0;
  return set ? made.Release() : nullptr;
}

PyObject* GetProperties(PyObject* self, PyObject*) {
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const sepal::ColumnFamily& family = FamilyOf(*state);
  sepal::DB& db = *state->database->db;
  const auto properties = WithoutGil(*state->database, [&] { return db.GetProperties(family); });
  return properties.ok() ? PropertiesOf(*properties) : Raise(properties.status());
}

absl::StatusOr<std::vector<uint64_t>> SizesOf(const SpaceState& state, std::span<const sepal::Range> ranges) {
  const sepal::ColumnFamily& family = FamilyOf(state);
  sepal::DB& db = *state.database->db;
  return WithoutGil(*state.database, [&] { return db.GetApproximateSizes(family, ranges); });
}

PyObject* ApproximateSize(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  constexpr std::array<const char*, 2> kNames = {"start", "stop"};
  const Signature signature = {.function = "approximate_size", .names = kNames, .required = 2};
  std::array<PyObject*, 2> taken;
  Bytes start, stop;
  if (!TakeArguments(signature, {arguments, count, names}, taken) || !start.Take(taken[0], "start") ||
      !stop.Take(taken[1], "stop")) {
    return nullptr;
  }
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const sepal::Range range = {start.view(), stop.view()};
  const auto sizes = SizesOf(*state, {&range, 1});
  return sizes.ok() ? PyLong_FromUnsignedLongLong(sizes->front()) : Raise(sizes.status());
}

PyObject* ApproximateSizes(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  const size_t ranges_given = static_cast<size_t>(count);
  const auto bytes = std::make_unique<Bytes[]>(2 * ranges_given);
  std::vector<Ref> pairs;
  std::vector<sepal::Range> ranges;
  for (size_t i = 0; i < ranges_given; ++i) {
    const Ref& pair = pairs.emplace_back(PySequence_Tuple(arguments[i]));
    if (!pair) return nullptr;
    if (PyTuple_GET_SIZE(pair.get()) != 2) {
      PyErr_SetString(PyExc_TypeError, "each range must be a pair (start, stop)");
      return nullptr;
    }
    if (!bytes[2 * i].Take(PyTuple_GET_ITEM(pair.get(), 0), "start") ||
        !bytes[2 * i + 1].Take(PyTuple_GET_ITEM(pair.get(), 1), "stop")) {
      return nullptr;
    }
    ranges.push_back({bytes[2 * i].view(), bytes[2 * i + 1].view()});
  }
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const auto sizes = SizesOf(*state, ranges);
  if (!sizes.ok()) return Raise(sizes.status());
  Ref list(PyList_New(count));
  for (size_t i = 0; list && i < ranges_given; ++i) {
    PyObject* const size = PyLong_FromUnsignedLongLong((*sizes)[i]);
    if (size == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), size);
  }
  return list.Release();
}

// --- maintenance ---

PyObject* CompactRange(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  constexpr std::array<const char*, 2> kNames = {"start", "stop"};
  const Signature signature = {.function = "compact_range", .names = kNames, .positional = 0};
  std::array<PyObject*, 2> taken;
  sepal::CompactRangeOptions options;
  if (!TakeArguments(signature, {arguments, count, names}, taken) ||
      !TakeOptionalBytes(taken[0], "start", &options.begin) || !TakeOptionalBytes(taken[1], "stop", &options.end)) {
    return nullptr;
  }
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const sepal::ColumnFamily& family = FamilyOf(*state);
  return Run(self, [&](sepal::DB& db) { return db.CompactRange(family, options); });
}

PyObject* Flush(PyObject* self, PyObject*) {
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  const sepal::ColumnFamily& family = FamilyOf(*state);
  return Run(self, [&](sepal::DB& db) { return db.Flush(family); });
}

PyObject* Sync(PyObject* self, PyObject*) {
  return Run(self, [](sepal::DB& db) { return db.Sync(); });
}
PyObject* CatchUp(PyObject* self, PyObject*) {
  return Run(self, [](sepal::DB& db) { return db.CatchUp(); });
}
PyObject* VerifyChecksums(PyObject* self, PyObject*) {
  return Run(self, [](sepal::DB& db) { return db.VerifyChecksums(); });
}
PyObject* WaitForBackgroundWork(PyObject* self, PyObject*) {
  return Run(self, [](sepal::DB& db) { return db.WaitForBackgroundWork(); });
}

PyObject* Checkpoint(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  constexpr std::array<const char*, 4> kNames = {"directory", "base", "link_tables", "verify"};
  const Signature signature = {.function = "checkpoint", .names = kNames, .required = 1, .positional = 1};
  std::array<PyObject*, 4> taken;
  std::string directory;
  sepal::CheckpointOptions options;
  if (!TakeArguments(signature, {arguments, count, names}, taken) || !TakePath(taken[0], &directory) ||
      !TakePath(taken[1], &options.base) || !TakeFlag(taken[2], &options.link_tables) ||
      !TakeFlag(taken[3], &options.verify)) {
    return nullptr;
  }
  return Run(self, [&](sepal::DB& db) { return db.Checkpoint(directory, options); });
}

// --- column families ---

template <class Find>
PyObject* Family(PyObject* self, PyObject* argument, const Find& find) {
  if (!PyUnicode_Check(argument) && !PyBytes_Check(argument)) {
    PyErr_Format(PyExc_TypeError, "name must be str, not %.100s", Py_TYPE(argument)->tp_name);
    return nullptr;
  }
  std::string name;
  if (!TakeText(argument, "name", &name)) return nullptr;
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  sepal::DB& db = *state->database->db;
  auto family = WithoutGil(*state->database, [&] { return find(db, name); });
  if (!family.ok()) return Raise(family.status());
  return NewSpace(space_types.column_family,
                  {.database = state->database, .family = *std::move(family), .snapshot = nullptr, .prefix = {}}, self);
}

PyObject* ColumnFamily(PyObject* self, PyObject* name) {
  return Family(self, name, [](sepal::DB& db, const std::string& of) { return db.FindColumnFamily(of); });
}
PyObject* CreateColumnFamily(PyObject* self, PyObject* name) {
  return Family(self, name, [](sepal::DB& db, const std::string& of) { return db.CreateColumnFamily(of); });
}

PyObject* DropColumnFamily(PyObject* self, PyObject* argument) {
  Ref found;
  if (Py_TYPE(argument) != space_types.column_family) {
    found = Ref(ColumnFamily(self, argument));
    if (!found) return nullptr;
    argument = found.get();
  }
  const std::shared_ptr<sepal::ColumnFamily> family = StateOf(argument).family;
  return Run(self, [&](sepal::DB& db) { return db.DropColumnFamily(*family); });
}

PyObject* ColumnFamilies(PyObject* self, PyObject*) {
  const SpaceState* const state = OpenSpace(self);
  if (state == nullptr) return nullptr;
  sepal::DB& db = *state->database->db;
  return TextListOf(WithoutGil(*state->database, [&] { return db.ColumnFamilyNames(); }));
}

// --- closing ---

PyObject* Close(PyObject* self, PyObject*) {
  // It stays while this call closes it.
  const std::shared_ptr<Database> database = StateOf(self).database;
  if (database == nullptr || database->closed) Py_RETURN_NONE;
  return NoneOrRaise(database->Close());
}

PyObject* Enter(PyObject* self, PyObject*) { return OpenSpace(self) == nullptr ? nullptr : Py_NewRef(self); }
PyObject* Exit(PyObject* self, PyObject* const*, Py_ssize_t) { return Close(self, nullptr); }

}  // namespace

PyMethodDef family_methods[] = {
    {"get_property", GetProperty, METH_O, "get_property($self, name, /)\n--\n\nA property as text; None if unknown."},
    {"properties", GetProperties, METH_NOARGS, "properties($self, /)\n--\n\nThe properties that are numbers."},
    {"approximate_size", Method(ApproximateSize), METH_FASTCALL | METH_KEYWORDS,
     "approximate_size($self, start, stop)\n--\n\nAbout how many bytes a range takes on the disk."},
    {"approximate_sizes", Method(ApproximateSizes), METH_FASTCALL,
     "approximate_sizes($self, *ranges)\n--\n\nThe same for pairs (start, stop)."},
    {"compact_range", Method(CompactRange), METH_FASTCALL | METH_KEYWORDS,
     "compact_range($self, *, start=None, stop=None)\n--\n\nDrops what is deleted or overwritten."},
    {"flush", Flush, METH_NOARGS, "flush($self, /)\n--\n\nWrites what is in memory to tables."},
    {nullptr, nullptr, 0, nullptr},
};

PyMethodDef database_methods[] = {
    {"close", Close, METH_NOARGS, "close($self, /)\n--\n\nCloses the database; a second call does nothing."},
    {"sync", Sync, METH_NOARGS, "sync($self, /)\n--\n\nMakes all earlier writes durable."},
    {"catch_up", CatchUp, METH_NOARGS,
     "catch_up($self, /)\n--\n\nRead-only: sees from now on what another process has written."},
    {"verify_checksums", VerifyChecksums, METH_NOARGS,
     "verify_checksums($self, /)\n--\n\nReads and checks every byte of every table."},
    {"wait_for_background_work", WaitForBackgroundWork, METH_NOARGS, "wait_for_background_work($self, /)\n--\n\n"},
    {"checkpoint", Method(Checkpoint), METH_FASTCALL | METH_KEYWORDS,
     "checkpoint($self, directory, *, base=None, link_tables=True, verify=False)\n--\n\nMakes a copy of the database."},
    {"column_family", ColumnFamily, METH_O, "column_family($self, name, /)\n--\n\nA column family that exists."},
    {"create_column_family", CreateColumnFamily, METH_O, "create_column_family($self, name, /)\n--\n\nA new one."},
    {"drop_column_family", DropColumnFamily, METH_O,
     "drop_column_family($self, family, /)\n--\n\nDrops a column family, by name or as an object."},
    {"column_families", ColumnFamilies, METH_NOARGS, "column_families($self, /)\n--\n\nTheir names."},
    {"__enter__", Enter, METH_NOARGS, nullptr},
    {"__exit__", Method(Exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace sepal_python
