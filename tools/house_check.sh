#!/usr/bin/env bash
# The rules of the house that no compiler enforces:
#   include     includes run downhill through the rooms, in the order that stands below; headers have `#pragma once`; quoted includes name full paths
#   file        no source file of the product is over 500 lines, no public header or test over 600
#   function    no function of the product is over 60 lines, none of the tests over 80 (on clang-formatted code: from a
#               line at the margin to its `}`)
#   class       no class body is over 300 lines (from its line at the margin to its `};`)
#   primitive   threads and locks only through util/thread/sync.h; no atomic_thread_fence; no -march=native
#   kind        only db/decide/visibility decides the meaning of an entry: elsewhere, kinds of entries are compared only
#               where they are encoded, validated or counted
#   interface   every function of the C interface is called by its tests; everything that is public in C++ is in it under
#               its own name, or under the one in tools/c_names.txt
# Exceptions are in tools/house_exceptions.txt, at most five, as `rule path reason`.
#   tools/house_check.sh [ROOT]        exit status 1 if a rule is broken
set -euo pipefail
root=${1:-$(dirname "$0")/..}
cd "$root"

max_file_lines=500
max_function_lines=60
# Of public headers and tests; of tests.
max_other_file_lines=600
max_test_function_lines=80
max_class_lines=300
exceptions_file=tools/house_exceptions.txt
broken=0

excepted() { # rule path
  [ -f "$exceptions_file" ] && grep -Eq "^$1[[:space:]]+$2[[:space:]]+[^[:space:]]" "$exceptions_file"
}
complain() { # rule path message
  if excepted "$1" "$2"; then return; fi
  printf '%s: %s: %s\n' "$2" "$1" "$3"
  broken=1
}

check_exceptions() {
  [ -f "$exceptions_file" ] || return 0
  local count line rule path reason
  count=$(grep -cEv '^[[:space:]]*(#|$)' "$exceptions_file" || true)
  if [ "$count" -gt 5 ]; then
    printf '%s: %d exceptions, at most 5 are allowed\n' "$exceptions_file" "$count"
    broken=1
  fi
  while read -r line; do
    if [[ $line =~ ^[[:space:]]*(#|$) ]]; then continue; fi
    read -r rule path reason <<<"$line"
    if [ -z "$reason" ]; then
      printf '%s: the exception for %s has no reason\n' "$exceptions_file" "$path"
      broken=1
    fi
    if [ ! -f "$path" ]; then
      printf '%s: the exception of %s names no file: %s\n' "$exceptions_file" "$rule" "$path"
      broken=1
    fi
  done <"$exceptions_file"
}

# Prints `path TAB rule TAB message` for all files in one pass.
check_sources() {
  awk -v max_file="$max_file_lines" -v max_function="$max_function_lines" -v max_class="$max_class_lines" \
    -v max_other_file="$max_other_file_lines" -v max_test_function="$max_test_function_lines" '
    BEGIN {
      # From the ground up: a file includes its own room and those that stand before it.
      count = split("include/sepal include/sepal/simulation util/base util/thread util/memory util/cache util/files util/stats filters sim " \
        "table/key table/block table/filter table/index table/iterate table/file " \
        "db/format db/state/ranges db/state/memtable db/state/version " \
        "db/decide/merge db/decide/visibility db/decide/compaction db/decide/writing db/decide/pacing db/decide/transaction " \
        "db/act/files db/act/manifest db/act/log db/act/jobs " \
        "db/engine/core db/engine/gate db/engine/catalog db/engine/background db/engine/write db/engine/read db/engine/transaction " \
        "db/engine/open db/engine/face db/doctor db/sync db/c file_cache rados shards bindings/python/src bindings/node/src compat/leveldb " \
        "tools/files tools/terminal tools/sst_dump tools/db_bench tools/name_lookup tools/foreign " \
        "tools/sepal tools/sepal/pictures tools/sepal/verbs tools bench tests", rooms, " ")
      for (i = 1; i <= count; i++) ranks[rooms[i]] = i
      ranks["include/sepal/filter"] = ranks["include/sepal"]  # filter.h includes all of it
      ranks["tools"] = ranks["bench"] = ranks["tests"]  # they use each other
    }
    # Of a file: the rank of its room; tests and benchmarks have one for all of their rooms.
    function rank(path, room) {
      room = path
      if (room !~ /\//) return -1
      sub(/\/[^\/]*$/, "", room)
      if (room ~ /^sepal(\/|$)/) room = "include/" room
      if (room ~ /^(tests|bench)\//) sub(/\/.*/, "", room)
      return room in ranks ? ranks[room] : -1
    }
    # Where kinds of entries are named or validated, encoded, or counted.
    function tells_kinds(path) {
      return path ~ /^db\/decide\/visibility\// || path ~ /^table\/(key\/internal_key|block\/block_view)\./ ||
        path ~ /^db\/format\/(batch_format|write_batch|table_metadata)\./ || path ~ /^db\/act\/jobs\/range_table\./ ||
        path ~ /^(db\/state\/memtable\/memtable|table\/block\/block_builder|table\/file\/table_verify)\./
    }
    function product(path) { return path ~ /^(util|filters|table|db|file_cache|shards|bindings)\// }
    function report(rule, message) { print FILENAME "\t" rule "\t" message }
    function end_file(most) {
      if (name == "") return
      most = name ~ /^(include|tests)\// ? max_other_file : max_file
      if (lines > most) print name "\tfile\t" lines " lines, at most " most
      if (name ~ /\.h$/ && !pragma) print name "\tinclude\tthe header has no #pragma once"
    }
    FNR == 1 {
      end_file(); name = FILENAME; pragma = 0; start = 0; raw = 0; margin = 0; body = 0; floor = rank(FILENAME)
      if (floor < 0) report("include", "the order of rooms in tools/house_check.sh does not name this folder")
    }
    { lines = FNR }
    raw { if ($0 ~ /\)[a-zA-Z_]*"/) raw = 0; next }
    /^#pragma once/ { pragma = 1 }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
      if (target !~ /\//) report("include", "line " FNR ": \"" target "\" is not a path from the root")
      if (rank(target) > floor) report("include", "line " FNR ": \"" target "\" stands in a higher room")
      if (target ~ /^(sim|sepal\/simulation)\// && product(FILENAME)) report("include", "line " FNR ": the product knows no simulation")
    }
    {
      code = $0; sub(/\/\/.*/, "", code); gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
      if (FILENAME !~ /^util\/thread\/sync\.(h|cc)$/ &&
          code ~ /std::((recursive_|timed_|shared_)*mutex|condition_variable(_any)?|j?thread|lock_guard|unique_lock|scoped_lock|shared_lock|async|call_once|counting_semaphore|binary_semaphore|latch|barrier)([^a-z_]|$)|absl::(Mutex|CondVar|Notification)|pthread_(mutex|cond|create)|SYS_futex/)
        report("primitive", "line " FNR ": threads and locks only through util/thread/sync.h")
      if (code ~ /atomic_thread_fence/) report("primitive", "line " FNR ": atomic_thread_fence")
      if (FILENAME ~ /^(table|db|tools)\// && !tells_kinds(FILENAME) &&
          code ~ /case ValueKind::|[=!<>]= *ValueKind::|ValueKind::k[A-Za-z]+ *[=!<>]=|IsTombstone\(|kMaxValueKind/)
        report("kind", "line " FNR ": ask MeaningOf (db/decide/visibility/visibility.h) what an entry means")
    }
    /R"[a-zA-Z_]*\(/ && !/\)[a-zA-Z_]*"/ { raw = 1 }
    /^(class|struct) .*\{$/ { body = FNR }
    /^};$/ {
      if (body && FNR - body - 1 > max_class) report("class", "line " body ": " FNR - body - 1 " lines, at most " max_class)
      body = 0
    }
    /^}$/ {
      most = FILENAME ~ /^tests\// ? max_test_function : max_function
      if (start && FNR - start + 1 > most)
        report("function", "line " start ": " FNR - start + 1 " lines, at most " most)
      start = 0; margin = 0; next
    }
    /^(}|#|\/\/|namespace|class|struct|enum|union|extern|using|typedef)/ { start = 0; margin = 0; next }
    /^[^ \t]/ { if (!margin) start = FNR; margin = 1; next }
    { margin = 0 }
    END { end_file() }' "$@"
}

check_exceptions
mapfile -t sources < <(find include util filters sim table db file_cache shards bindings compat tools bench tests \( -name '*.h' -o -name '*.cc' \) -type f 2>/dev/null |
  sort)
if [ ${#sources[@]} -gt 0 ]; then
  while IFS=$'\t' read -r path rule message; do
    complain "$rule" "$path" "$message"
  done < <(check_sources "${sources[@]}")
fi
while IFS= read -r path; do
  complain primitive "$path" "-march=native: choose at run time"
done < <(grep -rlE --include=CMakeLists.txt --include='*.cmake' --include=CMakePresets.json -e '-march=native' . \
  --exclude-dir='build*' --exclude-dir=.git 2>/dev/null | sed 's|^\./||' | sort)

mapfile -t c_headers < <(find include/sepal \( -name 'c.h' -o -name 'c_*.h' \) 2>/dev/null | sort)
# Calls, in declarations and in tests.
calls() { grep -ohE '\bsepal_[a-z0-9_]+\(' "$@" 2>/dev/null | sort -u; }
while IFS= read -r call; do
  complain interface include/sepal/c.h "no test of tests/db/c/c_*.c calls ${call%(}"
done < <(comm -23 <(calls "${c_headers[@]}" /dev/null) <(calls tests/db/c/c_*.c))

# Names of the public methods and fields; set_FIELD where C needs a function to set an option that lasts.
public_names() {
  awk '
    /^(struct|class) / {
      hidden = /^class/
      setter = /^struct (Options|ColumnFamilyOptions|ReadOptions|WriteOptions) / ? "set_" : ""
    }
    /^ public:/ { hidden = 0 }
    /^ (private|protected):/ { hidden = 1 }
    hidden || !/^  ( |  )?[A-Za-z]/ || /^ *(using|return|friend|enum|struct|class)/ { next }
    { line = $0; sub(/ *\/\/.*/, "", line) }
    line ~ /^ +[^=]*[ *&][A-Za-z]+\(/ && line !~ /^ +std::function|operator|~/ {
      sub(/\(.*/, "", line); sub(/.*[ *&]/, "", line); print line; next
    }
    line ~ /^  [a-zA-Z_:<>,()& *0-9]+ [*]?[a-z][a-z0-9_]*( = .*)?;$/ {
      sub(/;$/, "", line)
      while (match(line, /<[^<>]*>/)) line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
      n = split(line, parts, ",")
      for (i = 1; i <= n; i++) {
        sub(/ = .*/, "", parts[i]); sub(/.*[ *]/, "", parts[i])
        if (parts[i] ~ /[^_]$/) print setter parts[i]
      }
    }' "$@" | sort -u
}
plain() { tr -d _ | tr '[:upper:]' '[:lower:]'; }
if [ ${#c_headers[@]} -gt 0 ]; then
  mapfile -t public_headers < <(find include/sepal -name '*.h' -not -name 'c.h' -not -name 'c_*.h' -not -name 'rados.h' -not -name 'shards.h' -not -name 'cached_file_system.h' -not -path '*/simulation/*' | sort)
  words=$(cat "${c_headers[@]}" | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' | grep -oE '[A-Za-z0-9_]+' |
    plain | sort -u)
  while IFS= read -r name; do
    other=$(awk -v name="$name" '$1 == name { print $2 }' tools/c_names.txt 2>/dev/null || true)
    if [ "$other" = - ]; then continue; fi
    if ! grep -qE "$(plain <<<"${other:-$name}")\$" <<<"$words"; then
      complain interface include/sepal/c.h "nothing there is for ${name}${other:+ ($other)}"
    fi
  done < <(public_names "${public_headers[@]}")
fi

if [ "$broken" -eq 0 ]; then echo "house_check: ${#sources[@]} files are in order"; fi
exit "$broken"
