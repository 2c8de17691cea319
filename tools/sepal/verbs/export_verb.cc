// sepal export: the contents of a database, as a new one of another engine.
//
// It is written in NEW.part (tools/sepal/new_part.h), from one view of the database, which may be beside its writer.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/foreign/foreign_database.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/new_part.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr uint64_t kEntriesPerLook = 256;

#ifdef SEPAL_WITH_LEVELDB
absl::StatusOr<std::unique_ptr<ForeignWriter>> CreateForeign(const std::string& directory) {
  return CreateLevelDb(directory);
}
absl::Status DestroyForeign(const std::string& directory) { return DestroyLevelDb(directory); }
#else
absl::Status DestroyForeign(const std::string&) {
  return absl::UnimplementedError("this sepal was built without leveldb: install libleveldb-dev and build it again");
}
absl::StatusOr<std::unique_ptr<ForeignWriter>> CreateForeign(const std::string& directory) {
  return DestroyForeign(directory);
}
#endif

class ExportVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("NEW", new_, "The new database: a new or empty directory")->required();
    app->add_option("--to", engine_, "The other engine")->check(CLI::IsMember({"leveldb"}))->required();
    app->add_option("--family", family_, "The column family to export (default: the only one)");
  }

  absl::Status Run(const Streams& io) override {
    while (new_.size() > 1 && new_.back() == '/') new_.pop_back();
    const NewPart part(new_, "export", DestroyForeign);
    RETURN_IF_ERROR(part.CheckTarget(place_.directory));
    const uint64_t began = NowNanos();
    // Again with a newer view, beside a live writer.
    const absl::Status status = LookAt(place_, [&](DB* db) -> absl::Status {
      RETURN_IF_ERROR(ChooseFamily(*db));
      RETURN_IF_ERROR(part.Remove());
      absl::Status exported = part.Begin();
      if (exported.ok()) exported = ExportInto(part.path(), db, io);
      if (exported.ok()) return part.Finish();
      const absl::Status removed = part.Remove();
      return absl::IsAborted(exported) || !removed.ok() ? exported : WithNothingLeft(exported);
    });
    RETURN_IF_ERROR(status);
    Tell(io.out, static_cast<double>(NowNanos() - began) / 1e9);
    return absl::OkStatus();
  }

 private:
  absl::Status ChooseFamily(DB& db) {
    const std::vector<std::string> names = db.ColumnFamilyNames();
    if (!family_.empty() || names.size() == 1) return FamilyNamed(&db, family_).status();
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has the column families %s, and LevelDB has none: choose one with --family", place_.directory,
        absl::StrJoin(names, ", ", [](std::string* out, const std::string& each) { out->append(Escaped(each)); })));
  }

  absl::Status ExportInto(const std::string& part, DB* db, const Streams& io) {
    entries_ = bytes_ = 0;
    ASSIGN_OR_RETURN(const std::unique_ptr<ForeignWriter> target, CreateForeign(part));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
    ASSIGN_OR_RETURN(const Properties properties, db->GetProperties(*family));
    Progress progress("exported entries", properties.entries, io.err, StandardErrorIsTerminal());
    ReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<Iterator> it = db->NewIterator(*family, options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      RETURN_IF_ERROR(target->Put(it->key(), it->value()));
      bytes_ += it->key().size() + it->value().size();
      if (++entries_ % kEntriesPerLook == 0) progress.Update(entries_);
    }
    RETURN_IF_ERROR(it->status());
    return target->Finish();
  }

  void Tell(std::ostream& out, double seconds) const {
    if (!json) {
      out << absl::StrFormat("%s: %s, %s, in %.1f s\n", new_, Counted(entries_, "entry"), HumanBytes(bytes_), seconds);
      return;
    }
    nlohmann::json line = JsonHead();
    line["directory"] = new_;
    line["to"] = engine_;
    line["family"] = BytesJson(family_.empty() ? "default" : family_);
    line["entries"] = entries_;
    line["bytes"] = bytes_;
    line["seconds"] = seconds;
    out << ToLine(line) << "\n";
  }

  Place place_;
  std::string new_, engine_, family_;
  uint64_t entries_ = 0, bytes_ = 0;
};

}  // namespace

std::vector<VerbEntry> ExportVerbs() {
  return {{"export", "copy a database into a new LevelDB database", "export /var/lib/app /var/lib/new --to leveldb",
           MakeVerb<ExportVerb>}};
}

}  // namespace sepal::tools
