#!/usr/bin/env python3
"""Compares two Release builds of Sepal, row by row: the measuring half of tools/perf_gate.sh.

Instructions: callgrind counts db_bench with N and with 2N operations over the same database; the difference over N is what an
operation takes, without start-up. Rates: bench/compare runs both builds in turn; the row is the median of the ratios of the
rounds, and of processor time. A row moved if instructions differ by more than 2 %, or if the median ratio is below 0.98 and
so are more than three quarters of the rounds, in both rate and processor time.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

READS = ["readrandom", "readmissing", "multireadrandom", "seekrandom", "readseq", "readreverse"]
FILLS = ["fillrandom", "fillbatch", "overwrite"]
WORKLOADS = READS + FILLS + ["compact"]
ENTRIES = 200_000  # of the databases that callgrind reads
TOLERANCE = 0.02


def run(command, **extra):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **extra)
    if done.returncode != 0:
        sys.exit(f"perf_gate: {' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def instructions(build, database, benchmark, num, reads=None, existing=True):
    out = database.parent / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", build / "tools/db_bench", f"--db={database}",
               f"--benchmarks={benchmark}", f"--num={num}", "--seed=7"]
    if reads is not None:
        command.append(f"--reads={reads}")
    if existing:
        command.append("--use_existing_db")
    text = run(command, env={**os.environ, "SEPAL_SIMD": "avx2"})
    return int(re.search(r"Collected : (\d+)", text).group(1))


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


def instructions_per_operation(build, work, workload):
    database = work / "callgrind" / "db"
    database.parent.mkdir(parents=True, exist_ok=True)
    if workload in ("fillrandom", "fillbatch"):
        # With its flush: else the last memtable's worth is flushed in one of the runs, and not in the other.
        once, twice = (instructions(build, fresh(database), workload + ",flush", count, existing=False)
                       for count in (ENTRIES, 2 * ENTRIES))
        return (twice - once) / ENTRIES
    fresh(database)
    fill = "filluniquerandom,flush,waitforcompaction"
    run([build / "tools/db_bench", f"--db={database}", f"--benchmarks={fill}", f"--num={ENTRIES}", "--seed=7"])
    if workload == "compact":
        start = instructions(build, database, "levelstats", ENTRIES)
        return (instructions(build, database, "compact", ENTRIES) - start) / ENTRIES
    if workload == "overwrite":
        start = instructions(build, database, "levelstats", ENTRIES)
        return (instructions(build, database, "overwrite", ENTRIES) - start) / ENTRIES
    # A scan ends with the last entry; lookups are counted once all blocks are in the cache.
    counts = (ENTRIES // 2, ENTRIES) if workload in ("readseq", "readreverse") else (2 * ENTRIES, 3 * ENTRIES)
    fewer, more = (instructions(build, database, workload, ENTRIES, reads=count) for count in counts)
    return (more - fewer) / (counts[1] - counts[0])


def rates(build, work, workloads, num, seed):
    out = work / "compare.json"
    run([build / "bench/compare/compare", "--engines=sepal", "--rounds=1", "--threads=1", f"--num={num}", f"--seed={seed}",
         f"--workloads={','.join(workloads)}", f"--dir={work / 'compare'}", f"--json={out}"])
    rows = json.loads(out.read_text())
    rows = rows["measurements"] if isinstance(rows, dict) else rows
    return {row["workload"]: (row["operations"] / row["seconds"], row["cpu_micros_per_op"]) for row in rows}


def compare_instructions(arguments, workloads):
    moved = []
    print(f"\n{'instructions per operation':<28}{'base':>12}{'head':>12}{'change':>10}")
    for workload in workloads:
        base, head = (instructions_per_operation(build, arguments.directory, workload)
                      for build in (arguments.base, arguments.head))
        change = head / base - 1
        moved += [workload] if change > TOLERANCE else []
        print(f"{workload:<28}{base:>12.1f}{head:>12.1f}{change:>+9.1%}{'  moved' if change > TOLERANCE else ''}", flush=True)
    return moved


def slower(ratios):
    below = sum(ratio < 1 - TOLERANCE for ratio in ratios)
    return statistics.median(ratios) < 1 - TOLERANCE and below > 0.75 * len(ratios)


def compare_rates(arguments, workloads):
    pairs = {workload: [] for workload in workloads}
    for turn in range(arguments.rounds):
        sides = [arguments.base, arguments.head]
        measured = {side: rates(side, arguments.directory, workloads, arguments.num, turn + 1)
                    for side in (sides if turn % 2 == 0 else reversed(sides))}
        for workload in workloads:
            pairs[workload].append((measured[arguments.base][workload], measured[arguments.head][workload]))
        print(f"round {turn + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
    moved = []
    print(f"\n{'head / base':<20}{'rate':>8}{'lowest':>9}{'highest':>9}{'1 / CPU':>10}")
    for workload, rounds in pairs.items():
        rate = [head[0] / base[0] for base, head in rounds]
        cpu = [base[1] / head[1] for base, head in rounds]
        lost = slower(rate) and slower(cpu)
        moved += [workload] if lost else []
        print(f"{workload:<20}{statistics.median(rate):>8.3f}{min(rate):>9.3f}{max(rate):>9.3f}"
              f"{statistics.median(cpu):>10.3f}{'  moved' if lost else ''}", flush=True)
    return moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="build directory")
    parser.add_argument("head", type=Path, help="build directory")
    parser.add_argument("--directory", type=Path, required=True, help="where databases are made")
    parser.add_argument("--only", choices=["instructions", "rates"])
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--num", type=int, default=1_000_000)
    arguments = parser.parse_args()
    workloads = arguments.workloads.split(",")
    unknown = [workload for workload in workloads if workload not in WORKLOADS]
    if unknown:
        parser.error(f"unknown workload {unknown[0]}; known: {', '.join(WORKLOADS)}")
    arguments.directory.mkdir(parents=True, exist_ok=True)
    moved = []
    if arguments.only != "rates":
        moved += compare_instructions(arguments, workloads)
    if arguments.only != "instructions":
        moved += compare_rates(arguments, workloads)
    print(f"\nslower beyond noise: {', '.join(sorted(set(moved)))}" if moved else "\nnothing moved beyond noise")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
