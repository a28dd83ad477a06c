#!/usr/bin/python3
"""The picture of README.md: one workload under two transports, link by link, at the same time.

usage: docs/replay.py PROGRAM FILE.gif [--frames N]

Runs docs/replay.toml with PROGRAM (`strack`) under both schemes and draws what the result files say: how busy each link between racks and spines
was in every interval, how deep its queue, which hosts have all of their message. Needs python3-matplotlib and python3-pil.
"""

import argparse
import io
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.collections import LineCollection  # noqa: E402
from PIL import Image  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# RoCEv2 as it does best here: four queue pairs for a message, each on a path of its own.
SCHEMES = (("RoCEv2, 4 QPs", ("transport.scheme=rocev2", "rocev2.qps_per_conn=4")), ("STrack", ("transport.scheme=strack",)))
BACK, INK, QUIET, IDLE = "#0f1720", "#e6edf3", "#8b98a5", "#243240"
BUSY = matplotlib.colors.LinearSegmentedColormap.from_list("busy", [IDLE, "#2f81f7", "#7ee0ff"])
QUEUED = matplotlib.colors.LinearSegmentedColormap.from_list("queued", ["#7ee0ff", "#f0b429", "#ff4d4f"])
LIMIT = 2_000_000  # bytes of the file


class Run:
    """What one result file says, by interval."""

    def __init__(self, file, label):
        self.label = label
        base = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        self.links = base.execute("SELECT link, from_node, to_node, rate_bps FROM links ORDER BY link").fetchall()
        rows = np.array(base.execute("SELECT time_ps, link, carried_bytes, queue_max_bytes FROM link_samples").fetchall(), dtype=np.int64)
        self.times = np.unique(rows[:, 0])
        at = np.searchsorted(self.times, rows[:, 0])
        self.carried = np.zeros((len(self.times), len(self.links)))
        self.queue = np.zeros_like(self.carried)
        self.carried[at, rows[:, 1]] = rows[:, 2]
        self.queue[at, rows[:, 1]] = rows[:, 3]
        self.step = self.times[1] - self.times[0]
        self.capacity = np.array([rate * self.step / 8e12 for *_, rate in self.links])
        self.flows = np.array(base.execute("SELECT dst, delivered_ps FROM flows ORDER BY dst").fetchall(), dtype=np.int64)
        self.end = int(self.flows[:, 1].max())

    def sample(self, time):
        index = min(int(np.searchsorted(self.times, time)), len(self.times) - 1)
        over = time > self.times[-1]
        idle = np.zeros(len(self.links))
        return (idle, idle) if over else (self.carried[index] / self.capacity, self.queue[index])


def place(name, racks, spines, hosts):
    kind, number = name.split()
    number = int(number)
    count, height = {"host": (hosts, 0.1), "tor": (racks, 0.5), "spine": (spines, 1.9)}[kind]
    return ((number + 0.5) / count, height)


def panel(axes, run):
    """The still parts, and what draws a moment."""
    names = {name for _, a, b, _ in run.links for name in (a, b)}
    counts = [sum(name.startswith(kind) for name in names) for kind in ("tor", "spine", "host")]
    between = [link for link, a, b, _ in run.links if "host" not in a + b]
    lines = []
    for link in between:
        (x0, y0), (x1, y1) = (place(run.links[link][i], *counts) for i in (1, 2))
        aside = 0.0016 if y1 > y0 else -0.0016  # both directions are seen
        lines.append([(x0 + aside, y0), (x1 + aside, y1)])
    drawn = axes.add_collection(LineCollection(lines, linewidths=1.0))
    for kind, size in (("tor", 46), ("spine", 70)):
        spots = np.array([place(name, *counts) for name in names if name.startswith(kind)])
        axes.scatter(spots[:, 0], spots[:, 1], s=size, marker="s", color=QUIET, zorder=3)
    spots = np.array([place(f"host {dst}", *counts) for dst in run.flows[:, 0]])
    hosts = axes.scatter(spots[:, 0], spots[:, 1] + 0.08, s=15, zorder=3)
    axes.set(xlim=(0, 1), ylim=(-0.55, 2.25))
    axes.axis("off")
    axes.text(0.01, 2.2, run.label, color=INK, fontsize=13, weight="bold", va="top")
    said = axes.text(0.99, 2.2, "", color=QUIET, fontsize=10, va="top", ha="right")
    axes.add_patch(plt.Rectangle((0.01, -0.32), 0.98, 0.1, color=IDLE))
    bar = axes.add_patch(plt.Rectangle((0.01, -0.32), 0, 0.1, color="#3fb950"))
    done = axes.text(0.01, -0.4, "", color=QUIET, fontsize=9, va="top")

    def draw(time):
        busy, queue = (values[between] for values in run.sample(time))
        deep = np.clip(np.log10(np.maximum(queue, 1) / 100_000) / 1.5, 0, 1)  # from 100 KB to 3 MB
        colours = np.where((deep > 0)[:, None], QUEUED(deep), BUSY(np.clip(busy, 0, 1)))
        order = np.argsort(deep + busy / 10)
        drawn.set(segments=[lines[i] for i in order], color=colours[order], linewidths=(0.7 + 1.3 * busy + 3.0 * deep)[order])
        arrived = run.flows[:, 1] <= time
        hosts.set_color(np.where(arrived, "#3fb950", "#4a5a6a"))
        bar.set_width(0.98 * arrived.mean())
        over = time >= run.end
        said.set_text(f"all done after {run.end / 1e6:.0f} us" if over else f"deepest queue {queue.max() / 1e3:.0f} KB")
        said.set_color("#3fb950" if over else QUIET)
        done.set_text(f"{arrived.sum()} of {len(arrived)} messages arrived")

    return draw


def frames(runs, count):
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.7), dpi=88, facecolor=BACK)
    figure.subplots_adjust(0.01, 0.03, 0.99, 0.9, 0.04)
    draws = [panel(one, run) for one, run in zip(axes, runs)]
    clock = figure.text(0.5, 0.97, "", color=INK, fontsize=11, ha="center", va="top", family="monospace")
    # Until the first is done as it is, then in a hurry.
    first, last = (pick(run.end for run in runs) * 1.03 for pick in (min, max))
    slow = count * 3 // 4
    times = [*np.linspace(first / slow, first, slow), *np.linspace(first, last, count - slow + 1)[1:]]
    for time in times:
        for draw in draws:
            draw(time)
        clock.set_text(f"{time / 1e6:6.0f} us" + ("  >>" if time > first else "    "))
        memory = io.BytesIO()
        figure.savefig(memory, format="png", facecolor=BACK)
        yield Image.open(memory).convert("RGB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        runs = []
        for label, settings in SCHEMES:
            out = pathlib.Path(work) / f"{len(runs)}.db"
            subprocess.run([options.program.resolve(), "sim", "run", HERE / "replay.toml", "--quiet", "--out", out,
                            *(word for setting in settings for word in ("--set", setting))], check=True, stdout=subprocess.DEVNULL)
            runs.append(Run(out, label))
    pictures = list(frames(runs, options.frames))
    # One palette for all, of the beginning, the middle and the end, so that only what changes is stored.
    width, height = pictures[0].size
    shown = Image.new("RGB", (width, 3 * height))
    for number, picture in enumerate((pictures[len(pictures) // 4], pictures[len(pictures) // 2], pictures[-1])):
        shown.paste(picture, (0, number * height))
    palette = shown.quantize(40, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    pictures = [one.quantize(palette=palette, dither=Image.Dither.NONE) for one in pictures]
    pictures[0].save(options.file, save_all=True, append_images=pictures[1:], duration=[110] * (len(pictures) - 1) + [2500], loop=0, optimize=True)
    size = options.file.stat().st_size
    print(f"{options.file}: {len(pictures)} frames, {size / 1e6:.2f} MB; " + ", ".join(f"{run.label}: {run.end / 1e6:.0f} us" for run in runs))
    return 0 if size < LIMIT else f"error: {options.file} has {size} bytes. less than {LIMIT} load quickly: take fewer --frames"


if __name__ == "__main__":
    sys.exit(main())
