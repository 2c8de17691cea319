#!/usr/bin/env bash
# Fuzzes the parsers, and the database as a whole, with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
#   tools/fuzz.sh TARGET|all [--seconds N] [--runs N]
#   tools/fuzz.sh list
# Each target runs for N seconds (60 if neither is given), or until it has been executed N times.
# It goes on from tests/fuzz/corpus/TARGET and from what earlier runs found (build/fuzz/corpus/TARGET). An input that
# fails is left in build/fuzz/found/TARGET-*: put it into tests/fuzz/corpus/TARGET with the fix. Ends with one line for
# each target: executions, and whether it found something; exit status 1 if any did.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

targets=()
for source in tests/fuzz/*_fuzz.cc; do targets+=("$(basename "$source" _fuzz.cc)"); done
usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }
[ $# -ge 1 ] || { usage; exit 2; }
wanted=$1
seconds=
runs=-1
shift
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    --runs) runs=${2:?--runs needs a number}; shift 2 ;;
    *) usage; exit 2 ;;
  esac
done
[ -n "$seconds" ] || { [ "$runs" = -1 ] && seconds=60 || seconds=0; }
case $wanted in
  list) printf '%s\n' "${targets[@]}"; exit 0 ;;
  all) ;;
  *)
    [ -f "tests/fuzz/${wanted}_fuzz.cc" ] || fail "no such target: $wanted; there are: ${targets[*]}"
    targets=("$wanted")
    ;;
esac

mapfile -t launcher < <(ccache_arguments)
ccache_environment "$PWD"
cmake --preset fuzz "${launcher[@]}" >/dev/null
ninja -C build/fuzz --quiet "${targets[@]/%/_fuzz}" || fail "the build failed"

status=0
mkdir -p build/fuzz/found
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  log=build/fuzz/$target.log
  mkdir -p "$corpus"
  found=no
  "build/fuzz/tests/${target}_fuzz" -max_total_time="$seconds" -runs="$runs" -timeout=30 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/found/$target-" "$corpus" "tests/fuzz/corpus/$target" \
    >"$log" 2>&1 || found=yes
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '%-14s %10s executions, found something: %s\n' "$target" "${executions:-?}" "$found"
  if [ "$found" = yes ]; then
    status=1
    grep -aE '^(SUMMARY|==|.*ERROR|artifact_prefix|.*check failed)' "$log" | head -5 || true
  fi
done
exit "$status"
