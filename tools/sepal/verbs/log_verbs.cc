// sepal manifest dump|check and sepal wal dump: what the manifest and the logs say.
#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "db/format/value_reference.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/compression.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/retry_beside_writer.h"

namespace sepal::tools {

namespace {

nlohmann::json SchemaJson(const FamilySchema& schema) {
  nlohmann::json row = {{"column_family_id", schema.family.value()}};
  if (!schema.merge_operator.empty()) row["merge_operator"] = BytesJson(schema.merge_operator);
  if (schema.ttl_millis > 0) row["ttl_millis"] = schema.ttl_millis;
  if (!schema.filter.empty()) row["filter"] = BytesJson(schema.filter);
  for (const FilterEpoch& epoch : schema.filter_epochs) {
    row["filter_epochs"].push_back({{"sequence", epoch.sequence.value()}, {"epoch", BytesJson(epoch.epoch)}});
  }
  if (schema.history_millis > 0) {
    row["history_millis"] = schema.history_millis;
    row["history_floor"] = schema.history_floor.value();
    row["history_begun"] = schema.history_begun.value();
  }
  return row;
}

nlohmann::json EditJson(const VersionEdit& edit) {
  nlohmann::json line = nlohmann::json::object();
  if (edit.database_id) line["database_id"] = Hex64(*edit.database_id);
  if (edit.hash_seed) line["hash_seed"] = Hex64(*edit.hash_seed);
  if (edit.next_file_number) line["next_file_number"] = edit.next_file_number->value();
  if (edit.last_sequence) line["last_sequence"] = edit.last_sequence->value();
  if (edit.min_log_number) line["min_log_number"] = edit.min_log_number->value();
  for (const ColumnFamilyCreation& created : edit.created_families) {
    line["created_column_families"].push_back({{"id", created.id.value()},
                                               {"name", BytesJson(created.name)},
                                               {"comparator", created.comparator_name},
                                               {"equal_means_identical", created.equal_means_identical}});
  }
  if (edit.features.Has(Feature::kExpiry)) line["expires"] = true;
  if (edit.clock_floor) {
    line["clock_floor"] = {{"now_millis", edit.clock_floor->now_millis},
                           {"removed_millis", edit.clock_floor->removed_millis}};
  }
  for (const std::string& name : edit.dropped_snapshots) line["dropped_snapshots"].push_back(BytesJson(name));
  for (const KeptSnapshot& kept : edit.created_snapshots) {
    line["created_snapshots"].push_back({{"name", BytesJson(kept.name)},
                                         {"sequence", kept.sequence.value()},
                                         {"created_millis", kept.created_millis},
                                         {"expires_millis", kept.expires_millis}});
  }
  for (const FamilySchema& schema : edit.schemas) line["schemas"].push_back(SchemaJson(schema));
  for (const KeptOptions& kept : edit.kept_options) {
    line["kept_options"].push_back({{"column_family_id", kept.family.value()}, {"fields", ToHex(kept.fields)}});
  }
  for (const ColumnFamilyId id : edit.dropped_families) line["dropped_column_family_ids"].push_back(id.value());
  for (const FlushedThrough& flushed : edit.flushed_through) {
    line["flushed_through"].push_back(
        {{"column_family_id", flushed.family.value()}, {"sequence", flushed.sequence.value()}});
  }
  for (const HistoryFloor& floor : edit.history_floors) {
    line["history_floors"].push_back(
        {{"column_family_id", floor.family.value()}, {"sequence", floor.sequence.value()}});
  }
  for (const RemovedTable& removed : edit.removed_tables) {
    line["removed_tables"].push_back(
        {{"column_family_id", removed.family.value()}, {"level", removed.level}, {"number", removed.number.value()}});
  }
  for (const AddedTable& added : edit.added_tables) line["added_tables"].push_back(TableJson(added));
  if (edit.closed_log) {
    line["closed_log"] = {{"number", edit.closed_log->number.value()}, {"bytes", edit.closed_log->length_bytes}};
  }
  return line;
}

class ManifestDumpVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    uint64_t edits = 0;
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_, [&](const VersionEdit& edit) {
                       if (json) {
                         nlohmann::json line = EditJson(edit);
                         line.update(JsonRow());
                         line["edit"] = edits;
                         io.out << ToLine(line) << "\n";
                       } else {
                         io.out << "edit " << edits << "\n" << Indented(ToString(edit));
                       }
                       ++edits;
                       return absl::OkStatus();
                     }));
    const ManifestRecovery& manifest = tree.manifest;
    if (json) {
      nlohmann::json line = JsonHead();
      line["file"] = ManifestFileName(manifest.number);
      line["database_id"] = Hex64(manifest.database_id);
      line["bytes"] = manifest.length_bytes;
      line["edits"] = edits;
      line["torn"] = manifest.torn;
      io.out << ToLine(line) << "\n";
      return absl::OkStatus();
    }
    io.out << absl::StrFormat("%s: %s, %s, database %s\n", ManifestFileName(manifest.number), Counted(edits, "edit"),
                              HumanBytes(manifest.length_bytes), Hex64(manifest.database_id));
    if (!manifest.torn.empty()) io.out << "incomplete end, never acknowledged: " << manifest.torn << "\n";
    return absl::OkStatus();
  }

 private:
  static std::string Indented(const std::string& lines) {
    std::istringstream in(lines);
    std::string out;
    for (std::string line; std::getline(in, line);) out += "  " + line + "\n";
    return out;
  }

  Place place_;
};

class ManifestCheckVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(Tree tree, ReadTree(place_));
    for (absl::Status status = CheckTables(tree); !status.ok(); status = CheckTables(tree)) {
      ASSIGN_OR_RETURN(Tree now, ReadTree(place_));
      // A live writer has changed the tree meanwhile, or nobody has.
      const bool changed = now.manifest.number != tree.manifest.number || now.manifest.edits != tree.manifest.edits;
      if (!changed) return status;
      tree = std::move(now);
    }
    const std::vector<AddedTable> tables = tree.Tables();
    if (json) {
      nlohmann::json line = JsonHead();
      line["file"] = ManifestFileName(tree.manifest.number);
      line["tables"] = tables.size();
      line["column_families"] = nlohmann::json::array();
      for (const auto& [id, family] : tree.families) {
        line["column_families"].push_back({{"id", id.value()}, {"name", BytesJson(family.created.name)}});
      }
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: %s: %s, %s, %s, each there with its size\n",
                                ManifestFileName(tree.manifest.number), io.paint.Good("ok"),
                                Counted(tree.manifest.edits, "edit"), Counted(tree.families.size(), "column family"),
                                Counted(tables.size(), "table"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckTables(const Tree& tree) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                     ToolFiles()->OpenDirectory(place_.directory, /*create=*/false));
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
    std::map<std::string, uint64_t> sizes;
    for (const DirectoryEntry& entry : listing) sizes[entry.name] = entry.size_bytes;
    for (const AddedTable& added : tree.Tables()) {
      const std::string file = TableFileName(added.table.number);
      const auto it = sizes.find(file);
      if (it == sizes.end()) {
        return absl::DataLossError(absl::StrFormat("%s/%s: the table is missing", place_.directory, file));
      }
      if (it->second != added.table.size_bytes) {
        return Damaged(place_.directory + "/" + file, 0, "size of the table", std::to_string(added.table.size_bytes),
                       std::to_string(it->second));
      }
    }
    return absl::OkStatus();
  }

  Place place_;
};

class WalDumpVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_flag("--values", values_, "Print values too");
    app->add_flag("--hex", hex_, "Print keys and values in hexadecimal");
    app->add_flag("--batches", batches_only_, "Print a line for each batch, not for each update");
  }

  absl::Status Run(const Streams& io) override {
    // Beside a live writer logs are flushed, removed and used again: what is left is looked at anew, without what was
    // printed already. Damage stays what it is.
    SequenceNumber next;
    const absl::StatusOr<LogRecovery> logs = RetryBesideWriter([&] { return Dump(io.out, &next); });
    if (absl::IsAborted(logs.status())) return Overtaken(logs.status(), place_);
    RETURN_IF_ERROR(logs.status());
    PrintSummary(*logs, io.out);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<LogRecovery> Dump(std::ostream& out, SequenceNumber* next) const {
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    return ReadLogs(tree, [&](SequenceNumber first, std::string_view batch) -> absl::Status {
      if (first < *next) return absl::OkStatus();
      *next = first.next();
      return PrintBatch(first, batch, out);
    });
  }

  absl::Status PrintBatch(SequenceNumber first, std::string_view batch, std::ostream& out) const {
    RETURN_IF_ERROR(CheckBatch(batch));
    if (batches_only_) {
      if (json) {
        nlohmann::json line = JsonRow();
        line["sequence"] = first.value();
        line["updates"] = BatchCount(batch);
        line["bytes"] = batch.size();
        out << ToLine(line) << "\n";
      } else {
        out << absl::StrFormat("batch at seq:%d, %s, %s\n", first.value(), Counted(BatchCount(batch), "update"),
                               HumanBytes(batch.size()));
      }
      return absl::OkStatus();
    }
    BatchReader reader(batch);
    BatchEntry entry;
    for (SequenceNumber sequence = first; reader.Next(&entry); sequence = sequence.next()) {
      json ? PrintEntryJson(sequence, entry, out) : PrintEntry(sequence, entry, out);
    }
    return reader.status();
  }

  static std::string HowStored(const ValueReference& reference) {
    if (!reference.compressed()) return "";
    return absl::StrFormat(", %d as %s,", reference.stored_bytes, Name(reference.codec));
  }

  void PrintEntry(SequenceNumber sequence, const BatchEntry& entry, std::ostream& out) const {
    const auto shown = [&](std::string_view bytes) { return hex_ ? ToHex(bytes) : Escaped(bytes); };
    out << absl::StrFormat("seq:%d, family:%d, type:%s '%s'", sequence.value(), entry.family.value(), Name(entry.kind),
                           shown(entry.key));
    std::string_view value = entry.value;
    if (const auto expiry = TakeExpiry(entry.kind, &value)) out << absl::StrFormat(" until %d ms", *expiry);
    if (const auto reference = ReferenceOf(entry.kind, entry.value)) {
      out << absl::StrFormat(" (%d bytes%s at %d of %s)", reference->value_bytes(), HowStored(*reference),
                             reference->offset, ValueFileName(reference->file));
    } else if (HasValue(entry.kind)) {
      out << (values_ ? " => '" + shown(value) + "'" : absl::StrFormat(" (%d bytes)", value.size()));
    }
    out << "\n";
  }

  void PrintEntryJson(SequenceNumber sequence, const BatchEntry& entry, std::ostream& out) const {
    nlohmann::json line = JsonRow();
    line["sequence"] = sequence.value();
    line["column_family_id"] = entry.family.value();
    line["kind"] = std::string(Name(entry.kind));
    line["key"] = BytesJson(entry.key);
    std::string_view value = entry.value;
    if (const auto expiry = TakeExpiry(entry.kind, &value)) line["expires_at_millis"] = *expiry;
    const auto reference = ReferenceOf(entry.kind, entry.value);
    line["value_bytes"] = reference.has_value() ? reference->value_bytes() : value.size();
    if (reference.has_value()) {
      line["value_file"] = ValueFileName(reference->file);
      line["value_offset"] = reference->offset;
      line["value_stored_bytes"] = reference->stored_bytes;
      line["value_compression"] = std::string(Name(reference->codec));
    } else if (values_ && HasValue(entry.kind)) {
      line["value"] = BytesJson(value);
    }
    out << ToLine(line) << "\n";
  }

  void PrintSummary(const LogRecovery& logs, std::ostream& out) const {
    if (json) {
      nlohmann::json line = JsonHead();
      line["batches"] = logs.batches;
      line["last_sequence"] = logs.last_sequence.value();
      line["dropped_bytes"] = logs.dropped_bytes;
      line["torn"] = logs.torn;
      line["logs"] = nlohmann::json::array();
      for (const RecoveredLog& log : logs.logs) {
        line["logs"].push_back({{"file", log.name}, {"begin", log.start.value()}, {"end", log.end.value()}});
      }
      out << ToLine(line) << "\n";
      return;
    }
    for (const RecoveredLog& log : logs.logs) {
      out << absl::StrFormat("%s: %s of records\n", log.name, HumanBytes(log.end.value() - log.start.value()));
    }
    out << absl::StrFormat("%s, last sequence %d\n", Counted(logs.batches, "batch"), logs.last_sequence.value());
    if (!logs.torn.empty()) out << "incomplete end of the log, never acknowledged as durable: " << logs.torn << "\n";
  }

  Place place_;
  bool values_ = false, hex_ = false, batches_only_ = false;
};

}  // namespace

std::vector<VerbEntry> LogVerbs() {
  return {
      {"manifest dump", "print the edits of the newest manifest", "manifest dump /var/lib/app",
       MakeVerb<ManifestDumpVerb>},
      {"manifest check", "check the manifest, and that its tables exist with the right sizes",
       "manifest check /var/lib/app", MakeVerb<ManifestCheckVerb>},
      {"wal dump", "print the updates in the write-ahead logs", "wal dump /var/lib/app --values",
       MakeVerb<WalDumpVerb>},
  };
}

}  // namespace sepal::tools
