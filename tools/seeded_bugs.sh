#!/usr/bin/env bash
# Do the harnesses find bugs? Puts each of the bugs of tests/seeded_bugs into a scratch copy of the tree, builds it, and
# runs the harness that the patch names (`# Found by: HARNESS`) until it finds something.
#   tools/seeded_bugs.sh --check        only: does every patch apply?
#   tools/seeded_bugs.sh --all          all of them
#   tools/seeded_bugs.sh 03 12-logs     those whose names begin so
#   tools/seeded_bugs.sh --two          two of those that are found quickly (`# Quick: yes`), others for each commit
#   SEPAL_SEEDED_SECONDS=300            the time that a harness has (default 120)
#   SEPAL_SEEDED_DIR=/tmp/seeded        the scratch copy (default build/seeded); kept, so that the next run is quicker
# Ends with `N seeded bugs: F found, M missed`; exit status 1 if one was missed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh
root=$PWD
seconds=${SEPAL_SEEDED_SECONDS:-120}
scratch=${SEPAL_SEEDED_DIR:-$root/build/seeded}

all_patches() { find tests/seeded_bugs -name '*.patch' | sort; }
field() { sed -n "s/^# $1: //p" "$2" | head -n 1; }

check() {
  local patch count=0
  while read -r patch; do
    if [ -z "$(field Class "$patch")" ] || [ -z "$(field 'Found by' "$patch")" ]; then
      fail "$patch does not say its class and what finds it"
    fi
    patch --dry-run --batch --silent -p1 -F0 -d "$root" <"$patch" >/dev/null ||
      fail "$patch does not apply: bring it up to date with the code that it changes"
    count=$((count + 1))
  done < <(all_patches)
  if [ "$count" -lt 25 ]; then fail "only $count seeded bugs"; fi
  echo "seeded_bugs: $count patches apply"
}

copy_tree() {
  mkdir -p "$scratch/tree"
  # Only changed files are written, so that little is rebuilt.
  { git ls-files -z --cached --others --exclude-standard 2>/dev/null ||
    find . -path ./build -prune -o -type f -printf '%P\0'; } |
    while IFS= read -r -d '' file; do
      if [ -f "$file" ] && ! cmp -s "$file" "$scratch/tree/$file"; then
        mkdir -p "$scratch/tree/$(dirname "$file")"
        cp "$file" "$scratch/tree/$file"
      fi
    done
  (cd "$scratch/tree" && find . -path ./build -prune -o -type f -print0) |
    while IFS= read -r -d '' file; do
      if [ ! -e "$file" ]; then rm "$scratch/tree/$file"; fi
    done
}

build() {
  cmake --build "$scratch/tree/build/release" --target reliability -- --quiet -j "${SEPAL_SEEDED_JOBS:-$(nproc)}" >"$scratch/build.log" 2>&1 || {
    tail -n 20 "$scratch/build.log" >&2
    return 1
  }
}

configure() {
  local launcher
  mapfile -t launcher < <(ccache_arguments)
  ccache_environment "$scratch/tree"
  # As the release preset, in the same place, so that ccache knows what did not change.
  (cd "$scratch/tree" && cmake --preset release "${launcher[@]}" -DSEPAL_BUILD_BENCH=OFF) >"$scratch/cmake.log" 2>&1 || {
    cat "$scratch/cmake.log" >&2
    fail "cmake failed"
  }
}

# Prints `found` or `missed`.
try() { # patch
  local harness status=0 started=$SECONDS
  harness=$(field 'Found by' "$1")
  patch --batch --silent -p1 -F0 -d "$scratch/tree" <"$1" >/dev/null
  if build; then
    "$scratch/tree/build/release/tools/reliability" run "$harness" --seconds "$seconds" --case-seconds 60 >"$scratch/run.log" 2>&1 ||
      status=$?
  else
    status=2
  fi
  patch --batch --silent -R -p1 -F0 -d "$scratch/tree" <"$1" >/dev/null
  case $status in
    0) echo "missed" ;;
    2) echo "broken" ;;
    *) echo "found" ;;
  esac
  printf '%-48s %s by %s in %d s: %s\n' "$(basename "$1" .patch)" \
    "$(case $status in 0) echo MISSED ;; 2) echo BROKEN ;; *) echo found ;; esac)" "$harness" $((SECONDS - started)) \
    "$(grep -m 1 -E '^FAILED|^the case|^.*check failed' "$scratch/run.log" || true)" >&2
}

case ${1:-} in
  --check) check ;;
  '' | -h | --help) sed -n '2,10p' "$0" ;;
  *)
    mapfile -t patches < <(all_patches)
    if [ "$1" = --two ]; then
      mapfile -t patches < <(all_patches | xargs grep -lx '# Quick: yes')
      turn=$(git rev-list --count HEAD 2>/dev/null || date +%j)
      patches=("${patches[$((10#$turn * 2 % ${#patches[@]}))]}" "${patches[$(((10#$turn * 2 + 1) % ${#patches[@]}))]}")
    elif [ "$1" != --all ]; then
      chosen=()
      for name in "$@"; do
        for patch in "${patches[@]}"; do
          if [[ $(basename "$patch") == "$name"* ]]; then chosen+=("$patch"); fi
        done
      done
      patches=("${chosen[@]}")
      if [ ${#patches[@]} -eq 0 ]; then fail "there is no such seeded bug"; fi
    fi
    copy_tree
    configure
    build || fail "the tree itself does not build"
    found=0
    for patch in "${patches[@]}"; do
      if [ "$(try "$patch")" = found ]; then found=$((found + 1)); fi
    done
    echo "${#patches[@]} seeded bugs: $found found, $((${#patches[@]} - found)) missed"
    [ "$found" -eq ${#patches[@]} ]
    ;;
esac
