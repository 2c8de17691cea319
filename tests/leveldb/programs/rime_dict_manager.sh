#!/usr/bin/env bash
# The manager of the input method Rime's user dictionaries, each of which is a database.
. "$(dirname "$0")/common.sh"

manage() {
  local status=0
  echo "> $*"
  # What it logs has the time; what it says has not.
  on rime_dict_manager "$@" 2>>log || status=$?
  echo "exit $status"
}
installation() { printf 'distribution_code_name: test\ninstallation_id: here\n' >installation.yaml; }
snapshot() { # NAME TICK
  printf '# Rime user dictionary\n#@/db_name\t%s\n#@/db_type\tuserdb\n#@/rime_version\t1.8.5\n#@/tick\t%s\n#@/user_id\tthere\n' "$1" "$2"
  cat
}
words() {
  local i
  for i in $(seq "$1"); do printf 'ni hao %s \t你好%s\tc=%s d=0.5 t=%s\n' "$i" "$i" $((i % 7 + 1)) "$i"; done
}
show() {
  manage --list
  manage --export "$1" "$1.txt"
  cat "$1.txt"
  manage --backup "$1"
  cat "sync/here/$1.userdb.txt"
}

if [ "$1" = prepare ]; then
  cd "$shared"
  installation
  words 500 | snapshot theirs 500 >theirs.userdb.txt
  manage --restore theirs.userdb.txt
  exit
fi
installation
words 1000 | snapshot ours 1000 >first.userdb.txt
words 1100 | sed 's/c=[0-9]/c=9/' | snapshot ours 2000 >second.userdb.txt
manage --restore first.userdb.txt
show ours
manage --restore second.userdb.txt
printf '世界\tshi jie\t5\n你們\tni men\t2\n' >list.txt
manage --import ours list.txt
show ours
manage --sync
show ours
cp -r "$shared/theirs.userdb" .
# That an opening fails is all that it says; one for writing tries to repair.
SILENT=yes bring_over theirs.userdb rime_dict_manager --import theirs list.txt
show theirs
manage --restore first.userdb.txt
show theirs
