# shellcheck shell=bash
# What the scripts of this directory share. Each is one program of Debian's:
#   PROGRAM.sh prepare SHARED   makes what both sides begin with, on LevelDB, in SHARED
#   PROGRAM.sh run SHARED       uses it, in the current directory, and prints what was seen: nothing that depends on the
#                               time or on the engine's files
# SEPAL names the command `sepal`, and is not set where a program is to run on LevelDB.
set -euo pipefail

# on PROGRAM ARGUMENT...
on() {
  if [ -n "${SEPAL-}" ]; then "$SEPAL" run "$@"; else "$@"; fi
}

# bring_over DIRECTORY PROGRAM...: a database of LevelDB's, which the program is refused on Sepal and does not touch, becomes
# one of Sepal's by the line that is printed. The program prints it, or writes it to the file of REFUSAL; with SILENT=yes
# it does neither.
bring_over() {
  if [ -z "${SEPAL-}" ]; then return; fi
  local directory=$1 before line
  shift
  before=$(files_of "$directory")
  (on "$@" >said 2>&1) 2>aborted || true
  # Minetest breaks long lines.
  line=$(cat said ${REFUSAL-} | sed -E 's/^[0-9: -]+ERROR\[Main\]: //' | tr -d '\n' |
    grep -o "mv '[^']*' '[^']*' && sepal import '[^']*' '[^']*'" | tail -n 1) || true
  if [ -n "${SILENT-}" ]; then line="mv '$directory' '$directory.leveldb' && sepal import '$directory' '$directory.leveldb'"; fi
  if [[ $line != *"$directory.leveldb'" ]]; then
    echo "the program does not say how $directory becomes a database of Sepal's: $line"
    tail -n 20 said
    return 1
  fi
  if [ "$before" != "$(files_of "$directory")" ]; then
    echo "$directory was changed before it was brought over"
    return 1
  fi
  PATH=$(dirname "$SEPAL"):$PATH bash -euc "$line" >/dev/null
}

files_of() { (cd "$1" && find . -type f ! -name LOCK ! -name 'LOG*' -exec sha256sum {} + | sort); }

case ${1-} in
  prepare | run) shared=$(realpath "$2") ;;
  *) sed -n '3,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
