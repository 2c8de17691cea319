#!/usr/bin/env bash
# Makes the reference of the public interface, build/docs/html/index.html, out of the headers' comments. A warning is an
# error. Installs Doxygen where it is missing.
#   tools/docs.sh [OUTPUT]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/packages.sh
source tools/packages.sh
require_packages docs
output=${1:-build/docs}
mkdir -p "$output"
{ cat docs/Doxyfile && printf 'OUTPUT_DIRECTORY = %s\n' "$output"; } | doxygen -
say "$output/html/index.html"
