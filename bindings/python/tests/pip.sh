#!/usr/bin/env bash
# Installs a build under a new prefix, has pip install the package beside it without a network, and runs its tests.
#   pip.sh BUILD_DIRECTORY CMAKE PYTHON COMPILER         exit status 77: skipped
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1 cmake=$2 python=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  printf 'python_pip: Skipped\n%s makes no environment with pip (python3-venv)\n' "$python"
  exit 77
fi
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
"$python" -m venv "$work/env"
pc=$(find "$work/prefix" -name sepal.pc)

# Without the library it says what is missing.
mkdir "$work/nothing"
if PKG_CONFIG_LIBDIR=$work/nothing "$work/env/bin/pip" install --no-index "$source" >"$work/log" 2>&1 ||
  ! grep -q 'libsepal is not installed' "$work/log"; then
  echo "a missing libsepal is not told:"
  cat "$work/log"
  exit 1
fi

# As a source package, too. Nothing is fetched: there is no index.
(cd "$source" && PKG_CONFIG_PATH=${pc%/*} "$python" -c "import build_backend; build_backend.build_sdist('$work')")
for from in "$source" "$work"/sepal-*.tar.gz; do
  PKG_CONFIG_PATH=${pc%/*} CXX=$compiler "$work/env/bin/pip" install --no-index --force-reinstall "$from" \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
# Not by a pipe: pip takes it for an error when grep has seen enough.
"$work/env/bin/pip" show --files sepal >"$work/log"
grep -q 'sepal/py.typed' "$work/log"
cd "$source/tests"
PYTHONDONTWRITEBYTECODE=1 "$work/env/bin/python" -m unittest test_basics test_stubs test_mapping
"$work/env/bin/pip" uninstall -y sepal >/dev/null
