#!/usr/bin/env bash
# Shows that quickstart.sh does not touch existing files in the directory that it is given, and that its tour of the
# tools succeeds.
#   tools/quickstart_test.sh TOOLS
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

# The tour runs to its end with the tools that were built, on an index of which every stanza is told apart.
cat >"$tree/bin/apt-cache" <<'INDEX'
#!/bin/sh
printf 'Package: bash\nVersion: 5\n\n'
for i in $(seq 1500); do printf 'Package: package%d\nVersion: %d\n\n' "$i" "$i"; done
INDEX
chmod +x "$tree/bin/apt-cache"
if ! PATH="$tree/bin:$PATH" bash "${script%.sh}_tour.sh" "$1" "$tree/tour" 20000 >"$tree/tour.out" 2>&1; then
  printf 'FAILED: the tour of the tools\n'
  cat "$tree/tour.out"
  exit 1
fi
for expected in '1501 stanzas' 'filluniquerandom  ' '  names: ' '  db_bench: filters saved'; do
  grep -q -- "$expected" "$tree/tour.out" || { printf 'FAILED: the tour says nothing of "%s"\n' "$expected"; cat "$tree/tour.out"; exit 1; }
done
