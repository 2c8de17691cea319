// Opening and closing a database, and the functions on databases that are not open.
#include <array>

#include "src/arguments.h"
#include "src/errors.h"
#include "src/functions.h"
#include "src/space.h"

namespace sepal_python {
namespace {

// plyvel's arguments come first; those of LevelDB's that Sepal does not need are accepted and ignored.
enum Argument : size_t {
  kName,
  kCreateIfMissing,
  kErrorIfExists,
  kParanoidChecks,
  kWriteBufferSize,
  kMaxOpenFiles,
  kLruCacheSize,
  kBlockSize,
  kBlockRestartInterval,
  kMaxFileSize,
  kCompression,
  kBloomFilterBits,
  kComparator,
  kComparatorName,
  kReadOnly,
  kFollowMilliseconds,
  kMemoryLimit,
  kLogDirectory,
  kBackgroundThreads,
  kDirectReads,
  kInfoLog,
  kArguments,
};
constexpr std::array<const char*, kArguments> kOpenNames = {
    "name",
    "create_if_missing",
    "error_if_exists",
    "paranoid_checks",
    "write_buffer_size",
    "max_open_files",
    "lru_cache_size",
    "block_size",
    "block_restart_interval",
    "max_file_size",
    "compression",
    "bloom_filter_bits",
    "comparator",
    "comparator_name",
    "read_only",
    "follow_milliseconds",
    "memory_limit",
    "log_directory",
    "background_threads",
    "direct_reads",
    "info_log",
};
constexpr Signature kOpen = {.function = "DB", .names = kOpenNames, .required = 1, .positional = 1};

bool TakeCompression(PyObject* object, sepal::CompressionKind* kind) {
  if (object == nullptr) return true;
  std::string name = "none";
  if (!TakeText(object, "compression", &name)) return false;
  constexpr std::array<std::pair<const char*, sepal::CompressionKind>, 4> kKinds = {
      {{"none", sepal::CompressionKind::kNone},
       {"snappy", sepal::CompressionKind::kSnappy},
       {"lz4", sepal::CompressionKind::kLz4},
       {"zstd", sepal::CompressionKind::kZstd}}};
  for (const auto& [known, value] : kKinds) {
    if (name != known) continue;
    *kind = value;
    return true;
  }
  PyErr_Format(PyExc_ValueError, "compression must be None, 'snappy', 'lz4' or 'zstd', not %R", object);
  return false;
}

// `memory_limit`, or the memory for LevelDB's two sizes if that is more than the default.
bool TakeMemory(std::span<PyObject* const> taken, sepal::Options* options) {
  uint64_t cache = 0, buffer = 0, limit = 0;
  if (!TakeSize(taken[kLruCacheSize], "lru_cache_size", &cache) ||
      !TakeSize(taken[kWriteBufferSize], "write_buffer_size", &buffer) ||
      !TakeSize(taken[kMemoryLimit], "memory_limit", &limit)) {
    return false;
  }
  constexpr uint64_t kMost = uint64_t{1} << 40;  // of each; the engine refuses more
  const uint64_t asked = std::min(cache, kMost) + 4 * std::min(buffer, kMost);
  const bool given = taken[kMemoryLimit] != nullptr && taken[kMemoryLimit] != Py_None;
  options->memory_limit = static_cast<size_t>(given ? limit : std::max<uint64_t>(options->memory_limit, asked));
  return true;
}

bool TakeOptions(std::span<PyObject* const> taken, sepal::Options* options) {
  for (const size_t comparator : {kComparator, kComparatorName}) {
    if (taken[comparator] == nullptr || taken[comparator] == Py_None) continue;
    PyErr_SetString(PyExc_NotImplementedError,
                    "comparators in Python are not supported: encode keys so that their bytes sort as they should");
    return false;
  }
  uint64_t block = options->family.block_bytes, bits = 0, threads = 0;
  if (!TakeFlag(taken[kCreateIfMissing], &options->create_if_missing) ||
      !TakeFlag(taken[kErrorIfExists], &options->error_if_exists) || !TakeFlag(taken[kReadOnly], &options->read_only) ||
      !TakeFlag(taken[kDirectReads], &options->direct_reads) || !TakeFlag(taken[kInfoLog], &options->info_log) ||
      !TakeMemory(taken, options) || !TakeCompression(taken[kCompression], &options->family.compression) ||
      !TakeSize(taken[kFollowMilliseconds], "follow_milliseconds", &options->follow_milliseconds) ||
      !TakeSize(taken[kBlockSize], "block_size", &block) ||
      !TakeSize(taken[kBloomFilterBits], "bloom_filter_bits", &bits) ||
      !TakeSize(taken[kBackgroundThreads], "background_threads", &threads) ||
      !TakePath(taken[kLogDirectory], &options->log_directory)) {
    return false;
  }
  options->family.block_bytes = static_cast<size_t>(block);
  if (bits > 0) options->family.filter_policy = sepal::FilterPolicy::FromBitsPerKey(static_cast<double>(bits));
  // A sum out of range stays out of range.
  options->background_threads = static_cast<int>(std::min<uint64_t>(threads, INT32_MAX));
  return true;
}

// The arguments of a slot, as those of a method.
struct Unpacked {
  std::vector<PyObject*> values;
  Ref names;

  bool Take(PyObject* arguments, PyObject* keywords) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) values.push_back(PyTuple_GET_ITEM(arguments, i));
    const Py_ssize_t named = keywords == nullptr ? 0 : PyDict_GET_SIZE(keywords);
    names = Ref(PyTuple_New(named));
    if (!names) return false;
    PyObject *name = nullptr, *value = nullptr;
    Py_ssize_t at = 0, place = 0;
    while (named > 0 && PyDict_Next(keywords, &at, &name, &value) != 0) {
      PyTuple_SET_ITEM(names.get(), place++, Py_NewRef(name));
      values.push_back(value);
    }
    return true;
  }
};

constexpr std::array<const char*, 2> kRepairNames = {"name", "dry_run"};
constexpr Signature kRepair = {.function = "repair_db", .names = kRepairNames, .required = 1, .positional = 1};

PyObject* RepairDb(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  // plyvel's other arguments, which are about how LevelDB opens the database.
  std::array<PyObject*, 2> taken;
  std::string path;
  bool dry_run = false;
  if (!TakeArguments(kRepair, {arguments, count, names}, taken) || !TakePath(taken[0], &path) ||
      !TakeFlag(taken[1], &dry_run)) {
    return nullptr;
  }
  const auto report = WithoutGil([&] { return sepal::DB::Repair({}, path, {.dry_run = dry_run}); });
  return report.ok() ? TextOf(report->ToString()) : Raise(report.status());
}

PyObject* DestroyDb(PyObject*, PyObject* name) {
  std::string path;
  if (!TakePath(name, &path)) return nullptr;
  return NoneOrRaise(WithoutGil([&] { return sepal::DB::Destroy({}, path); }));
}

PyObject* ListColumnFamilies(PyObject*, PyObject* name) {
  std::string path;
  if (!TakePath(name, &path)) return nullptr;
  const auto families = WithoutGil([&] { return sepal::DB::ListColumnFamilies({}, path); });
  return families.ok() ? TextListOf(*families) : Raise(families.status());
}

}  // namespace

PyObject* TextListOf(std::span<const std::string> texts) {
  Ref list(PyList_New(std::ssize(texts)));
  if (!list) return nullptr;
  for (size_t i = 0; i < texts.size(); ++i) {
    PyObject* const text = TextOf(texts[i]);
    if (text == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), text);
  }
  return list.Release();
}

int InitDatabase(PyObject* self, PyObject* arguments, PyObject* keywords) {
  SpaceState& state = StateOf(self);
  if (state.database != nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the database is open already");
    return -1;
  }
  Unpacked unpacked;
  std::array<PyObject*, kArguments> taken;
  if (!unpacked.Take(arguments, keywords)) return -1;
  const Call call = {unpacked.values.data(), PyTuple_GET_SIZE(arguments), unpacked.names.get()};
  sepal::Options options;
  std::string path;
  if (!TakeArguments(kOpen, call, taken) || !TakePath(taken[kName], &path) || !TakeOptions(taken, &options)) return -1;
  auto db = WithoutGil([&] { return sepal::DB::Open(options, path); });
  if (!db.ok()) {
    Raise(db.status());
    return -1;
  }
  state.database = std::make_shared<Database>(*std::move(db), std::move(path));
  return 0;
}

PyMethodDef module_functions[] = {
    {"repair_db", Method(RepairDb), METH_FASTCALL | METH_KEYWORDS,
     "repair_db(name, *, dry_run=False)\n--\n\nRestores a damaged database, and returns a report of what was dropped."},
    {"destroy_db", DestroyDb, METH_O, "destroy_db(name, /)\n--\n\nDeletes a database that is not open."},
    {"list_column_families", ListColumnFamilies, METH_O,
     "list_column_families(name, /)\n--\n\nThe names of a database's column families, open or not."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace sepal_python
