// Reads whose answers are text. Each is asked of the engine in every way that it has, and all ways must agree: a
// disagreement stands in the answer, so that no script can expect it by accident.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sepal/db.h"

namespace sepal {

// A key or value as scripts write it: bytes that are not printable as \xNN, and 8 or more equal ones at the end as
// "v*8".
std::string Shown(std::string_view bytes);
// The bytes that such a text means.
std::string Meant(std::string_view text);

// "OK", or the code and what went wrong.
std::string ShownStatus(const absl::Status& status);
// Without what another run or another format has differently: process numbers and checksums.
std::string Masked(const std::string& text);

// By both forms of Get, MultiGet, KeyMayExist, an iterator and ExplainGet: "a=1, no b".
std::string GetText(DB* db, const ColumnFamily& family, const std::vector<std::string>& keys,
                    const ReadOptions& options);
// By one MultiGet.
std::string MultiGetText(DB* db, const ColumnFamily& family, const std::vector<std::string>& keys,
                         const ReadOptions& options);
// Forward and backward, and by a seek to each entry from either side: "a=1, c=3", of many entries the number, the
// first, the last and a hash of all.
std::string ScanText(Iterator* iterator);
// One move after another (first, last, next, prev, seek KEY, before KEY) and where each leads; "here" moves nowhere.
std::string WalkText(Iterator* iterator, const std::vector<std::string>& moves);
// The tables of a family by level and run, the newest first, each with its key range and entries.
std::string TreeText(DB* db, const ColumnFamily& family);

}  // namespace sepal
