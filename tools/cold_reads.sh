#!/usr/bin/env bash
# Cold reads beside what the disk can do: 4 KiB random direct reads by fio, one and 32 under way, then bench/compare's
# cold workloads with direct reads, then fio again (a disk that is shared has better and worse minutes).
#   tools/cold_reads.sh [FLAG...]      flags of compare; without any: --threads=1,2 --rounds=3 --engines=sepal,rocksdb
#   SEPAL_COLD_DIR=/mnt/disk           on the disk to be measured (default: the temporary directory)
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

if [ $# -eq 0 ]; then set -- --threads=1,2 --rounds=3 --engines=sepal,rocksdb; fi
require_packages disk
directory=$(mktemp -d -p "${SEPAL_COLD_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$directory"' EXIT

random_reads() { # DEPTH
  fio --name=reads --rw=randread --bs=4k --iodepth="$1" --ioengine=io_uring --direct=1 --filename="$directory/fio.dat" \
    --size=1g --runtime=5 --time_based --output-format=terse | cut -d ';' -f 8
}

measure_disk() {
  printf 'the disk: %s random reads of 4 KiB a second one by one, %s with 32 under way\n' "$(random_reads 1)" \
    "$(random_reads 32)"
}

measure_disk
tools/compare.sh --dir="$directory/compare" --direct_reads \
  --workloads=coldreadrandom,coldreadmissing,coldmultireadrandom "$@"
measure_disk
