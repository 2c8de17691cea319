#!/usr/bin/env bash
# Shows that quickstart.sh leaves alone what lies in the directory that it is given.
set -eu
script=$(cd "$(dirname "$0")" && pwd)/quickstart.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
# Nothing is built or installed, whatever the script does.
mkdir -p "$tree/bin" "$tree/home/bench"
printf '#!/bin/sh\n' | tee "$tree/bin/cmake" "$tree/bin/apt-get" >/dev/null
chmod +x "$tree/bin/cmake" "$tree/bin/apt-get"
printf 'mine' >"$tree/home/bench/mine"

status=0
output=$(PATH="$tree/bin:$PATH" bash "$script" "$tree/home" 2>&1) || status=$?
if [ "$status" -ne 1 ] || ! grep -q 'home is not empty: name a new directory' <<<"$output" ||
  [ "$(cat "$tree/home/bench/mine")" != mine ] || [ "$(ls "$tree/home")" != bench ]; then
  printf 'FAILED: a directory that is in use: status %d, %s\n' "$status" "$output"
  exit 1
fi
