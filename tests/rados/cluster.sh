#!/usr/bin/env bash
# A real Ceph cluster of three monitors, a manager and three OSDs on 127.0.0.1, for tools/rados_test.sh.
#   cluster.sh start DIR            makes it, or starts again what is down, and waits until it is healthy
#   cluster.sh stop DIR             ends its processes and removes DIR
#   cluster.sh env DIR              prints what tests/rados/cluster.h reads, to be evaluated
#   cluster.sh kill|freeze|thaw|begin DIR DAEMON      DAEMON: mon.a, mon.b, mon.c, mgr.x, osd.0, osd.1, osd.2
#   cluster.sh wait DIR             until all OSDs are up and all placement groups are clean
#   cluster.sh ceph DIR ARGS...     the administrator's `ceph`
# Daemons are signalled by the number in DIR/run/DAEMON.pid, and only if their command line names DIR/ceph.conf.
# All waiting ends after CLUSTER_WAIT seconds (120). In all they take about 0.4 GiB of memory when they are new.
set -euo pipefail
umask 077
export LC_ALL=C
unset CEPH_ARGS CEPH_CONF CEPH_KEYRING CEPH_LIB # they would win over ceph.conf
limit=${CLUSTER_WAIT:-120}
verb=${1:?verb}
dir=$(realpath -m "${2:?directory}")
shift 2
conf=$dir/ceph.conf
pool=sepal
coded=sepal-coded # erasure-coded
other=sepal-other # replicated, too
monitors=(a b c)
osds=(0 1 2)
# Unix sockets have short paths.
[ ${#dir} -le 80 ] || { echo "cluster.sh: the path is longer than 80 bytes: $dir" >&2; exit 1; }

fail() { printf 'cluster.sh: %s\n' "$*" >&2; exit 1; }
admin() { timeout 30 ceph -c "$conf" -n client.admin -k "$dir/admin.keyring" --connect-timeout 10 "$@"; }
pid_of() { # daemon
  local pid
  pid=$(cat "$dir/run/$1.pid" 2>/dev/null) || return 1
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF -- "$conf" && printf '%s\n' "$pid"
}
begin() { # daemon
  if pid_of "$1" >/dev/null; then return; fi
  rm -f "$dir/run/$1.asok"
  setsid "ceph-${1%%.*}" -f -i "${1#*.}" -c "$conf" >>"$dir/log/$1.out" 2>&1 </dev/null &
  printf '%s\n' $! >"$dir/run/$1.pid"
}
await() { # what command...
  local what=$1 end=$((SECONDS + limit))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "$what is not there after $limit s; see $dir/log"
    sleep 0.3
  done
}

write_configuration() {
  local port=$((20000 + RANDOM % 8000)) hosts='' id
  for id in "${monitors[@]}"; do hosts+=${hosts:+,}[v2:127.0.0.1:$port] port=$((port + 1)); done
  cat >"$conf" <<END
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = $hosts
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
keyring = $dir/sepal.keyring
run dir = $dir/run
admin socket = $dir/run/\$name.asok
log file = $dir/log/\$name.log
mon cluster log file = $dir/log/cluster.log
crash dir = $dir/log
osd pool default size = 3
osd pool default min size = 2
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
# For the monitors too: with the OSDs alone, one that hangs stays up for Ceph's 20 s.
osd heartbeat interval = 1
osd heartbeat grace = 5
mon max pg per osd = 1000
[client]
admin socket =
log file =
[mon]
mon data = $dir/mon.\$id
keyring = $dir/mon.\$id/keyring
mon allow pool delete = true
mon data avail warn = 2
mon data avail crit = 1
auth allow insecure global id reclaim = false
mon osd reporter subtree level = osd
mon osd min down reporters = 1
mon rocksdb options = write_buffer_size=4194304,compression=kNoCompression
rocksdb cache size = 16777216
mon memory autotune = false
[mgr]
mgr data = $dir/mgr.\$id
keyring = $dir/mgr.\$id/keyring
# Without Python modules it takes a quarter of the memory.
mgr module path = $dir/no-modules
mgr initial modules =
mgr stats period = 2
mgr tick period = 1
[osd]
osd data = $dir/osd.\$id
keyring = $dir/osd.\$id/keyring
bluestore block create = true
bluestore block size = 8589934592
bluestore block path =
bluestore cache autotune = false
bluestore cache size = 33554432
# Ceph's own would be 1 GiB of write buffers.
bluestore rocksdb options = compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,write_buffer_size=8388608,max_background_compactions=2
bluestore fsck on mount = false
osd memory target = 939524096
osd memory target autotune = false
osd op num shards = 2
osd op num threads per shard = 1
osd crush update on start = false
osd class update on start = false
END
}

key() { ceph-authtool --create-keyring "$@" >>"$dir/log/make.out" 2>&1; }

make_keys() {
  local id
  key "$dir/mon.keyring" --gen-key -n mon. --cap mon 'allow *'
  key "$dir/admin.keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  key "$dir/sepal.keyring" --gen-key -n client.sepal --cap mon 'allow r, allow command "osd blocklist"' \
    --cap osd "allow rwx pool=$pool, allow rwx pool=$coded, allow rwx pool=$other"
  # One that may do all of this but fence.
  key "$dir/tame.keyring" --gen-key -n client.tame --cap mon 'allow r' --cap osd "allow rwx pool=$pool, allow rwx pool=$coded"
  mkdir -p "$dir/mgr.x"
  key "$dir/mgr.x/keyring" --gen-key -n mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *'
  for id in "${osds[@]}"; do
    mkdir -p "$dir/osd.$id"
    key "$dir/osd.$id/keyring" --gen-key -n "osd.$id" --cap mon 'allow profile osd' --cap mgr 'allow profile osd' \
      --cap osd 'allow *'
  done
  for id in "$dir"/{admin,sepal,tame}.keyring "$dir"/{mgr,osd}.*/keyring; do
    ceph-authtool "$dir/mon.keyring" --import-keyring "$id" >>"$dir/log/make.out" 2>&1
  done
}

make_monitors() {
  local port addresses=() id
  port=$(sed -n 's/^mon host = \[v2:127.0.0.1:\([0-9]*\)\].*/\1/p' "$conf")
  for id in "${monitors[@]}"; do
    addresses+=(--addv "$id" "[v2:127.0.0.1:$port]")
    port=$((port + 1))
  done
  monmaptool --create --clobber --fsid "$(sed -n 's/^fsid = //p' "$conf")" "${addresses[@]}" \
    --set-min-mon-release pacific --enable-all-features "$dir/monmap" >>"$dir/log/make.out" 2>&1
  for id in "${monitors[@]}"; do
    mkdir -p "$dir/mon.$id"
    ceph-mon --mkfs -i "$id" -c "$conf" --monmap "$dir/monmap" --keyring "$dir/mon.keyring" >>"$dir/log/make.out" 2>&1
  done
}

make_osd() { # number
  local uuid
  uuid=$(cat /proc/sys/kernel/random/uuid)
  admin osd new "$uuid" "$1"
  ceph-osd --mkfs -i "$1" -c "$conf" --osd-uuid "$uuid"
  admin osd crush add "osd.$1" 1 root=default host="host$1"
}

clean() {
  local id
  for id in "${osds[@]}"; do
    timeout 5 ceph --admin-daemon "$dir/run/osd.$id.asok" status | grep -q '"state": "active"' || return 1
  done
  # As the manager has it: what the monitors say may be from before a restart.
  admin osd stat -f json | grep -q "\"num_up_osds\":${#osds[@]}" &&
    admin pg stat | grep -Eq '^([0-9]+) pgs: \1 active\+clean'
}

start() {
  local id made=''
  mkdir -p "$dir"/{run,log,no-modules}
  if [ ! -e "$dir/made" ]; then
    write_configuration
    make_keys || fail "keys: $(tail -n 2 "$dir/log/make.out")"
    make_monitors || fail "monitors: $(tail -n 2 "$dir/log/make.out")"
    made=1
  fi
  for id in "${monitors[@]}"; do begin "mon.$id"; done
  await "a quorum" admin quorum_status
  begin mgr.x
  if [ -n "$made" ]; then
    for id in "${osds[@]}"; do make_osd "$id" >>"$dir/log/make.out" 2>&1 || fail "osd.$id: $(tail -n 2 "$dir/log/make.out")"; done
  fi
  for id in "${osds[@]}"; do begin "osd.$id"; done
  if [ -n "$made" ]; then
    { admin osd pool create $pool 16 16 replicated && admin osd pool application enable $pool sepal &&
      admin osd erasure-code-profile set $coded k=2 m=1 crush-failure-domain=osd &&
      admin osd pool create $coded 8 8 erasure $coded && admin osd pool application enable $coded sepal &&
      admin osd pool create $other 8 8 replicated && admin osd pool application enable $other sepal; } \
      >>"$dir/log/make.out" 2>&1 || fail "pool: $(tail -n 2 "$dir/log/make.out")"
    touch "$dir/made"
  fi
  await "a clean cluster" clean
}

stop() {
  local kind file daemon pid i
  for kind in osd mgr mon; do
    for file in "$dir/run/$kind".*.pid; do
      daemon=$(basename "$file" .pid)
      pid=$(pid_of "$daemon") || continue
      kill -CONT "$pid"
      kill -TERM "$pid"
      for ((i = 0; i < 100; i++)); do
        pid_of "$daemon" >/dev/null || break
        sleep 0.1
      done
      if pid=$(pid_of "$daemon"); then kill -KILL "$pid"; fi
    done
  done
  if [ -e "$conf" ]; then rm -rf "$dir"; fi
}

signal() { # signal daemon
  local pid
  pid=$(pid_of "$2") || fail "$2 does not run"
  kill "-$1" "$pid"
}

case $verb in
  start) start ;;
  stop) stop ;;
  wait) await "a clean cluster" clean ;;
  kill) signal KILL "$1" ;;
  freeze) signal STOP "$1" ;;
  thaw) signal CONT "$1" ;;
  begin) begin "$1" ;;
  ceph) admin "$@" ;;
  env) echo "export SEPAL_RADOS_CONF=$conf SEPAL_RADOS_KEYRING=$dir/sepal.keyring SEPAL_RADOS_USER=sepal SEPAL_RADOS_POOL=$pool SEPAL_RADOS_CODED_POOL=$coded SEPAL_RADOS_OTHER_POOL=$other" ;;
  *) fail "unknown verb $verb" ;;
esac
