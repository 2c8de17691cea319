// Databases that a process left, damaged and repaired.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/doctor/repair.h"
#include "db/format/manifest_format.h"
#include "tests/db/doctor/repair_failures.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {

class RepairSalvageTest : public EngineTest {
 protected:
  using Contents = std::map<std::string, std::string>;

  // The database is made by each test.
  void SetUp() override { database.tuning.manifest_limit_bytes = uint64_t{1} << 20; }

  // The state that a process leaves if it is killed now.
  void Kill() { database.memory.Crash(CrashMode::kKillProcess, 0), database.db.reset(); }
  std::vector<std::string> Files(std::string_view directory = "/db") { return FilesIn(&database.memory, directory); }
  // The last file whose name holds `part`.
  std::string Last(std::string_view part) {
    std::string last;
    for (const std::string& name : Files()) {
      if (name.find(part) != std::string::npos) last = name;
    }
    return last;
  }
  // The newest log in use: the file of the next one may be there already, and have no header yet.
  std::string NewestLog() {
    std::string newest;
    for (const std::string& name : Files()) {
      if (name.ends_with(".log") && Read(name).substr(0, 512).find_first_not_of('\0') != std::string::npos)
        newest = name;
    }
    return newest;
  }
  std::string Read(const std::string& name) { return database.memory.ReadFileContents("/db/" + name).value(); }
  void Write(const std::string& name, std::string_view bytes) {
    ASSERT_OK(database.memory.WriteFileContents("/db/" + name, bytes));
  }
  void Remove(std::string_view part) {
    const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
    for (const std::string& name : Files()) {
      if (name.find(part) != std::string::npos) ASSERT_OK(directory->Remove(name));
    }
  }
  // Damages the last edit of the manifest, so that it is not whole but most of it can be read.
  void DamageLastEdit() {
    const std::string name = Last("MANIFEST");
    std::string bytes = Read(name);
    // The last record is a mark.
    bytes[bytes.size() - kManifestRecordHeaderBytes - kManifestControlBytes - 1] ^= 1;
    Write(name, bytes);
    EXPECT_TRUE(absl::IsDataLoss(database.Open()));
  }

  absl::Status Repair(bool dry_run = false) {
    report = {.dry_run = dry_run};
    return Repairing(database.options, database.tuning, "/db", &report, {.dry_run = dry_run}).Run();
  }
  Contents All(const ColumnFamily* family = nullptr) {
    const std::unique_ptr<Iterator> it = db()->NewIterator(FamilyOrDefault(db(), family));
    const Entries entries = ReadAll(it.get());
    EXPECT_OK(it->status());
    return {entries.begin(), entries.end()};
  }
  void FailEachCall(Failing failing = Failing::kOnce) { ExpectRepairSurvives(database, failing); }

  RepairReport report;
};

}  // namespace sepal
