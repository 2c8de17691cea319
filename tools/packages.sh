# shellcheck shell=bash disable=SC2034
# The Debian packages that Sepal needs, in one place. Sourced by the other scripts.
#   require_packages SET...    installs what is missing of the sets: build, test, peers, lint, docs, disk, gate, rados

sepal_packages_build=(build-essential g++ cmake ninja-build pkg-config libabsl-dev libsnappy-dev liblz4-dev libzstd-dev
  libxxhash-dev liburing-dev libcli11-dev nlohmann-json3-dev libedit-dev)
sepal_packages_test=(ccache libgtest-dev libgmock-dev libbenchmark-dev clang-14 libclang-rt-14-dev llvm-14 lld-14
  chromium doxygen dpkg-dev file fish mandoc python3 python3-dev python3-venv zsh libleveldb-dev
  librocksdb-dev libsqlite3-dev)
sepal_packages_peers=(libleveldb-dev librocksdb-dev liblmdb-dev libbenchmark-dev libbloom-dev)
sepal_packages_lint=(clang-14 clang-tidy-14 clang-format-14 git)
sepal_packages_docs=(doxygen)
sepal_packages_disk=(fio)
# A real Ceph, on this machine: 95 packages with what they need.
sepal_packages_rados=(ceph-mon ceph-mgr ceph-osd ceph-common librados-dev)
sepal_packages_gate=(git python3 valgrind)

say() { printf '== %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "must install packages, but is neither root nor has sudo. As root, run: $*"
  fi
}

package_missing() { ! dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }

require_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "needs Debian 12 (dpkg and apt-get are not here). Install by hand: ${sepal_packages_build[*]}"
  fi
  local set package missing=()
  for set in "$@"; do
    local -n packages="sepal_packages_$set"
    for package in "${packages[@]}"; do
      if package_missing "$package"; then missing+=("$package"); fi
    done
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
    --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# unpack_program PACKAGE PATH DIRECTORY: one program of a package, without installing what else it has and would start.
unpack_program() {
  local program=${2##*/}
  if [ -x "$3/$program" ] || command -v "$program" >/dev/null; then return; fi
  local work
  work=$(mktemp -d)
  if (cd "$work" && apt-get download -q "$1" && dpkg-deb --fsys-tarfile ./*.deb | tar -x -f - "./$2") >"$work/log" 2>&1; then
    mkdir -p "$3"
    mv "$work/$2" "$3/$program"
  else
    say "$program could not be had out of $1: tests that need it are skipped"
  fi
  rm -rf "$work"
}

# ccache_environment TREE: settings with which ccache recognises objects in another directory, also with precompiled
# headers.
ccache_environment() {
  export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
}

# CMake arguments that put ccache before the compiler where there is one.
ccache_arguments() {
  if command -v ccache >/dev/null; then printf '%s\n' -DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
}
