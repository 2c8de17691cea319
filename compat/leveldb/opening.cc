// DB::Open, DestroyDB and RepairDB, with the statuses that programs know from LevelDB.
#include <leveldb/db.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compat/leveldb/convert.h"
#include "compat/leveldb/database.h"
#include "compat/leveldb/setup.h"
#include "db/act/files/guard.h"

namespace sepal::compat {

namespace {

using leveldb::Status;

namespace fs = std::filesystem;

constexpr std::string_view kBytewiseNameInSepal = "sepal.BytewiseComparator";

// For a shell.
std::string Quoted(const std::string& path) {
  std::string quoted = "'";
  for (const char c : path) {
    if (c == '\'') quoted += "'\\'";
    quoted += c;
  }
  return quoted + "'";
}

bool HoldsOtherEngine(FileSystem* files, const std::string& name) {
  const auto directory = files->OpenDirectory(name, /*create=*/false);
  if (!directory.ok()) return false;
  const absl::StatusOr<GuardState> guard = ReadGuard(directory->get());
  return guard.ok() && *guard == GuardState::kForeign;
}

// With the absolute path: the user runs the line in another directory than the program.
std::string HowToImport(const std::string& name) {
  std::error_code error;
  const fs::path whole = fs::canonical(name, error);
  const std::string path = error ? name : whole.string();
  const std::string old = path + ".leveldb";
  return "is a database of LevelDB's (or RocksDB's), which Sepal does not open; this makes one of Sepal's of it: mv " +
         Quoted(path) + " " + Quoted(old) + " && sepal import " + Quoted(path) + " " + Quoted(old);
}

// The name of the existing order, taken from Sepal's error.
std::string ComparatorOfDatabase(std::string_view refusal) {
  constexpr std::string_view kBefore = "with comparator \"";
  constexpr std::string_view kBehind = "\", not \"";
  const size_t begin = refusal.find(kBefore);
  const size_t end = refusal.find(kBehind);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  const std::string_view name = refusal.substr(begin + kBefore.size(), end - begin - kBefore.size());
  return std::string(name == kBytewiseNameInSepal ? kBytewiseName : name);
}

// `refusal` names the process that has the lock.
Status LockFailure(const std::string& name, std::string_view refusal) {
  const bool own = refusal.find(absl::StrCat("process ", ::getpid(), ";")) != std::string_view::npos;
  return Status::IOError("lock " + name + "/LOCK",
                         own ? "already held by process" : "Resource temporarily unavailable");
}

// LevelDB's error for a directory in which it cannot create its lock file.
Status CheckPlace(const std::string& name) {
  const std::string lock = name + "/LOCK";
  struct stat found = {};
  if (name.empty()) return PosixError(name, ENOENT);
  if (::stat(name.c_str(), &found) == 0) {
    if (!S_ISDIR(found.st_mode)) return PosixError(lock, ENOTDIR);
    return ::access(name.c_str(), W_OK | X_OK) == 0 ? Status() : PosixError(lock, errno);
  }
  if (errno != ENOENT) return PosixError(lock, errno);
  const fs::path path(name);
  const fs::path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
  const std::string around = parent.empty() ? "." : parent.string();
  if (::access(around.c_str(), W_OK | X_OK) != 0) return PosixError(lock, ENOENT);
  return Status();
}

Status OpeningFailure(const absl::Status& status, const leveldb::Options& given, const Setup& setup,
                      const std::string& name) {
  const std::string_view message = ToStd(status.message());
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return Status::InvalidArgument(name, "does not exist (create_if_missing is false)");
    case absl::StatusCode::kAlreadyExists:
      return Status::InvalidArgument(name, "exists (error_if_exists is true)");
    case absl::StatusCode::kUnavailable:
      return LockFailure(name, message);
    case absl::StatusCode::kInvalidArgument: {
      const std::string existing = ComparatorOfDatabase(message);
      if (existing.empty()) break;
      return Status::InvalidArgument(existing + " does not match existing comparator ", given.comparator->Name());
    }
    case absl::StatusCode::kFailedPrecondition:
      if (!setup.in_memory && HoldsOtherEngine(FileSystem::Posix(), name)) {
        return Status::IOError(name, HowToImport(name));
      }
      break;
    default:
      break;
  }
  return ToStatus(status);
}

bool IsNoDirectory(const std::string& name) {
  struct stat found = {};
  return ::stat(name.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

}  // namespace

}  // namespace sepal::compat

namespace leveldb {

using sepal::compat::Setup;

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  *dbptr = nullptr;
  Setup setup;
  Status status = sepal::compat::MakeSetup(options, &setup);
  if (status.ok() && !setup.in_memory) status = sepal::compat::CheckPlace(name);
  if (!status.ok()) return status;
  auto opened = sepal::DB::Open(setup.options, name);
  if (!opened.ok()) return sepal::compat::OpeningFailure(opened.status(), options, setup, name);
  *dbptr = new sepal::compat::Database(*std::move(opened), std::move(setup.comparator));
  return Status();
}

Status DestroyDB(const std::string& name, const Options& options) {
  Setup setup;
  const Status status = sepal::compat::MakeSetup(options, &setup);
  if (!status.ok()) return status;
  if (!setup.in_memory && sepal::compat::IsNoDirectory(name)) return Status();
  const absl::Status destroyed = sepal::DB::Destroy(setup.options, name);
  if (absl::IsUnavailable(destroyed)) {
    return sepal::compat::LockFailure(name, sepal::ToStd(destroyed.message()));
  }
  return sepal::compat::ToStatus(destroyed);
}

Status RepairDB(const std::string& dbname, const Options& options) {
  Setup setup;
  const Status status = sepal::compat::MakeSetup(options, &setup);
  if (!status.ok()) return status;
  if (!setup.in_memory && sepal::compat::IsNoDirectory(dbname)) return sepal::compat::PosixError(dbname, ENOTDIR);
  setup.options.create_if_missing = setup.options.error_if_exists = false;
  const absl::Status repaired = sepal::DB::Repair(setup.options, dbname).status();
  if (repaired.ok()) return Status();
  if (!absl::IsNotFound(repaired)) return sepal::compat::OpeningFailure(repaired, options, setup, dbname);
  // LevelDB creates an empty database if there is nothing to repair.
  Options anew = options;
  anew.create_if_missing = true;
  anew.error_if_exists = false;
  DB* db;
  Status made = DB::Open(anew, dbname, &db);
  delete db;
  return made;
}

}  // namespace leveldb
