#include "tools/sst_dump/sst_dump_commands.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "db/format/batch_format.h"
#include "sepal/file_system.h"
#include "table/file/table_writer.h"
#include "tools/files/tool_files.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"
#include "util/base/compression.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

std::string Quoted(std::string_view bytes, bool hex) {
  return absl::StrFormat("'%s'", hex ? ToHex(bytes) : Escaped(bytes));
}

nlohmann::json Header(const std::string& path, const SstDumpOptions& options) {
  return {{"schema_version", kJsonSchemaVersion}, {"file", path}, {"command", options.command_name}, {"ok", true}};
}

// The file's bytes are taken as they are when it is opened.
absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(const std::string& path) {
  const std::filesystem::path whole(path);
  std::error_code error;
  if (!IsRemote(path) && !std::filesystem::exists(whole, error))
    return absl::NotFoundError(absl::StrCat(path, " does not exist"));
  const std::string directory_name = whole.has_parent_path() ? whole.parent_path().string() : ".";
  ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory, ToolFiles()->OpenDirectory(directory_name, /*create=*/false));
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, directory->OpenForRead(whole.filename().string()));
  TableReaderOptions options;
  options.name = path;
  return TableReader::Open(std::move(options), std::move(file));
}

// Visits the entries that --from, --to, --prefix and --read_num select.
template <class Visit>
absl::Status ForEachEntry(const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options, Visit visit) {
  std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, TableReader::ReadKind::kUserNoFill);
  std::string first = options.from.value_or("");
  if (options.prefix.has_value() && *options.prefix > first) first = *options.prefix;
  if (first.empty()) {
    it->SeekToFirst();
  } else {
    it->Seek({first, kFirstTrailer});
  }
  for (uint64_t n = 0; it->Valid() && n < options.read_num; ++n, it->Next()) {
    const std::string_view key = it->key().user_key;
    if (options.to.has_value() && key >= *options.to) break;
    if (options.prefix.has_value() && !key.starts_with(*options.prefix)) break;
    RETURN_IF_ERROR(visit(it->key(), it->value()));
  }
  return it->status();
}

bool WholeFile(const SstDumpOptions& options) {
  return !options.from && !options.to && !options.prefix && options.read_num == UINT64_MAX;
}

absl::Status Check(const std::string& path, const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options,
                   std::ostream& out) {
  uint64_t entries = 0;
  const KeyOrder order;
  InternalKey last;
  RETURN_IF_ERROR(ForEachEntry(reader, options, [&](const InternalKeyView& key, std::string_view) {
    if (entries > 0 && !order.Less(last.view(), key)) {
      return Damaged(path, 0, absl::StrCat("entry ", entries), "a key after " + ToString(last.view()), ToString(key));
    }
    last.user_key.assign(key.user_key);
    last.trailer = key.trailer;
    ++entries;
    return absl::OkStatus();
  }));
  const uint64_t expected = reader->properties().entries;
  if (WholeFile(options) && entries != expected) {
    return Damaged(path, 0, "number of entries", std::to_string(expected), std::to_string(entries));
  }
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["entries"] = entries;
    out << ToLine(line) << "\n";
  } else {
    out << path << ": ok, " << entries << " entries in order\n";
  }
  return absl::OkStatus();
}

void PrintEntry(const InternalKeyView& key, std::string_view value, bool hex, std::ostream& out) {
  const auto expiry = TakeExpiry(key.kind(), &value);
  out << Quoted(key.user_key, hex) << " seq:" << key.sequence().value() << ", type:" << Name(key.kind());
  if (expiry.has_value()) out << " until " << *expiry << " ms";
  out << " => " << Quoted(value, hex) << "\n";
}

absl::Status Scan(const std::string& path, const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options,
                  std::ostream& out) {
  uint64_t entries = 0;
  RETURN_IF_ERROR(ForEachEntry(reader, options, [&](const InternalKeyView& key, std::string_view value) {
    if (options.json) {
      nlohmann::json line = JsonRow();
      line["key"] = BytesJson(key.user_key);
      line["sequence"] = key.sequence().value();
      line["kind"] = std::string(Name(key.kind()));
      if (const auto expiry = TakeExpiry(key.kind(), &value)) line["expires_at_millis"] = *expiry;
      line["value"] = BytesJson(value);
      out << ToLine(line) << "\n";
    } else {
      PrintEntry(key, value, options.output_hex, out);
    }
    ++entries;
    return absl::OkStatus();
  }));
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["entries"] = entries;
    out << ToLine(line) << "\n";
  }
  return absl::OkStatus();
}

std::string HandleText(BlockHandle handle) { return absl::StrFormat("offset %d, size %d", handle.offset, handle.size); }

std::string FooterText(const Footer& footer) {
  return absl::StrFormat(
      "Footer:\n  root: %s\n  range deletes: %s\n  guard: %s\n  properties: %s\n  table id: %s\n  hash seed: %s\n"
      "  hashable: %d\n",
      HandleText(footer.root), HandleText(footer.range_deletes), HandleText(footer.guard),
      HandleText(footer.properties), Hex64(footer.table_id), Hex64(footer.hash_seed), footer.hashable);
}

absl::Status PrintBlocks(const TableReader& reader, bool hex, std::ostream& out) {
  return reader.ForEachBlock([&](const TableReader::BlockInfo& block) {
    out << absl::StrFormat("  %s: %d entries, %d keys, %d bytes %s, last %s%s\n", HandleText(block.handle),
                           block.entries, block.keys, block.raw_bytes, Name(block.compression),
                           Quoted(block.separator.user_key, hex), block.continuation ? ", continuation" : "");
    return absl::OkStatus();
  });
}

absl::Status LayoutJson(const std::string& path, const TableReader& reader, const SstDumpOptions& options,
                        std::ostream& out) {
  RETURN_IF_ERROR(reader.ForEachBlock([&](const TableReader::BlockInfo& block) {
    const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                                 {"offset", block.handle.offset},
                                 {"stored_bytes", block.handle.size},
                                 {"raw_bytes", block.raw_bytes},
                                 {"compression", std::string(Name(block.compression))},
                                 {"entries", block.entries},
                                 {"keys", block.keys},
                                 {"continuation", block.continuation},
                                 {"last_key", BytesJson(block.separator.user_key)}};
    out << ToLine(line) << "\n";
    return absl::OkStatus();
  }));
  const auto part = [](BlockHandle handle) {
    return nlohmann::json{{"offset", handle.offset}, {"bytes", handle.size}};
  };
  const Footer& footer = reader.footer();
  nlohmann::json line = Header(path, options);
  line["root"] = part(footer.root);
  line["range_deletes"] = part(footer.range_deletes);
  line["guard"] = part(footer.guard);
  line["properties"] = part(footer.properties);
  line["bytes"] = reader.file_size();
  out << ToLine(line) << "\n";
  return absl::OkStatus();
}

absl::Status Layout(const std::string& path, const TableReader& reader, const SstDumpOptions& options,
                    std::ostream& out) {
  if (options.json) return LayoutJson(path, reader, options, out);
  out << path << ": " << reader.file_size() << " bytes\n" << FooterText(reader.footer()) << "Data blocks:\n";
  return PrintBlocks(reader, options.output_hex, out);
}

absl::Status Raw(const std::string& path, const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options,
                 std::ostream& out) {
  const std::string dump_path = std::filesystem::path(path).stem().string() + "_dump.txt";
  std::ofstream dump(dump_path, std::ios::binary);
  if (!dump) return absl::PermissionDeniedError(absl::StrCat(dump_path, " cannot be written"));
  dump << FooterText(reader->footer()) << "\n" << FormatProperties(*reader, options.output_hex) << "\nData blocks:\n";
  RETURN_IF_ERROR(PrintBlocks(*reader, options.output_hex, dump));
  dump << "\nEntries:\n";
  RETURN_IF_ERROR(ForEachEntry(reader, options, [&](const InternalKeyView& key, std::string_view value) {
    PrintEntry(key, value, options.output_hex, dump);
    return absl::OkStatus();
  }));
  dump.close();
  if (!dump) {
    std::error_code unused;
    std::filesystem::remove(dump_path, unused);
    return absl::ResourceExhaustedError(
        absl::StrCat(dump_path, " cannot be written completely and was removed; free some space and try again"));
  }
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["written_to"] = dump_path;
    out << ToLine(line) << "\n";
  } else {
    out << path << ": written to " << dump_path << "\n";
  }
  return absl::OkStatus();
}

absl::Status Verify(const std::string& path, const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options,
                    std::ostream& out) {
  RETURN_IF_ERROR(reader->Verify());
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["bytes"] = reader->file_size();
    out << ToLine(line) << "\n";
  } else {
    out << path << ": ok, every checksum of " << HumanBytes(reader->file_size()) << ", filters and index agree\n";
  }
  return absl::OkStatus();
}

// Counts the bytes written to it.
class CountingFile final : public WritableFile {
 public:
  absl::Status Append(std::string_view bytes) override {
    size_ += bytes.size();
    return absl::OkStatus();
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    size_ = std::max(size_, offset + bytes.size());
    return absl::OkStatus();
  }
  absl::Status Allocate(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status SyncRange(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Truncate(uint64_t size) override {
    size_ = size;
    return absl::OkStatus();
  }
  uint64_t Size() const override { return size_; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  uint64_t size_ = 0;
};

absl::Status Recompress(const std::string& path, const std::shared_ptr<TableReader>& reader,
                        const SstDumpOptions& options, std::ostream& out) {
  for (CompressionKind kind : options.compression_types) {
    CountingFile file;
    TableWriterOptions writer_options;
    writer_options.compression = kind;
    writer_options.block_bytes = options.block_size;
    writer_options.filter_policy = reader->properties().filter_policy;
    writer_options.hash_seed = reader->footer().hash_seed;
    TableWriter writer(writer_options, &file);
    const uint64_t begin = NowNanos();
    RETURN_IF_ERROR(ForEachEntry(
        reader, options, [&](const InternalKeyView& key, std::string_view value) { return writer.Add(key, value); }));
    if (writer.entries() == 0) return absl::InvalidArgumentError("no entries are left by --from, --to and --prefix");
    RETURN_IF_ERROR(writer.Finish());
    const double seconds = static_cast<double>(NowNanos() - begin) / 1e9;
    const double share = static_cast<double>(writer.FileSize()) / static_cast<double>(reader->file_size());
    if (options.json) {
      nlohmann::json line = Header(path, options);
      line["compression"] = std::string(Name(kind));
      line["block_bytes"] = options.block_size;
      line["bytes"] = writer.FileSize();
      line["seconds"] = seconds;
      out << ToLine(line) << "\n";
    } else {
      out << absl::StrFormat("%s: %-6s block size %s: %9s (%.1f %% of the file), %.3f s\n", path, Name(kind),
                             SizeText(options.block_size), HumanBytes(writer.FileSize()), 100 * share, seconds);
    }
  }
  return absl::OkStatus();
}

void Identify(const std::string& path, const TableReader& reader, const SstDumpOptions& options, std::ostream& out) {
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["type"] = "sepal table";
    line["table_id"] = Hex64(reader.footer().table_id);
    line["bytes"] = reader.file_size();
    out << ToLine(line) << "\n";
  } else {
    out << path << ": a Sepal table of " << HumanBytes(reader.file_size()) << ", id " << Hex64(reader.footer().table_id)
        << ", written by version " << reader.properties().writer_version << "\n";
  }
}

// The rate at which an absent key passes a filter with this share of its bits set.
double RateOf(double fill, int probes) { return probes == 0 ? 1 : std::pow(fill, probes); }

struct FilterTotals {
  uint64_t blocks = 0, keys = 0, lane_bits = 0, disk_bytes = 0, raw_bytes = 0;
  double rate_sum = 0;  // weighted by keys

  double LaneRate() const { return keys == 0 ? 1 : rate_sum / static_cast<double>(keys); }
};

absl::Status FilterBlocks(const TableReader& reader, const SstDumpOptions& options, FilterTotals* totals,
                          std::ostream& out) {
  return reader.ForEachBlock([&](const TableReader::BlockInfo& block) {
    const double rate = RateOf(block.lane_fill, block.lane_probes);
    if (options.json) {
      const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                                   {"block", totals->blocks},
                                   {"offset", block.handle.offset},
                                   {"keys", block.keys},
                                   {"entries", block.entries},
                                   {"lane_bits", block.lane_bits},
                                   {"probes", block.lane_probes},
                                   {"fill", block.lane_fill},
                                   {"expected_rate", rate},
                                   {"last_key", BytesJson(block.separator.user_key)}};
      out << ToLine(line) << "\n";
    } else {
      out << absl::StrFormat("block %5d at %9d: %4d keys, %5d bits, k %2d, fill %.3f, expected rate %.5f\n",
                             totals->blocks, block.handle.offset, block.keys, block.lane_bits, block.lane_probes,
                             block.lane_fill, rate);
    }
    ++totals->blocks;
    totals->keys += block.keys;
    totals->lane_bits += block.lane_bits;
    totals->disk_bytes += block.handle.size;
    totals->raw_bytes += block.raw_bytes;
    totals->rate_sum += rate * block.keys;
    return absl::OkStatus();
  });
}

absl::Status Filters(const std::string& path, const std::shared_ptr<TableReader>& reader, const SstDumpOptions& options,
                     std::ostream& out) {
  FilterTotals totals;
  RETURN_IF_ERROR(FilterBlocks(*reader, options, &totals, out));
  ASSIGN_OR_RETURN(std::optional<TableReader::GuardInfo> guard, reader->ReadGuardInfo());
  const double guard_rate = guard.has_value() ? RateOf(guard->fill, guard->probes) : 1;
  const double keys = static_cast<double>(std::max<uint64_t>(1, totals.keys));
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["blocks"] = totals.blocks;
    line["keys"] = totals.keys;
    line["lane_bits"] = totals.lane_bits;
    line["lane_expected_rate"] = totals.LaneRate();
    if (guard.has_value()) {
      line["guard"] = {{"bits", guard->bits},
                       {"keys", guard->keys},
                       {"probes", guard->probes},
                       {"fill", guard->fill},
                       {"expected_rate", guard_rate}};
    }
    line["expected_rate"] = totals.LaneRate() * guard_rate;
    out << ToLine(line) << "\n";
    return absl::OkStatus();
  }
  out << absl::StrFormat("lanes: %d blocks, %d keys, %d bits, %.2f bits a key, expected rate %.5f\n", totals.blocks,
                         totals.keys, totals.lane_bits, static_cast<double>(totals.lane_bits) / keys,
                         totals.LaneRate());
  if (guard.has_value()) {
    out << absl::StrFormat("guard: %d keys, %d bits, %.2f bits a key, k %d, fill %.3f, expected rate %.5f\n",
                           guard->keys, guard->bits, static_cast<double>(guard->bits) / keys, guard->probes,
                           guard->fill, guard_rate);
  } else {
    out << "guard: none\n";
  }
  out << absl::StrFormat(
      "both: an absent key reaches a block with probability %.6f; blocks %d bytes before "
      "compression, %d after\n",
      totals.LaneRate() * guard_rate, totals.raw_bytes, totals.disk_bytes);
  return absl::OkStatus();
}

absl::Status RunCommand(const std::string& path, const std::shared_ptr<TableReader>& reader,
                        const SstDumpOptions& options, std::ostream& out) {
  switch (options.command) {
    case SstCommand::kCheck:
      return Check(path, reader, options, out);
    case SstCommand::kScan:
      return Scan(path, reader, options, out);
    case SstCommand::kRaw:
      return Raw(path, reader, options, out);
    case SstCommand::kVerify:
      return Verify(path, reader, options, out);
    case SstCommand::kRecompress:
      return Recompress(path, reader, options, out);
    case SstCommand::kFilters:
      return Filters(path, reader, options, out);
    case SstCommand::kIdentify:
      Identify(path, *reader, options, out);
      return absl::OkStatus();
    case SstCommand::kLayout:
      return Layout(path, *reader, options, out);
    case SstCommand::kNone:
      return absl::OkStatus();
  }
  return absl::InternalError("unreachable");
}

}  // namespace

absl::Status DumpTable(const std::string& path, const SstDumpOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(std::shared_ptr<TableReader> reader, OpenTable(path));
  RETURN_IF_ERROR(RunCommand(path, reader, options, out));
  if (!options.show_properties) return absl::OkStatus();
  if (options.json) {
    nlohmann::json line = Header(path, options);
    line["properties"] = PropertiesJson(*reader);
    out << ToLine(line) << "\n";
  } else {
    out << FormatProperties(*reader, options.output_hex);
  }
  return absl::OkStatus();
}

// The parts of a table that must be in the cache so that an absent key reads nothing from the disk, and a present one
// only its block.
double MetadataBitsPerKey(const TableReader& reader) {
  const TableProperties& p = reader.properties();
  const uint64_t bytes = p.guard_bytes + p.leaf_page_bytes + reader.footer().root.size;
  return static_cast<double>(8 * bytes) / static_cast<double>(std::max<uint64_t>(1, p.distinct_keys));
}

nlohmann::json PropertiesJson(const TableReader& reader) {
  const TableProperties& p = reader.properties();
  const auto user_key = [](const std::string& bytes) {
    const std::optional<InternalKeyView> key = ParseInternalKey(bytes);
    return key.has_value() ? BytesJson(key->user_key) : nlohmann::json();
  };
  return {{"entries", p.entries},
          {"tombstones", p.tombstones},
          {"distinct_keys", p.distinct_keys},
          {"raw_key_bytes", p.raw_key_bytes},
          {"raw_value_bytes", p.raw_value_bytes},
          {"data_blocks", p.data_blocks},
          {"data_bytes", p.data_bytes},
          {"leaf_pages", p.leaf_pages},
          {"leaf_page_bytes", p.leaf_page_bytes},
          {"lane_bytes", p.lane_bytes},
          {"guard_bytes", p.guard_bytes},
          {"metadata_bits_per_key", MetadataBitsPerKey(reader)},
          {"bytes", reader.file_size()},
          {"lowest_sequence", p.lowest_sequence.value()},
          {"highest_sequence", p.highest_sequence.value()},
          {"smallest_key", user_key(p.smallest_key)},
          {"largest_key", user_key(p.largest_key)},
          {"comparator", p.comparator_name},
          {"column_family", BytesJson(p.column_family_name)},
          {"column_family_id", p.column_family_id},
          {"creation_unix_micros", p.creation_unix_micros},
          {"lane_bits_per_key", p.filter_policy.lane_bits_per_key},
          {"guard_bits_per_key", p.filter_policy.guard_bits_per_key},
          {"lane_probes", p.lane_probes},
          {"guard_probes", p.guard_probes},
          {"expected_filter_rate", p.expected_filter_rate},
          {"compression", IsKnownCompression(static_cast<uint8_t>(p.compression))
                              ? std::string(Name(static_cast<CompressionKind>(p.compression)))
                              : std::to_string(p.compression)},
          {"block_bytes", p.block_bytes},
          {"writer_version", p.writer_version},
          {"database_id", Hex64(p.database_id)},
          {"table_id", Hex64(reader.footer().table_id)}};
}

std::string FormatProperties(const TableReader& reader, bool hex) {
  std::string text = "Properties:\n";
  const nlohmann::json properties = PropertiesJson(reader);
  for (const auto& [name, value] : properties.items()) {
    std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    if (name == "column_family") shown = Escaped(reader.properties().column_family_name);
    if (name == "smallest_key" || name == "largest_key") {
      const TableProperties& p = reader.properties();
      const auto key = ParseInternalKey(name == "smallest_key" ? p.smallest_key : p.largest_key);
      shown = key.has_value() ? Quoted(key->user_key, hex) : "";
    }
    if ((name == "bytes" || name.ends_with("_bytes")) && value.is_number_unsigned() && value.get<uint64_t>() >= 1024) {
      shown += " (" + HumanBytes(value.get<uint64_t>()) + ")";
    }
    if (name == "creation_unix_micros") {
      shown += " (" + absl::FormatTime(absl::FromUnixMicros(value.get<int64_t>()), absl::UTCTimeZone()) + ")";
    }
    absl::StrAppendFormat(&text, "  %s: %s\n", name, shown);
  }
  return text;
}

}  // namespace sepal::tools
