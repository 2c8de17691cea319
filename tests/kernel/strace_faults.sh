#!/usr/bin/env bash
# Fails the k-th system call of a writer with strace, for one kind of call and error after another, then checks what is
# left: every update that was acknowledged is there, and the whole is a moment of its history.
#   tests/kernel/strace_faults.sh WRITER [--seconds N] [--step N]
# WRITER is the program kernel_writer (build/release/tests/kernel_writer). Every N-th k is taken, from 1. Ends with a
# line "faults: N, failures: N"; exit status 1 if there were any.
set -uo pipefail
writer=${1:?the path of kernel_writer}
shift
seconds=60 step=3
while [ $# -gt 1 ]; do
  case $1 in
    --seconds) seconds=$2 ;;
    --step) step=$2 ;;
  esac
  shift 2
done
command -v strace >/dev/null || { echo "strace is not installed: nothing is tried" >&2; exit 0; }
scratch=$(mktemp -d /tmp/sepal_strace_XXXXXX)
trap 'rm -rf "$scratch"' EXIT
end=$((SECONDS + seconds))
faults=0 failures=0 seed=7 updates=400

problem() { # what
  failures=$((failures + 1))
  printf 'FAILED: %s, the %d-th with %s: %s\n' "$call" "$k" "$error" "$1"
}

# One writer with one fault, then the check. False once the call is made fewer than k times.
try() {
  local directory=$scratch/db found=0 last
  rm -rf "$directory"
  timeout -s KILL 60 strace -f -qq -e "trace=$call" -e "inject=$call:error=$error:when=$k" -o "$scratch/trace" \
    "$writer" write "$directory" "$seed" "$updates" >"$scratch/acknowledged" 2>"$scratch/message"
  local code=$?
  grep -q INJECTED "$scratch/trace" && found=1
  [ "$found" -eq 1 ] || return 1
  faults=$((faults + 1))
  if [ "$code" -gt 2 ]; then problem "the writer ended with status $code: $(head -c 300 "$scratch/message")"; fi
  last=$("$writer" check "$directory" "$seed" 2>"$scratch/message") || {
    problem "$(head -c 300 "$scratch/message")"
    return 0
  }
  local acknowledged
  acknowledged=$(tail -n 1 "$scratch/acknowledged" | cut -d' ' -f1)
  if [ "$last" -lt "${acknowledged:-0}" ]; then problem "update $acknowledged was acknowledged, $last is the last"; fi
  return 0
}

for round in 0 1 2; do
  for pair in fdatasync:EIO fsync:EIO write:ENOSPC pwrite64:EIO write:EIO fallocate:ENOSPC fallocate:EIO ftruncate:EIO \
    openat:EMFILE openat:EACCES unlinkat:EIO pread64:EIO sync_file_range:EIO fstat:EIO getdents64:EIO fcntl:ENOLCK; do
    call=${pair%%:*} error=${pair##*:}
    for ((k = 1 + round; SECONDS < end; k += step)); do try || break; done
  done
done
printf 'faults: %d, failures: %d\n' "$faults" "$failures"
[ "$failures" -eq 0 ]
