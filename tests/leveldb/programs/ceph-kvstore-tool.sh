#!/usr/bin/env bash
# Ceph's tool for its key-value stores: every verb, on a database of its own and on one that was LevelDB's.
. "$(dirname "$0")/common.sh"

# What the engine logs goes to standard error, with the time.
store() {
  local status=0
  echo "> $*"
  on ceph-kvstore-tool leveldb "$@" 2>errors || status=$?
  sed -E '/^[0-9T:.+-]+ [0-9a-f]+ +-?[0-9]+ leveldb: /d; /^$/d' errors
  echo "exit $status"
}
fill() {
  mkdir "$1"
  store "$1" destructive-repair | tail -n 1
  printf 'some bytes\0of a file' >value
  local i
  for i in $(seq "$2"); do store "$1" set numbers "$i" ver "$((i * i))"; done
  store "$1" set texts long in value
  store "$1" set texts short in /dev/null
}
verbs() {
  store "$1" list
  store "$1" list texts
  store "$1" list-crc
  store "$1" dump
  store "$1" exists texts
  store "$1" exists texts long
  store "$1" exists texts nothing
  store "$1" get texts long
  store "$1" get texts long out got
  cmp value got
  store "$1" get texts nothing
  store "$1" crc texts long
  # The size of the whole is one of files.
  store "$1" get-size texts long | grep texts
  store "$1" store-crc crcs
  store "$1" rm numbers 2
  store "$1" rm-prefix nothing
  store "$1" compact
  store "$1" compact-prefix numbers
  store "$1" compact-range texts a z
  store "$1" list-crc
  # How long it took is in its last line.
  store "$1" store-copy "$2" 2 leveldb | sed -E 's|^ts = [^,]*, ||; /duration/d'
  store "$1" rm-prefix numbers
  store "$1" destructive-repair
  store "$1" list
  store "$2" list-crc
}

if [ "$1" = prepare ]; then
  cd "$shared"
  fill store 5
  exit
fi
cp "$shared/value" .
store absent list
fill store 6 >/dev/null
verbs store copy
cp -r "$shared/store" theirs
bring_over theirs ceph-kvstore-tool leveldb theirs list
verbs theirs copy_of_theirs
