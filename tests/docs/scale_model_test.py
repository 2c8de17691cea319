#!/usr/bin/env python3
"""tools/scale_model.py: its simulations keep their laws, and its page is as it prints: scale_model_test.py SCRIPT"""

import dataclasses
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv[1]
SPEC = importlib.util.spec_from_file_location("scale_model", SCRIPT)
model = importlib.util.module_from_spec(SPEC)
sys.modules["scale_model"] = model  # dataclasses look there
SPEC.loader.exec_module(model)

SMALL = dataclasses.replace(model.Scenario(), keys=1e8, shards=16, machines=4, memtable_bytes=4 * model.MIB)
LIMITS = model.Limits(per_survivor=2, openings=3, commits_apart=1.0)


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def fill(style, flushes, keys=None):
    """The tree after so many flushes, what was written for each byte flushed, and the most runs."""
    s = dataclasses.replace(model.Scenario(), stored_bytes=100.0)
    tree = model.STYLES[style](s, keys)
    entries = s.memtable_bytes / s.stored_bytes
    written = flushed = most_runs = 0
    for _ in range(flushes):
        most_runs = max(most_runs, tree.runs() + 1)
        jobs = tree.flush(entries)
        flushed += jobs[0].written
        written += sum(job.written for job in jobs)
    return tree, written / flushed, most_runs


class TreeTest(unittest.TestCase):
    # docs/internals/decisions/0011-lazy-leveling-compaction.md: 200 memtables of fresh keys on the picker's own model tree.
    def test_a_fill_writes_what_the_picker_writes(self):
        _, lazy, runs = fill("lazy leveling", 200)
        self.assertAlmostEqual(lazy, 3.0, delta=0.15)
        self.assertEqual(runs, 15)
        _, leveled, _ = fill("leveled", 200)
        self.assertAlmostEqual(leveled, 7.7, delta=0.15)

    # A million new entries and three million overwrites in db_bench, without a reader: the engine made 9 compactions, which
    # wrote 1.46 bytes for each byte flushed, and left 18 runs in level 0 (docs/internals/scale.md).
    def test_a_database_that_is_overwritten_compacts_as_the_engine_did(self):
        s = dataclasses.replace(model.Scenario(), memtable_bytes=4 * model.MIB, unread_runs=26)
        tree = model.LazyTree(s, None)
        jobs = []
        for flush in range(210):
            tree.keys = None if flush * 18_860 < 1e6 else 1e6
            jobs += tree.flush(18_860)
        rewrites = [job for job in jobs if job.read > 0]
        flushed = 210 * 18_860 * s.stored_bytes
        self.assertAlmostEqual(len(rewrites), 9, delta=1)  # 8
        self.assertEqual(len(tree.levels[0]), 18)
        self.assertAlmostEqual(sum(job.written for job in rewrites) / flushed, 1.46, delta=0.3)

    def test_nothing_is_lost_and_nothing_is_made(self):
        for style in model.STYLES:
            tree, _, _ = fill(style, 77)
            self.assertAlmostEqual(tree.bytes() / tree.s.memtable_bytes, 77, msg=style)

    def test_overwriting_keeps_to_the_space_bound(self):
        keys = 40 * model.Scenario().memtable_bytes / 100
        for style in model.STYLES:
            for flushes in range(100, 220, 7):
                tree, _, _ = fill(style, flushes, keys)
                self.assertLessEqual(tree.bytes(), tree.s.space_bound * tree.live_bytes(), style)
                self.assertLessEqual(tree.live_bytes(), keys * 100 * 1.000001, style)

    def test_upper_levels_keep_to_their_shape(self):
        tree, _, _ = fill("leveled", 300)
        for level in range(1, tree.last()):
            self.assertLessEqual(tree.bytes(level), tree.target(level))
        tree, _, _ = fill("lazy leveling", 300)
        self.assertTrue(all(len(runs) < tree.s.runs_per_level for runs in tree.levels))
        self.assertEqual(len(tree.levels[tree.last()]), 1)

    def test_a_new_tree_of_nothing_takes_a_flush(self):
        for style in model.STYLES:
            tree, amplification, _ = fill(style, 1)
            self.assertEqual((tree.runs(), amplification), (1, 1.0))


class TakeOverTest(unittest.TestCase):
    def test_every_shard_comes_back_once_and_in_order(self):
        for per_survivor in (1, 2, 9):
            opened = model.take_over(SMALL, dataclasses.replace(LIMITS, per_survivor=per_survivor))
            self.assertEqual(len(opened), SMALL.shards_per_machine)
            self.assertEqual(opened, sorted(opened))

    def test_one_commit_fences_all_that_wait_for_it(self):
        monitors = model.Monitors(1.0, 0.02, model.random.Random(3))
        first = monitors.first
        self.assertEqual(monitors.fenced_at(0), first + 0.02)
        self.assertEqual(monitors.fenced_at(first), first + 0.02)
        self.assertEqual(monitors.fenced_at(first + 0.1), monitors.fenced_at(first + 0.9))
        self.assertAlmostEqual(monitors.fenced_at(first + 1.1), first + 2.02)

    def test_no_more_openings_at_a_time_than_are_allowed(self):
        s = dataclasses.replace(SMALL, replay_rate=1e18, open_seconds=5.0, shards=64)  # 16 of the dead machine
        opened = model.take_over(s, model.Limits(per_survivor=16, openings=3, commits_apart=0.1))
        for i in range(3, len(opened)):
            self.assertGreaterEqual(opened[i] - opened[i - 3], 5.0 - 1e-9)

    def test_a_survivor_begins_no_more_than_its_share(self):
        s = dataclasses.replace(SMALL, machines=2, shards=8, replay_rate=1e18, open_seconds=1.0)
        opened = model.take_over(s, model.Limits(per_survivor=1, openings=8, commits_apart=0.1))
        self.assertEqual(len(opened), 4)
        self.assertTrue(all(later - earlier > 1.0 for earlier, later in zip(opened, opened[1:])))

    def test_nothing_happens_before_the_cluster_answers(self):
        late = model.take_over(SMALL, dataclasses.replace(LIMITS, begins_at=23.0))
        self.assertGreater(late[0], 23.0)

    def test_the_seed_decides(self):
        other = dataclasses.replace(SMALL, seed=2)
        self.assertEqual(model.take_over(SMALL, LIMITS), model.take_over(SMALL, LIMITS))
        self.assertNotEqual(model.take_over(SMALL, LIMITS), model.take_over(other, LIMITS))


class DayTest(unittest.TestCase):
    def test_minutes_have_all_that_was_written(self):
        minutes = model.collections.Counter()
        model.spread(minutes, 50.0, 190.0, 140.0)
        self.assertEqual([round(minutes[i], 6) for i in range(4)], [10, 60, 60, 10])
        model.spread(minutes, 60.0, 120.0, 6.0)  # ends where a minute begins
        self.assertAlmostEqual(sum(minutes.values()), 146.0)

    def test_more_threads_wait_less_and_write_as_much(self):
        few = model.machine_day(dataclasses.replace(SMALL, compaction_threads=1), "leveled", 50_000)
        many = model.machine_day(dataclasses.replace(SMALL, compaction_threads=8), "leveled", 50_000)
        self.assertAlmostEqual(few.written, many.written)
        self.assertGreater(few.longest_wait, many.longest_wait)

    def test_a_day_flushes_what_was_put(self):
        s, puts = SMALL, 20_000
        day = model.machine_day(s, "lazy leveling", puts)
        put_bytes = puts / s.machines * model.DAY_SECONDS * s.stored_bytes
        self.assertAlmostEqual(day.flushed / put_bytes, 1.0, delta=0.05)


class SizeTest(unittest.TestCase):
    def test_sums(self):
        s = dataclasses.replace(model.Scenario(), keys=8e9, metadata_bits=16, stored_bytes=100, osd_bytes=1e12,
                                osd_fill=0.5, space_bound=2.0, copies=3)
        self.assertEqual(s.metadata_bytes, 16e9)
        self.assertEqual(s.osds(100), 10)  # 4.8 TB raw, of which each takes half a TB
        self.assertEqual(model.tera(4.8e12), "4.8 TB")
        self.assertEqual(model.tera(16e9), "16 GB")


class CommandTest(unittest.TestCase):
    def test_show(self):
        size = run("show", "size", "--keys", "1e9")
        self.assertEqual(size.returncode, 0, size.stderr)
        self.assertIn("| filters and indexes | 19.1 bits a key | 2.39 GB |", size.stdout)
        self.assertNotIn("takeover", size.stdout)
        self.assertEqual(run("show", "size", "--keys", "1e9").stdout, size.stdout)
        self.assertIn("--puts_per_second", run("show", "--help").stdout)

    def test_what_cannot_be_is_refused(self):
        self.assertIn("there is no table weight", run("show", "weight").stderr)
        self.assertIn("two machines", run("show", "--machines", "1").stderr)

    def test_the_page_is_held_to_the_tables(self):
        with tempfile.TemporaryDirectory() as directory:
            page = pathlib.Path(directory) / model.PAGE
            page.parent.mkdir(parents=True)
            page.write_text("no markers\n")
            self.assertIn("needs one line", run("--root", directory, "check").stderr)
            markers = "".join(f"<!-- scale: {name} (tools/scale_model.py) -->\n<!-- scale: end of {name} -->\ntext\n"
                              for name in model.TABLES)
            page.write_text(markers)
            self.assertEqual(run("--root", directory, "check").returncode, 1)
            self.assertEqual(run("--root", directory, "write").returncode, 0)
            self.assertEqual(run("--root", directory, "check").returncode, 0)
            page.write_text(page.read_text().replace("19.1 bits", "9.1 bits"))
            stale = run("--root", directory, "check")
            self.assertEqual(stale.returncode, 1)
            self.assertIn("-| filters and indexes | 9.1 bits", stale.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
