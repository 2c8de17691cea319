#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test:
#   release      GCC, optimised: all tests
#   asan-ubsan   Clang with AddressSanitizer and UndefinedBehaviorSanitizer: all tests
#   tsan         Clang with ThreadSanitizer: the concurrent tests
# Ends with CTest's own summary over the three. Can be run again, and then reuses the builds.
#   tools/test.sh [-R REGEX ...]     further arguments go to CTest
#   SEPAL_TEST_CONFIGURATIONS=release tools/test.sh     one configuration alone
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

require_packages build test
unpack_program prometheus usr/bin/promtool build/programs
export PATH=$PATH:$PWD/build/programs
jobs=$(nproc)
mapfile -t launcher < <(ccache_arguments)
ccache_environment "$PWD"

# SEPAL_TEST_CONFIGURATIONS, where set, names those to build and run.
read -r -a configurations <<<"${SEPAL_TEST_CONFIGURATIONS:-release asan-ubsan tsan}"
for configuration in "${configurations[@]}"; do
  say "building $configuration"
  cmake --preset "$configuration" "${launcher[@]}" >"build-$configuration.log" 2>&1 || {
    cat "build-$configuration.log" >&2
    fail "cmake failed for $configuration"
  }
  rm -f "build-$configuration.log"
  started=$SECONDS
  cmake --build "build/$configuration" -j "$jobs" -- --quiet || fail "the $configuration build failed"
  say "built $configuration in $((SECONDS - started)) s"
done

# One CTest over the three build trees.
mkdir -p build/all
: >build/all/CTestTestfile.cmake
for configuration in "${configurations[@]}"; do
  printf 'subdirs("../%s")\n' "$configuration" >>build/all/CTestTestfile.cmake
done

# Prints each test that was skipped, with its reason, and how many they were.
report_skipped() {
  local log=build/all/Testing/Temporary/LastTest.log
  [ -f "$log" ] || return 0
  awk '/: Skipped$/ { getline reason; count++; sub(/: Skipped$/, ""); print "skipped: " $0 ": " reason }
       END { print count + 0 " tests were skipped" }' "$log"
}

say "running the tests"
# CTest's summary is held back until the skipped tests are listed, so that it comes last.
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
status=0
ctest --test-dir build/all -j "$jobs" --output-on-failure --no-tests=error "$@" 2>&1 |
  awk -v summary="$summary" '/^[0-9]+% tests passed/ { held = 1 } { if (held) print > summary; else { print; fflush() } }' ||
  status=$?
report_skipped
cat "$summary"
exit "$status"
