#!/usr/bin/env bash
# What a program pays for Sepal before it opens a database: links tests/consumer/consumer.cc in four ways against an
# installed Sepal, and prints for each the size of the stripped program, the number and size of the shared libraries that
# it loads, and the processor time of a start that does nothing (the least of 100).
#   bench/embedding_cost.sh PREFIX [COMPILER]      PREFIX: of `cmake --install BUILD --prefix PREFIX`
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
prefix=$(cd "${1:?the prefix of an installed Sepal}" && pwd)
compiler=${2:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pc=$(find "$prefix" -name sepal.pc)
libraries=$(dirname "${pc%/*}")
export PKG_CONFIG_PATH=${pc%/*}
read -r -a compile <<<"$(pkg-config --cflags sepal)"
read -r -a shared <<<"$(pkg-config --libs sepal)"
read -r -a private <<<"$(pkg-config --static --libs sepal | sed 's/-lsepal //')"
archive=$libraries/libsepal.a

echo 'int main() {}' >"$work/empty.cc"
"$compiler" -O2 "$work/empty.cc" -o "$work/empty"
"$compiler" -std=c++20 -O2 "${compile[@]}" -c "$source/tests/consumer/consumer.cc" -o "$work/consumer.o"
link() { "$compiler" "$work/consumer.o" -o "$work/$1" "${@:2}"; } # NAME ARGUMENT...
link shared "${shared[@]}" -Wl,-rpath,"$libraries"
link static "$archive" "${private[@]}"
link all_static "$archive" -static-libstdc++ -static-libgcc -Wl,-Bstatic -Wl,--start-group "${private[@]}" \
  -Wl,--end-group -Wl,-Bdynamic
link -static -static "$archive" -Wl,--start-group "${private[@]}" -Wl,--end-group 2>/dev/null

python3 - "$work" empty shared static all_static -static <<'PROGRAM'
import os, re, resource, subprocess, sys

print(f"{'program':<12}{'bytes':>10}{'libraries':>11}{'their bytes':>13}{'start, ms':>11}")
work, *names = sys.argv[1:]
for name in names:
    program = os.path.join(work, name)
    subprocess.run(["strip", "--", program], check=True)
    listed = subprocess.run(["ldd", program], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    loaded = re.findall(r"=> (/\S+)", listed)
    times = []
    for _ in range(100):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program], stdout=subprocess.DEVNULL)  # without a directory it ends at once
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"{name:<12}{os.path.getsize(program):>10}{len(loaded):>11}{sum(map(os.path.getsize, loaded)):>13}"
          f"{min(times) * 1000:>11.1f}")
PROGRAM
