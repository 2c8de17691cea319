#!/usr/bin/env bash
# Tests databases on a real Ceph cluster, which it starts on this machine and stops.
#   tools/rados_test.sh [--torture SECONDS] [--build DIRECTORY]
# Needs a build with sepal::rados (build/release unless told) and Ceph's daemons (the group `rados` of tools/packages.sh);
# without them it prints the reason and ends with exit status 77, as skipped.
# With --torture, writers are killed, frozen and taken over for SECONDS more, while OSDs and monitors are killed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

torture=20
build=build/release
while [ $# -gt 0 ]; do
  case $1 in
    --torture) torture=${2:?--torture needs seconds}; shift 2 ;;
    --build) build=${2:?--build needs a directory}; shift 2 ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
skip() { say "skipped: $*"; exit 77; }
for program in ceph-mon ceph-mgr ceph-osd ceph ceph-authtool monmaptool; do
  command -v $program >/dev/null || skip "$program is not installed (apt-get install ${sepal_packages_rados[*]})"
done
[ -x "$build/tests/rados_test" ] && [ -x "$build/tests/rados_writer" ] ||
  skip "$build has no rados_test and rados_writer: configure with librados-dev, and build these two"

work=$(mktemp -d /tmp/sepal_rados_XXXXXX)
cluster() { tests/rados/cluster.sh "$1" "$work/cluster" "${@:2}"; }
writer=
finish() {
  if [ -n "$writer" ] && kill -0 "$writer" 2>/dev/null; then
    kill -CONT "$writer"
    kill -KILL "$writer"
  fi
  cluster stop
  rm -rf "$work"
}
trap finish EXIT

say "starting three monitors and three OSDs"
cluster start
eval "$(cluster env)"
db=torture/db

say "conformance at object sizes of 64, 1000 and 4 MiB, takeovers, links, errors"
timeout 300 "$build/tests/rados_test" --gtest_brief=1

rados_writer() { timeout 120 "$build/tests/rados_writer" "$@"; }
number=0
begin_writer() { # the first put with a sync is there when it returns
  number=$((number + 1))
  "$build/tests/rados_writer" write $db "w$number" "$work/acked.$number" >"$work/said.$number" 2>&1 &
  writer=$!
  local i
  for ((i = 0; i < 600; i++)); do
    if [ -s "$work/acked.$number" ] && [ "$(acked $number)" -gt 0 ]; then return; fi
    kill -0 "$writer" 2>/dev/null || fail "writer $number has ended: $(cat "$work/said.$number")"
    sleep 0.1
  done
  fail "writer $number has put nothing in 60 s"
}
acked() { echo $((10#$(head -c 19 "$work/acked.$1"))); }
check_all() {
  local i
  for ((i = 1; i <= number; i++)); do rados_writer check $db "w$i" "$(acked $i)" >>"$work/checked" || fail "$(tail -n 2 "$work/checked")"; done
}

say "the tools"
at=rados:$SEPAL_RADOS_POOL/tools
sepal=$build/tools/sepal
"$sepal" db put $at/db color green 2>"$work/said.tools"
[ "$("$sepal" db get $at/db color)" = green ] || fail "sepal db get prints another value than was put"
"$sepal" db checkpoint $at/db "$work/copy" >/dev/null
[ "$("$sepal" db get "$work/copy" color)" = green ] || fail "a checkpoint out of the cluster holds another value"
"$sepal" db checkpoint "$work/copy" $at/copy >/dev/null
"$sepal" db verify $at/copy >/dev/null
"$sepal" lsm tree $at/copy >/dev/null
"$build/tools/db_bench" --db=$at/bench --benchmarks=fillrandom,readrandom --num=20000 >"$work/said.bench"
"$build/tools/sst_dump" --file=$at/copy --command=check >"$work/said.dump"
"$sepal" shard create $at/map --databases $at/shards >/dev/null
"$sepal" shard split $at/map m >/dev/null
[ "$("$sepal" shard list $at/map | wc -l)" = 2 ] || fail "a map that was split has other than two shards"
"$sepal" db destroy $at/copy --yes
if "$sepal" db get $at/copy color 2>/dev/null; then fail "a database that was destroyed is there"; fi

say "takeovers of killed, frozen and living writers, for $torture s"
end=$((SECONDS + torture))
rounds=0
while [ $SECONDS -lt $end ] || [ $rounds -lt 3 ]; do
  begin_writer
  sleep "0.$((RANDOM % 10))"
  before=$writer
  case $((rounds % 3)) in
    0) kill -KILL "$before" ;;
    1) kill -STOP "$before" ;;
    2) ;; # it goes on, and is fenced
  esac
  if [ $((rounds % 5)) = 4 ]; then
    cluster kill osd.$((RANDOM % 3))
    cluster kill mon.a
  fi
  rados_writer check $db "w$number" "$(acked $number)" >>"$work/checked" || fail "round $rounds: $(tail -n 2 "$work/checked")"
  kill -CONT "$before" 2>/dev/null || true
  wait "$before" 2>/dev/null || true
  # Nothing was acknowledged to a fenced writer after its last check.
  rados_writer check $db "w$number" "$(acked $number)" >>"$work/checked" || fail "round $rounds: $(tail -n 2 "$work/checked")"
  if [ $((rounds % 3)) != 0 ]; then
    grep -q "taken" "$work/said.$number" || fail "a fenced writer said: $(cat "$work/said.$number")"
  fi
  if [ $((rounds % 5)) = 4 ]; then cluster start; fi
  rounds=$((rounds + 1))
done
writer=
check_all
rados_writer verify $db
say "$rounds takeovers, nothing acknowledged is lost, no object is stray"

say "a pool over its quota"
cluster ceph osd pool set-quota sepal max_bytes 1048576 >/dev/null 2>&1
sleep 10
if rados_writer write quota/db w "$work/acked.quota" 200000 >"$work/said.quota" 2>&1; then fail "a full pool took 40 MB"; fi
cluster ceph osd pool set-quota sepal max_bytes 0 >/dev/null 2>&1
sleep 5
rados_writer check $db w1 "$(acked 1)" >>"$work/checked" || fail "after room: $(tail -n 1 "$work/checked")"
say "it was told: $(head -n 1 "$work/said.quota")"

say "a key that may not fence"
begin_writer
if SEPAL_RADOS_USER=tame SEPAL_RADOS_KEYRING=$work/cluster/tame.keyring rados_writer check $db w1 0 >"$work/said.tame"; then
  fail "client.tame has taken a database over"
fi
grep -q "osd blocklist" "$work/said.tame" || fail "client.tame was told: $(cat "$work/said.tame")"
kill -KILL "$writer"
wait "$writer" 2>/dev/null || true
writer=

say "monitors that do not answer"
for monitor in a b c; do cluster freeze mon.$monitor; done
began=$SECONDS
if rados_writer check $db w1 0 >"$work/said.monitors"; then fail "a database was opened without monitors"; fi
[ $((SECONDS - began)) -lt 60 ] || fail "it took $((SECONDS - began)) s to say that no monitor answers"
for monitor in a b c; do cluster thaw mon.$monitor; done
say "it was told: $(head -n 1 "$work/said.monitors")"
say "ok"
