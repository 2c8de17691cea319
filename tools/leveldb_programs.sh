#!/usr/bin/env bash
# Runs programs of Debian's that use LevelDB, each on LevelDB and on Sepal, and compares the results.
#   tools/leveldb_programs.sh [--build DIRECTORY] [--here] [PROGRAM...]
# PROGRAM: litecoind, minetestserver, ceph-kvstore-tool, rime_dict_manager; all of them where none is named. They are
# installed in a temporary copy-on-write view of this machine; that needs root. With --here, the installed ones are run.
# Unavailable programs are skipped, and the reason is printed.
# DIRECTORY is a build with `sepal` and libleveldb.so.1d (build/release unless told). Exit status 1: a program behaved
# differently on Sepal; 77: all were skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh
. tools/overlay_view.sh

declare -A packages=([litecoind]=litecoind [minetestserver]="minetest-server sqlite3" [ceph-kvstore-tool]=ceph-base
  [rime_dict_manager]=librime-bin)
# The paths of programs that contain LevelDB; others are in PATH.
declare -A places=([minetestserver]=/usr/lib/minetest/minetestserver [litecoind]=/usr/lib/litecoin/litecoind)

build=build/release here= inside=
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=${2:?--build needs a directory}; shift 2 ;;
    --here) here=yes; shift ;;
    --inside) inside=yes; shift ;;
    *)
      [[ -v packages[$1] ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
      chosen+=("$1")
      shift
      ;;
  esac
done
[ ${#chosen[@]} -gt 0 ] || chosen=(litecoind minetestserver ceph-kvstore-tool rime_dict_manager)
build=$(realpath "$build") sepal=$build/tools/sepal
[ -x "$sepal" ] && [ -e "$build/lib/sepal/leveldb/libleveldb.so.1d" ] ||
  fail "$build has no tools/sepal or no lib/sepal/leveldb/libleveldb.so.1d: build sepal and sepal_leveldb"
work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_programs.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

# run_inside ARGUMENT...: this script, in a view and in process and mount namespaces of its own, with which both go.
run_inside() {
  export work build
  export -f overlay_view
  unshare --mount --pid --fork --kill-child --propagation private bash -euo pipefail -c '
    overlay_view "$work" 4g 2>"$work/why" || { echo "no view of this machine can be had: $(head -n 1 "$work/why")"; exit 77; }
    # What is installed is not started.
    printf "#!/bin/sh\nexit 101\n" >"$work/view/usr/sbin/policy-rc.d"
    chmod 755 "$work/view/usr/sbin/policy-rc.d"
    umount -l "$work/view/proc" && mount -t proc proc "$work/view/proc"
    for directory in "$PWD" "$build"; do
      mkdir -p "$work/view$directory" && mount --bind "$directory" "$work/view$directory"
    done
    exec chroot "$work/view" "$PWD/tools/leveldb_programs.sh" --inside --build "$build" "$@"' inside "$@"
}

# have PROGRAM: installs it if that is allowed, or says why it is not available.
have() {
  local wanted
  read -r -a wanted <<<"${packages[$1]}"
  if [ -n "$inside" ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io \
      "${wanted[@]}" >"$work/apt" 2>&1 || { echo "apt-get could not install ${wanted[*]}: $(tail -n 1 "$work/apt")"; return 1; }
  fi
  local program=${places[$1]-$(command -v "$1")}
  if [ ! -x "$program" ]; then
    echo "it is not installed (${wanted[*]})"
    return 1
  fi
  if [[ $(ldd "$program" 2>&1) != *'libleveldb.so.1d => /'* ]]; then
    echo "$program does not load libleveldb.so.1d"
    return 1
  fi
}

# compare PROGRAM: runs the same script on both sides, in directories of the same name.
compare() {
  local script=$PWD/tests/leveldb/programs/$1.sh side status=0
  rm -rf "$work/shared" && mkdir "$work/shared"
  (cd "$work/shared" && exec env -u SEPAL "$script" prepare "$work/shared") >"$work/prepared" 2>&1 || {
    tail -n 20 "$work/prepared"
    echo "$1 could not be prepared, on LevelDB"
    return 1
  }
  for side in leveldb sepal; do
    rm -rf "$work/place" && mkdir "$work/place"
    status=0
    (
      cd "$work/place"
      if [ $side = sepal ]; then export SEPAL=$sepal; else unset SEPAL; fi
      exec "$script" run "$work/shared"
    ) >"$work/$side" 2>&1 || status=$?
    echo "the script ended with status $status" >>"$work/$side"
    # Which engine it was.
    grep -rlx Sepal --include=CURRENT "$work/place" >"$work/of_sepal" || true
    if { [ $side = sepal ] && [ ! -s "$work/of_sepal" ]; } || { [ $side = leveldb ] && [ -s "$work/of_sepal" ]; }; then
      tail -n 20 "$work/$side"
      echo "$1 did not run on $side"
      return 1
    fi
  done
  if ! diff "$work/leveldb" "$work/sepal" >"$work/difference"; then
    echo "$1: LevelDB (<) and Sepal (>) differ:"
    head -n 40 "$work/difference"
    return 1
  fi
  if [ "$status" -ne 0 ]; then
    tail -n 20 "$work/sepal"
    return 1
  fi
  echo "$1: the same, $(wc -l <"$work/sepal") lines"
}

if [ -z "$here$inside" ]; then
  if [ "$(id -u)" -ne 0 ]; then
    say "not root: only what is installed is run"
  else
    run_inside "${chosen[@]}"
    exit
  fi
fi
if [ -n "$inside" ]; then apt-get update -q >"$work/apt" 2>&1 || say "apt-get update: $(tail -n 1 "$work/apt")"; fi
same=0 other=0 skipped=0
for program in "${chosen[@]}"; do
  if ! reason=$(have "$program"); then
    say "skipped: $program: $reason"
    skipped=$((skipped + 1))
  elif compare "$program"; then
    same=$((same + 1))
  else
    other=$((other + 1))
  fi
done
echo "$same did the same on Sepal, $other did not, $skipped were skipped"
if [ "$other" -gt 0 ]; then exit 1; fi
if [ "$same" -eq 0 ]; then exit 77; fi
