#!/usr/bin/env python3
"""Draws the false-positive rates that micro_benchmark observed beside what theory says.

  micro_benchmark --benchmark_filter='LaneQuery|GuardQuery' --benchmark_format=json | tools/filter_plot.py > filters.svg
"""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 420, 70, 50, 20, 60
BITS = (2, 18)  # the axes' ends
RATES = (1e-4, 1.0)


def x_of(bits):
    return LEFT + (bits - BITS[0]) / (BITS[1] - BITS[0]) * (WIDTH - LEFT - RIGHT)


def y_of(rate):
    low, high = (math.log10(r) for r in RATES)
    return TOP + (high - math.log10(max(rate, RATES[0]))) / (high - low) * (HEIGHT - TOP - BOTTOM)


def text(x, y, content, anchor="middle", size=13):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{content}</text>'


def line(points, color, dashes=""):
    path = " ".join(f"{x_of(b):.1f},{y_of(r):.1f}" for b, r in sorted(points))
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}"/>'


def axes():
    out = []
    for power in range(-4, 1):
        y = y_of(10**power)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#888" stroke-opacity="0.3"/>')
        out.append(text(LEFT - 8, y + 4, f"{100 * 10**power:g} %", "end"))
    for bits in range(BITS[0], BITS[1] + 1, 2):
        out.append(text(x_of(bits), HEIGHT - BOTTOM + 20, str(bits)))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "filter bits for each key"))
    out.append(text(LEFT, 22, "Absent keys that a filter lets pass", "start", 16))
    return out


def arguments(run):
    return dict(part.split(":") for part in run["name"].split("/")[1:])


def best_of_each_bits(runs, wanted):
    """One run for each number of bits: of those wanted, the one with most probes (the optimum)."""
    best = {}
    for run in runs:
        given = arguments(run)
        if all(given.get(k) == v for k, v in wanted.items()):
            key = given["bits"]
            if key not in best or int(given.get("k", 0)) > int(arguments(best[key]).get("k", 0)):
                best[key] = run
    return list(best.values())


def marks(runs, color, shape):
    out = []
    for run in runs:
        x, y = x_of(run["bits"]), y_of(run["observed_rate"])
        if shape == "circle":
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>')
        else:
            out.append(f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{color}"/>')
    return out


def main():
    runs = json.load(sys.stdin)["benchmarks"]
    lanes = best_of_each_bits([r for r in runs if r["name"].startswith("LaneQuery/")], {"keys": "36"})
    guards = best_of_each_bits([r for r in runs if r["name"].startswith("GuardQuery/")], {"keys": "200000"})
    if not lanes or not guards:
        sys.exit("filter_plot: the input has no LaneQuery with 36 keys, or no GuardQuery with 200000")
    optimum = [(b / 4, 0.5 ** (b / 4 * math.log(2))) for b in range(4 * BITS[0], 4 * BITS[1] + 1)]
    legend = [("#888", "", "2 to the power of -(bits ln 2): the least that a Bloom filter can do"),
              ("#3a76c4", "circle", "lane of a block of 36 keys, observed"),
              ("#c4622d", "square", "guard of a file, in lines of 512 bits, observed; line: theory of such lines")]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#666">']
    out += axes()
    out.append(line(optimum, "#888", "6 4"))
    out.append(line([(r["bits"], r["line_theory_rate"]) for r in guards], "#c4622d"))
    out += marks(lanes, "#3a76c4", "circle") + marks(guards, "#c4622d", "square")
    for row, (color, shape, label) in enumerate(legend):
        y = TOP + 12 + row * 20
        x = WIDTH - RIGHT - 500
        if shape == "":
            out.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 24}" y2="{y - 4}" stroke="{color}" stroke-width="2" stroke-dasharray="6 4"/>')
        elif shape == "circle":
            out.append(f'<circle cx="{x + 12}" cy="{y - 4}" r="4.5" fill="{color}"/>')
        else:
            out.append(f'<rect x="{x + 8}" y="{y - 8}" width="8" height="8" fill="{color}"/>')
        out.append(text(x + 32, y, label, "start", 12))
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
