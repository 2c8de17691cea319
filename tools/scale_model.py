#!/usr/bin/env python3
"""What a large number of keys takes on Ceph: sums, and two simulations. docs/internals/scale.md quotes what it prints.

  tools/scale_model.py show [TABLE...]    prints tables: size, takeover, compaction; all where none is named
  tools/scale_model.py write | check      rewrites the tables in docs/internals/scale.md; exit status 1, and the
                                          difference, if they are out of date (a test)

Every figure that it starts from is a field of Scenario and can be given: --machines 16, --puts_per_second 1000000. `write`
and `check` take the defaults. What is random comes from --seed: the same arguments print the same tables.

The take-over: every survivor opens some of the dead machine's shards at a time, and the OSDs bear some openings at a time.
A shard's way is: connect; wait for the monitors' next commit, which fences all that wait; open, and replay the log.

The day of compactions: each shard takes uniformly distributed puts over keys that are there. A tree is the numbers of
entries of its runs; it steps as db/decide/compaction does, at the moment of a flush. What steps read and write is then
queued for the machine's compaction threads. So a tree never waits for its compactions, which keeps the sums right as long as
the threads keep up; the table says how long jobs waited.
"""

import argparse
import collections
import copy
import dataclasses
import difflib
import functools
import heapq
import pathlib
import random
import statistics
import sys

MIB = 1 << 20
DAY_SECONDS = 86_400
PAGE = "docs/internals/scale.md"


@dataclasses.dataclass(frozen=True)
class Scenario:
    """scale.md says where each figure comes from."""

    keys: float = 1e11
    key_bytes: int = 16
    value_bytes: int = 100
    metadata_bits: float = 19.1  # filters and index, for each key
    stored_bytes: float = 109.0  # of an entry in a table, without compression
    snappy_bytes: float = 63.9  # the same with Snappy, where values shrink by half
    space_bound: float = 2.0  # max_space_amplification
    copies: int = 3
    osd_bytes: float = 7.68e12
    osd_fill: float = 0.7
    machines: int = 8
    shards: int = 512
    memory_bytes: int = 48 << 30  # memory_limit of a machine's databases together
    memtable_bytes: int = 64 * MIB
    memtable_overhead: int = 82  # bytes of an entry in a memtable, beside key and value
    runs_per_level: int = 6
    unread_runs: int = 0  # of level 0 beyond these, for lazy leveling: 26 while nobody reads
    fanout: int = 10
    connect_seconds: float = 0.02
    open_seconds: float = 0.03
    commit_seconds: float = 0.02  # of the monitors
    replay_rate: float = 67e6  # bytes of the log a second, for one opening
    osds_per_opening: int = 1  # as many are busy with one opening at that rate
    grace_seconds: float = 23.0  # until the cluster goes on without a machine that had OSDs
    compaction_rate: float = 220e6  # bytes read a second, for one thread, with about as many written
    compaction_threads: int = 4
    puts_per_second: float = 100_000
    seed: int = 1

    @property
    def entry_bytes(self):
        return self.key_bytes + self.value_bytes

    @property
    def shard_keys(self):
        return self.keys / self.shards

    @property
    def shards_per_machine(self):
        return self.shards // self.machines

    @property
    def metadata_bytes(self):
        return self.keys * self.metadata_bits / 8

    @property
    def memtable_entries(self):
        return self.memtable_bytes / (self.entry_bytes + self.memtable_overhead)

    def osds(self, stored_bytes):
        """For tables at the space bound."""
        raw = self.keys * stored_bytes * self.space_bound * self.copies
        return -(-raw // (self.osd_bytes * self.osd_fill))


# --- sizes ---


def size_table(s):
    survivors = s.machines - 1
    block_cache = s.memory_bytes * 0.75 - s.metadata_bytes / survivors
    rows = [
        ["filters and indexes", f"{s.metadata_bits} bits a key", tera(s.metadata_bytes)],
        ["tables, live, no compression", f"{s.stored_bytes:g} bytes an entry", tera(s.keys * s.stored_bytes)],
        ["tables, live, Snappy", f"{s.snappy_bytes:g} bytes an entry", tera(s.keys * s.snappy_bytes)],
        ["raw space, no compression", f"x {s.space_bound:g} space x {s.copies} copies",
         tera(s.keys * s.stored_bytes * s.space_bound * s.copies)],
        [f"OSDs of {tera(s.osd_bytes)}, no compression", f"{s.osd_fill:.0%} full", f"{s.osds(s.stored_bytes):.0f}"],
        [f"OSDs of {tera(s.osd_bytes)}, Snappy", f"{s.osd_fill:.0%} full", f"{s.osds(s.snappy_bytes):.0f}"],
        ["keys of a shard", f"{s.shards} shards", f"{s.shard_keys / 1e6:,.0f} million"],
        ["tables of a shard, live", "no compression", tera(s.shard_keys * s.stored_bytes)],
        ["shards of a machine", f"{s.machines} machines", f"{s.shards_per_machine}"],
        ["filters and indexes of a machine", f"one of {s.machines} machines is dead", tera(s.metadata_bytes / survivors)],
        ["what is left for blocks", f"of {tera(s.memory_bytes)}, a quarter for memtables", tera(block_cache)],
        ["the most in memtables of a machine", f"{s.shards_per_machine} x {s.memtable_bytes // MIB} MiB",
         tera(s.shards_per_machine * s.memtable_bytes)],
    ]
    return {"columns": ["what", "from", "sum"], "rows": rows}


# --- the take-over of a dead machine's shards ---


class Monitors:
    """Commits are `apart` seconds from each other, from a moment that nobody chose; one fences all that wait for it."""

    def __init__(self, apart, commit_seconds, rng):
        self.apart, self.commit_seconds = apart, commit_seconds
        self.first = rng.uniform(0, apart)

    def fenced_at(self, asked):
        ticks = max(0, -(-(asked - self.first) // self.apart))
        return self.first + ticks * self.apart + self.commit_seconds


@dataclasses.dataclass(frozen=True)
class Limits:
    per_survivor: int  # shards that one machine takes over at a time
    openings: int  # in all, which the OSDs bear
    commits_apart: float  # paxos_propose_interval
    begins_at: float = 0.0  # nothing is answered before


def take_over(s, limits):
    """The times, from the decision to take over, at which the shards are open again, in order."""
    rng = random.Random(s.seed)
    monitors = Monitors(limits.commits_apart, s.commit_seconds, rng)
    survivors = s.machines - 1
    left = [collections.deque() for _ in range(survivors)]
    for shard in range(s.shards_per_machine):
        left[shard % survivors].append(rng.uniform(0, s.memtable_bytes))  # its log
    events = []  # (time, order, what, survivor, bytes of the log)
    order = iter(range(sys.maxsize))

    def at(time, what, survivor, log):
        heapq.heappush(events, (time, next(order), what, survivor, log))

    for survivor in range(survivors):
        for _ in range(min(limits.per_survivor, len(left[survivor]))):
            at(limits.begins_at, "connect", survivor, left[survivor].popleft())
    waiting = collections.deque()
    opening, opened = 0, []
    while events:
        now, _, what, survivor, log = heapq.heappop(events)
        if what == "connect":
            at(monitors.fenced_at(now + s.connect_seconds), "fenced", survivor, log)
        elif what == "fenced":
            waiting.append((survivor, log))
        else:
            opened.append(now)
            opening -= 1
            if left[survivor]:
                at(now, "connect", survivor, left[survivor].popleft())
        while waiting and opening < limits.openings:
            survivor, log = waiting.popleft()
            opening += 1
            at(now + s.open_seconds + log / s.replay_rate, "opened", survivor, log)
    return opened


def takeover_table(s):
    borne = max(1, int(s.osds(s.stored_bytes)) // s.osds_per_opening)
    cases = [Limits(1, borne, 1.0), Limits(4, borne, 1.0), Limits(16, borne, 1.0), Limits(1, borne, 0.1),
             Limits(4, borne, 0.1), Limits(4, s.shards, 0.1), Limits(4, borne, 0.1, s.grace_seconds)]
    rows = []
    for limits in cases:
        opened = take_over(s, limits)
        rows.append([str(limits.per_survivor), str(limits.openings) if limits.openings < s.shards else "no limit",
                     f"{limits.commits_apart:g} s", f"{limits.begins_at:g} s", seconds(opened[0]),
                     seconds(statistics.median(opened)), seconds(opened[-1])])
    return {"columns": ["at a time, a survivor", "at a time, in all", "commits apart", "the cluster answers after",
                        "first shard", "half", "all"], "rows": rows}


# --- a day of compactions ---


@dataclasses.dataclass(frozen=True)
class Job:
    read: float  # bytes
    written: float


class Tree:
    """Levels, each a list of runs, the newest first; a run is the number of its entries, which are distinct keys."""

    def __init__(self, s, keys, entries=0.0, level=0):
        """`keys`: how many keys there are to be put; None: each is a new one. `entries` lie in `level`."""
        self.s, self.keys = s, keys
        self.levels = [[] for _ in range(8)]
        if entries:
            self.levels[level] = [entries]

    def last(self):
        return max((i for i, runs in enumerate(self.levels) if runs and i > 0), default=1)

    def bytes(self, level=None):
        levels = self.levels if level is None else [self.levels[level]]
        return self.s.stored_bytes * sum(map(sum, levels))

    def live_bytes(self):
        return self.s.stored_bytes * self.union(run for runs in self.levels for run in runs)

    def runs(self):
        return sum(map(len, self.levels))

    def union(self, runs):
        """Distinct keys of runs whose keys are independent of each other."""
        runs = list(runs)
        if self.keys is None:
            return sum(runs)
        absent = 1.0
        for run in runs:
            absent *= 1 - run / self.keys
        return self.keys * (1 - absent)

    def rewrite(self, first, to, joins):
        """The runs of the levels from `first` up to `to` become one there; of `to` itself only with `joins`."""
        taken = [run for level in range(first, to + joins) for run in self.levels[level]]
        for level in range(first, to + joins):
            self.levels[level] = []
        one = self.union(taken)
        self.levels[to].insert(0, one)
        return Job(sum(taken) * self.s.stored_bytes, one * self.s.stored_bytes)

    def flush(self, entries):
        """The jobs of one flush, itself the first."""
        self.levels[0].insert(0, entries)
        jobs = [Job(0, entries * self.s.stored_bytes)]
        while (job := self.step()) is not None:
            jobs.append(job)
        return jobs


class LazyTree(Tree):
    def capacity(self, level):
        return self.s.memtable_bytes * self.s.runs_per_level**level

    def runs_due(self, level):
        return self.s.runs_per_level + (self.s.unread_runs if level == 0 else 0)

    def step(self):
        """db/decide/compaction: MoveLastLevelDown, ReduceSpace, StepDown."""
        due = [level for level in range(self.last()) if len(self.levels[level]) >= self.runs_due(level)]
        last = self.last()
        capacity = self.capacity(last)
        if last - 1 in due:
            capacity = min(capacity, max(self.bytes(last - 1), capacity / 8))
        if len(self.levels[last]) == 1 and self.bytes(last) > capacity and last + 1 < len(self.levels):
            self.levels[last + 1], self.levels[last] = self.levels[last], []
            return Job(0, 0)
        if 0 not in due and self.bytes() > self.s.space_bound * self.live_bytes():
            return self.rewrite(1 if self.runs() - len(self.levels[0]) > 1 else 0, last, True)
        if due:
            level = max(due, key=lambda each: (len(self.levels[each]) / self.runs_due(each), -each))
            return self.rewrite(level, level + 1, level + 1 >= last)
        return None


class LeveledTree(Tree):
    rewritten = 0.0  # entries of level 1, when it was written last
    # The table that rewrites least goes down, so that it meets less than the average one: so much of it, for which a fill
    # of 200 memtables writes as often as on the tree of decision 0011 (7.7).
    LEAST_OVERLAP = 0.65

    def target(self, level):
        return 4 * self.s.memtable_bytes * self.s.fanout ** (level - 1)

    def step(self):
        if len(self.levels[0]) >= self.s.runs_per_level:
            job = self.rewrite(0, 1, True)
            self.rewritten = self.levels[1][0]
            return job
        for level in range(1, len(self.levels) - 1):
            if self.bytes(level) > self.target(level):
                return self.table_down(level)
        return None

    def table_down(self, level):
        above = self.levels[level][0]
        table = min(above, self.s.memtable_bytes / self.s.stored_bytes)
        below = self.levels[level + 1][0] if self.levels[level + 1] else 0.0
        # Level 1 is written as a whole: its tables keep the ranges of keys that they were given then.
        met = self.LEAST_OVERLAP * below * table / (self.rewritten if level == 1 else above)
        same = 0.0 if self.keys is None else table * below / self.keys
        self.levels[level] = [above - table]
        self.levels[level + 1] = [below + table - same]
        return Job((table + met) * self.s.stored_bytes, (table + met - same) * self.s.stored_bytes)


STYLES = {"lazy leveling": LazyTree, "leveled": LeveledTree}


@dataclasses.dataclass
class Day:
    """Of one machine's shards."""

    flushed: float = 0.0
    read: float = 0.0
    written: float = 0.0
    busiest_minute: float = 0.0  # bytes written in it
    longest_wait: float = 0.0  # of a job for a thread, in seconds
    space: float = 0.0  # tables over live, the average at flushes
    most_space: float = 0.0
    most_runs: int = 0


@functools.lru_cache
def long_used_trees(s, style):
    """A machine's shards, each of which has been overwritten once, and up to once more."""
    rng = random.Random(s.seed)
    trees = []
    for _ in range(s.shards_per_machine):
        tree = STYLES[style](s, s.shard_keys, s.shard_keys, level=3)
        for _ in range(int(s.shard_keys / s.memtable_entries * (1 + rng.random()))):
            tree.flush(s.memtable_entries)
        trees.append(tree)
    return trees


def jobs_of_day(s, style, puts_per_second):
    """(time, job) of a machine's shards in a day."""
    rng = random.Random(s.seed)
    entries = s.memtable_entries
    period = entries / (puts_per_second / s.shards)
    jobs, spaces, day = [], [], Day()
    for tree in copy.deepcopy(long_used_trees(s, style)):
        now = rng.uniform(0, period)
        while now < DAY_SECONDS:
            day.most_runs = max(day.most_runs, tree.runs() + 1)
            jobs += [(now, job) for job in tree.flush(entries)]
            spaces.append(tree.bytes() / (s.shard_keys * s.stored_bytes))
            day.flushed += entries * s.stored_bytes
            now += period
    day.space, day.most_space = statistics.fmean(spaces), max(spaces)
    return sorted(jobs, key=lambda each: each[0]), day


def machine_day(s, style, puts_per_second):
    jobs, day = jobs_of_day(s, style, puts_per_second)
    threads = [0.0] * s.compaction_threads  # when each is free
    minutes = collections.Counter()
    for due, job in jobs:
        day.read += job.read
        day.written += job.written
        if job.written == 0:
            continue
        begins = max(due, heapq.heappop(threads))
        ends = begins + max(job.read, job.written) / s.compaction_rate
        heapq.heappush(threads, ends)
        day.longest_wait = max(day.longest_wait, begins - due)
        spread(minutes, begins, ends, job.written)
    day.busiest_minute = max(minutes.values())
    return day


def spread(minutes, begins, ends, amount):
    """Adds `amount`, evenly from `begins` to `ends`, to the minutes that it falls into."""
    first, last = int(begins // 60), int(ends // 60)
    for minute in range(first, last + 1):
        part = min(ends, 60.0 * (minute + 1)) - max(begins, 60.0 * minute)
        minutes[minute] += amount * part / (ends - begins)


def compaction_table(s):
    rows = []
    for rate in (s.puts_per_second, 5 * s.puts_per_second):
        for style in STYLES:
            day = machine_day(s, style, rate)
            rows.append([f"{rate:,.0f}", style, f"{day.written / day.flushed:.1f}", mega(day.read / DAY_SECONDS),
                         mega(day.written / DAY_SECONDS), mega(day.busiest_minute / 60), seconds(day.longest_wait),
                         mega(day.written * s.machines * s.copies / DAY_SECONDS),
                         f"{day.space:.2f}, {day.most_space:.2f}", str(day.most_runs)])
    return {"columns": ["puts a second", "style", "bytes written, a byte flushed", "read, a machine",
                        "written, a machine", "written, its busiest minute", "longest wait for a thread",
                        "written to all OSDs", "space: average, most", "most runs"], "rows": rows}


# --- pages ---

TABLES = {"size": size_table, "takeover": takeover_table, "compaction": compaction_table}


def tera(count):
    for unit, name in ((1e12, "TB"), (1e9, "GB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count / 1e6:.3g} MB"


def mega(rate):
    return f"{rate / 1e6:,.0f} MB/s"


def seconds(count):
    return f"{count:.1f} s"


def markdown(table):
    lines = [table["columns"], ["---"] + ["--:"] * (len(table["columns"]) - 1), *table["rows"]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page_with_tables(text, s):
    """The page with each table between its two markers."""
    for name, make in TABLES.items():
        begin, end = f"<!-- scale: {name} (tools/scale_model.py) -->", f"<!-- scale: end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"scale_model.py: {PAGE} needs one line {begin!r} and one {end!r}")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{markdown(make(s))}\n{end}{rest.split(end)[1]}"
    return text


def check(page):
    got = page.read_text()
    wanted = page_with_tables(got, Scenario())
    if got != wanted:
        sys.stdout.writelines(difflib.unified_diff(got.splitlines(True), wanted.splitlines(True), str(page), "made"))
        sys.exit("scale_model.py: out of date; tools/scale_model.py write")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the source; default: the directory above this script's")
    commands = parser.add_subparsers(dest="command", required=True)
    showing = commands.add_parser("show", help="print tables")
    showing.add_argument("table", nargs="*", help=", ".join(TABLES))
    for field in dataclasses.fields(Scenario):
        showing.add_argument(f"--{field.name}", type=type(field.default), default=field.default,
                             help=f"default {field.default:g}")
    commands.add_parser("write", help="rewrite the tables of the page")
    commands.add_parser("check", help="exit status 1 if the page is out of date")
    arguments = parser.parse_args()
    page = arguments.root / PAGE
    if arguments.command == "check":
        check(page)
    elif arguments.command == "write":
        page.write_text(page_with_tables(page.read_text(), Scenario()))
    else:
        for name in arguments.table:
            if name not in TABLES:
                parser.error(f"there is no table {name}: {', '.join(TABLES)}")
        s = Scenario(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Scenario)})
        if s.machines < 2 or s.shards < s.machines:
            parser.error("there must be two machines or more, and as many shards")
        print("\n".join(f"{name}:\n{markdown(TABLES[name](s))}" for name in arguments.table or TABLES), end="")


if __name__ == "__main__":
    main()
