#!/usr/bin/env bash
# How much of the engine do the tests reach? Builds everything with Clang's source-based coverage, runs the tests, and
# prints the branches that were taken, for each room and for those files that hold what is trusted most: what reads
# bytes from files, the log, the manifest and recovery. What counts: tools/coverage.py.
#   tools/coverage.sh                      build, run, print
#   tools/coverage.sh --files db/act       of the last run: each file whose path matches
#   tools/coverage.sh --missed REGEX       of the last run: every branch of these files that was never taken
#   tools/coverage.sh --missed             the same of the trusted files
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

build=build/coverage
tests=(util_test table_test db_format_test db_state_test db_decide_test db_act_test db_engine_test model_test
  corruption_test kernel_test differential_test reliability_test tools_test fuzz_test c_test)

trusted='^(util/(coding|compression|paths)|table/(block_cursor|block_view|block_source|index_page_view|filter'
trusted+='|table_format|table_reader|table_salvage|table_verify)|db/format/[a-z_]*|db/act/(log|manifest)_[a-z_]*'
trusted+='|db/engine/(opening|repair|repair_data))\.(cc|h)$'

measure() {
  local launcher test
  require_packages build test
  mapfile -t launcher < <(ccache_arguments)
  ccache_environment "$PWD"
  cmake --preset coverage "${launcher[@]}" >/dev/null
  cmake --build "$build" --target "${tests[@]}" kernel_writer -- --quiet || fail "the build failed"
  rm -rf "$build/profiles"
  # One program after the other, its runs added up in files of its own (%m): in the unity builds of two programs functions
  # of the same name may be of different files.
  for test in "${tests[@]}"; do
    LLVM_PROFILE_FILE=$PWD/$build/profiles/$test.%2m.profraw ctest --test-dir "$build" -j "$(nproc)" --output-on-failure \
      -R "\.$test(\.|$)" >"$build/ctest.$test.log" || {
      tail -n 40 "$build/ctest.$test.log"
      fail "$test failed"
    }
    llvm-profdata-14 merge -sparse -o "$build/profiles/$test.profdata" "$build/profiles/$test".*.profraw
    llvm-cov-14 export -instr-profile="$build/profiles/$test.profdata" "$build/tests/$test" >"$build/profiles/$test.json"
  done
}

counts() { python3 tools/coverage.py "$@" "$build"/profiles/*.json; } # arguments of coverage.py

case ${1:-} in
  '')
    measure
    counts rooms .
    echo
    counts files "$trusted"
    ;;
  --files) counts files "${2:?a regular expression}" ;;
  --missed) counts missed "${2:-$trusted}" ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
