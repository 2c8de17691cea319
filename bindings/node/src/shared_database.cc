#include "src/shared_database.h"

#include <filesystem>
#include <map>
#include <system_error>

namespace sepal_node {
namespace {

struct Registry {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<SharedDatabase>> databases;  // by their canonical locations
};

// It is never destroyed: threads may outlive the end of the main one.
Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

std::string Canonical(const std::string& location) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(location, error), error);
  return error ? location : path.string();
}

std::shared_ptr<SharedDatabase> FindOrAdd(const std::string& location) {
  Registry& registry = TheRegistry();
  const std::string name = Canonical(location);
  const MutexLock lock(registry.mutex);
  std::erase_if(registry.databases, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedDatabase>& known = registry.databases[name];
  std::shared_ptr<SharedDatabase> database = known.lock();
  if (database == nullptr) known = database = std::make_shared<SharedDatabase>();
  return database;
}

}  // namespace

absl::Status SharedDatabase::AddUser(const sepal::Options& options, const std::string& location) {
  const MutexLock lock(mutex_);
  if (users_ == 0) {
    auto opened = sepal::DB::Open(options, location);
    if (!opened.ok()) return opened.status();
    db_ = *std::move(opened);
  } else if (options.error_if_exists) {
    return absl::AlreadyExistsError("the database exists, and is open");
  }
  ++users_;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<SharedDatabase>> SharedDatabase::Open(const sepal::Options& options,
                                                                     const std::string& location, bool shared) {
  std::shared_ptr<SharedDatabase> database = shared ? FindOrAdd(location) : std::make_shared<SharedDatabase>();
  const absl::Status added = database->AddUser(options, location);
  if (!added.ok()) return added;
  return database;
}

absl::Status SharedDatabase::Close() {
  const MutexLock lock(mutex_);
  if (--users_ > 0) return absl::OkStatus();
  const absl::Status closed = db_->Close();
  db_ = nullptr;
  return closed;
}

}  // namespace sepal_node
