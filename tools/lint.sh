#!/usr/bin/env bash
# clang-tidy and clang-format on the files that differ from a commit.
#   tools/lint.sh [COMMIT]       default: the merge base with origin/main, else the commit before this one
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

require_packages build test lint
base=${1:-$(git merge-base HEAD origin/main 2>/dev/null || true)}
if [ -z "$base" ] || { [ $# -eq 0 ] && [ "$(git rev-parse "$base")" = "$(git rev-parse HEAD)" ]; }; then base=HEAD~1; fi

mapfile -t changed < <({ git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'
  git ls-files --others --exclude-standard -- '*.cc' '*.h'; } | sort -u)
if [ ${#changed[@]} -eq 0 ]; then
  say "nothing differs from $base"
  exit 0
fi
say "${#changed[@]} files differ from $base"

status=0
for file in "${changed[@]}"; do
  clang-format-14 --dry-run --Werror "$file" || status=1
done
cmake -G Ninja -S . -B build/lint -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++-14 \
  -DSEPAL_WERROR=ON -DSEPAL_BUILD_PYTHON=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DSEPAL_COMPILE_APART=ON >/dev/null
# Headers are seen through the sources that include them (HeaderFilterRegex in .clang-tidy).
for file in "${changed[@]}"; do
  if [[ $file == *.cc ]] && grep -q "$PWD/$file\"" build/lint/compile_commands.json; then
    say "$file"
    clang-tidy-14 --quiet -p build/lint "$file" || status=1
  fi
done
exit "$status"
