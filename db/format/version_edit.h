// A change of the database's tables, families and other state: the payload of an edit record in the manifest.
//
// As bytes: fields (fields.h), in any order. Numbers within a field are varints unless noted; "bytes" are a varint
// length and the bytes; each field must be consumed exactly.
//
// | tag | field                | content                                                                            |
// |-----|----------------------|------------------------------------------------------------------------------------|
// | 2   | database id          | fixed64; random, the same in every file of the database                            |
// | 4   | hash seed            | fixed64; the seed of filters of new tables                                         |
// | 6   | next file number     | no file with this number or a larger one was ever created                          |
// | 8   | last sequence        | at least as large as any sequence number in a table                                |
// | 10  | minimum log number   | logs below it are not needed; the log with this number exists                      |
// | 12  | column family created| id varint32, name bytes, comparator name bytes, byte 1 if equal keys are identical |
// | 14  | column family dropped| id varint32                                                                        |
// | 16  | flushed through      | id varint32, sequence: the family's updates up to it are in tables                 |
// | 18  | table added          | id varint32, level, number, run, size, table id fixed64, footer checksum fixed64,  |
// |     |                      | smallest bytes, largest bytes (internal keys), lowest sequence, highest sequence,  |
// |     |                      | entries, tombstones, raw bytes, creation time                                      |
// | 20  | table removed        | id varint32, level, number                                                         |
// | 22  | log closed           | number, length in bytes: the log was closed cleanly and synced up to that length   |
// | 24  | features             | a set of bits: the features that the database uses. A reader refuses a bit that it |
// |     |                      | does not know. A bit is written before its first use. 1: merges, 2: range deletes, |
// |     |                      | 4: expiring puts, 8: filters of compactions, 16: named snapshots, 32: value files, |
// |     |                      | 64: chunked values, 128: compressed values in value files, 256: a system family     |
// |     |                      | (system_row.h), which has the id 0xFFFFFFFF and the empty name, 512: keys longer   |
// |     |                      | than 64 KiB, 1024: histories                                                       |
// | 26  | table added          | as in 18, where the two keys are the range of everything in the table; then        |
// |     |                      | fields. Known are 1, which may be skipped: the range of keys that have entries of  |
// |     |                      | their own (two internal keys, bytes), if it differs; 2: a sequence number. What a  |
// |     |                      | range tombstone at or below it hides in the table, a newer one hides too; 3, which |
// |     |                      | may be skipped: a sequence number. What the family's filter refuses at the epoch   |
// |     |                      | then is not in the table; and 5, which may be skipped: a time in milliseconds since|
// |     |                      | 1970 by which all puts of the table have expired; and 6: for each value file that  |
// |     |                      | its references are to, ascending, at least one: number, values, bytes. Written only|
// |     |                      | with fields                                                                        |
// | 27  | kept options         | id varint32, fields (kept_options.h); written only if there are any                |
// | 28  | column family schema | id varint32, fields: the meaning of its data. Known is 2, bytes: the name of the   |
// |     |                      | merge operator; 4: the time to live in milliseconds; 6, bytes: the name of the     |
// |     |                      | filter; 8: its epochs, from the oldest: for each a sequence number, more than      |
// |     |                      | the one before and at most kMaxSequenceNumber, and at most 64 bytes; and 10: for   |
// |     |                      | how many milliseconds, more than 0, it keeps its history, and two sequence numbers:|
// |     |                      | the floor of that, and where it began. Written only if there are any               |
// | 29  | log directory        | bytes: where the logs lie; bytes: where the database lay then; fields, of which    |
// |     |                      | none is known. Written only if the logs do not lie beside the tables. Each         |
// |     |                      | manifest has it in its first edit, or not at all                                   |
// | 30  | snapshot created     | name bytes; a sequence number; two times in milliseconds since 1970: when it was   |
// |     |                      | created, and when it expires (0: never); fields, of which none is known            |
// | 32  | snapshot dropped     | name bytes                                                                         |
// | 36  | clock floor          | two times in milliseconds since 1970: the greatest that anybody took for now, and  |
// |     |                      | the greatest up to which jobs removed what had expired. Written only with          |
// |     |                      | expiring puts                                                                      |
// | 40  | history floor        | id varint32, sequence: what only readers below it would see may be gone from the   |
// |     |                      | family, which keeps its history                                                    |
//
// Levels are 0 .. kMaxLevels - 1 (sepal/statistics.h). Tags 2 to 10, 22, 29 and 36 occur at most once in an edit.
// Removals of an edit apply before its additions, so that a table may move between levels, and drops of snapshots
// before creations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/features.h"
#include "db/format/table_metadata.h"
#include "sepal/statistics.h"
#include "util/base/numbers.h"

namespace sepal {

struct ColumnFamilyCreation {
  ColumnFamilyId id;
  std::string name;
  std::string comparator_name;
  bool equal_means_identical = false;
  friend bool operator==(const ColumnFamilyCreation&, const ColumnFamilyCreation&) = default;
};

struct FlushedThrough {
  ColumnFamilyId family;
  SequenceNumber sequence;
  friend bool operator==(const FlushedThrough&, const FlushedThrough&) = default;
};

// Raises the FamilySchema::history_floor of a family that keeps its history.
struct HistoryFloor {
  ColumnFamilyId family;
  SequenceNumber sequence;
  friend bool operator==(const HistoryFloor&, const HistoryFloor&) = default;
};

struct AddedTable {
  ColumnFamilyId family;
  int level = 0;
  TableMetadata table;
  friend bool operator==(const AddedTable&, const AddedTable&) = default;
};

struct RemovedTable {
  ColumnFamilyId family;
  int level = 0;
  FileNumber number;
  friend bool operator==(const RemovedTable&, const RemovedTable&) = default;
};

struct ClosedLog {
  FileNumber number;
  uint64_t length_bytes = 0;  // the header sector included
  friend bool operator==(const ClosedLog&, const ClosedLog&) = default;
};

// The options that a family was last opened with, if they differ from the defaults.
struct KeptOptions {
  ColumnFamilyId family;
  std::string fields;  // kept_options.h
  friend bool operator==(const KeptOptions&, const KeptOptions&) = default;
};

// A family's filter is called with this epoch from its sequence number on (sepal/compaction_filter.h).
struct FilterEpoch {
  SequenceNumber sequence;
  std::string epoch;
  friend bool operator==(const FilterEpoch&, const FilterEpoch&) = default;
};

// The meaning of a family's data, beyond its order.
struct FamilySchema {
  ColumnFamilyId family;
  std::string merge_operator = {};  // its name; empty: none
  uint64_t ttl_millis = 0;          // of its puts; 0: they do not expire
  std::string filter = {};          // its name; empty: none
  // Ascending; none: the filter has refused nothing so far. Those that no reader needs any more are left out.
  std::vector<FilterEpoch> filter_epochs = {};
  uint64_t history_millis = 0;        // for how long what was overwritten is kept; 0: no history
  SequenceNumber history_floor = {};  // with a history: as of any number from here on the family can be read
  SequenceNumber history_begun = {};  // the floor when it began: since then there are time marks (time_mark.h)
  bool empty() const { return merge_operator.empty() && ttl_millis == 0 && filter.empty() && history_millis == 0; }
  // Later readers may read the family as of any number above the result, which is at most `last`.
  SequenceNumber SettledThrough(SequenceNumber last) const {
    return history_millis > 0 && history_floor < last ? history_floor : last;
  }
  friend bool operator==(const FamilySchema&, const FamilySchema&) = default;
};

// The directory of logs that do not lie beside the tables, so that openings need not name it again. The second path
// reveals that a database was copied or moved: the logs at the first may then be those of the original.
struct KeptLogDirectory {
  std::string logs;
  std::string database;
  friend bool operator==(const KeptLogDirectory&, const KeptLogDirectory&) = default;
};

// The progress of the clock by which puts expire, in milliseconds since 1970. It goes back only when the wall clock is
// accepted (DB::AcceptClock): the newest edit counts.
struct ClockFloor {
  uint64_t now_millis = 0;      // the greatest time that was used as "now"
  uint64_t removed_millis = 0;  // the greatest up to which jobs removed what had expired
  friend bool operator==(const ClockFloor&, const ClockFloor&) = default;
};

// A snapshot that the database keeps until it is dropped. Everything up to its sequence number that was logged is
// durable before the edit is.
struct KeptSnapshot {
  std::string name;
  SequenceNumber sequence;
  uint64_t created_millis = 0;
  uint64_t expires_millis = 0;  // 0: never
  friend bool operator==(const KeptSnapshot&, const KeptSnapshot&) = default;
};

struct VersionEdit {
  std::optional<uint64_t> database_id;
  std::optional<uint64_t> hash_seed;
  std::optional<FileNumber> next_file_number;
  std::optional<SequenceNumber> last_sequence;
  std::optional<FileNumber> min_log_number;
  std::vector<ColumnFamilyCreation> created_families;
  std::vector<KeptOptions> kept_options;
  std::vector<FamilySchema> schemas;
  // The features that the database uses, or is going to use; those of the edit itself need not be among them.
  Features features;
  std::optional<ClockFloor> clock_floor;
  std::vector<KeptSnapshot> created_snapshots;
  std::vector<std::string> dropped_snapshots;
  std::vector<ColumnFamilyId> dropped_families;
  std::vector<FlushedThrough> flushed_through;
  std::vector<HistoryFloor> history_floors;
  std::vector<AddedTable> added_tables;
  std::vector<RemovedTable> removed_tables;
  std::optional<ClosedLog> closed_log;
  std::optional<KeptLogDirectory> log_directory;

  void EncodeTo(std::string* out) const;
  std::string Encode() const;
  // `DataLoss` for bytes that are not an edit, `FailedPrecondition` for one that only a newer library knows.
  static absl::StatusOr<VersionEdit> Decode(std::string_view bytes);
  friend bool operator==(const VersionEdit&, const VersionEdit&) = default;
};

// Returns several lines for people to read.
std::string ToString(const VersionEdit& edit);

}  // namespace sepal
