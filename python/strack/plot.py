"""Pictures of results with the report's colours. matplotlib is imported when the first is drawn.

Each function takes a Result, or several, draws into `ax` (a new one where none is given) and returns it.
"""

import json
import os

KINDS = ("fct", "queues", "windows", "links")


def colours(dark=False):
    """The report's colours, in its order."""
    with open(os.path.join(os.path.dirname(__file__), "palette.json"), encoding="utf-8") as file:
        return [entry["dark" if dark else "light"] for entry in json.load(file)]


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError as missing:
        raise ImportError("pictures are drawn by matplotlib, which is not installed. on Debian: apt-get install "
                          "python3-matplotlib") from missing
    from cycler import cycler
    ax = matplotlib.pyplot.figure(figsize=(7, 4)).subplots()
    ax.set_prop_cycle(cycler(color=colours()))
    ax.grid(alpha=0.25)
    return ax


def _several(results):
    return list(results) if hasattr(results, "__iter__") else [results]


def _label(result, results):
    same = len({(r.name, r.scheme) for r in results}) < len(results)
    return f"{result.scheme}, seed {result.seed}" if same else result.scheme if len({r.name for r in results}) == 1 else f"{result.name}, {result.scheme}"


def fct(results, ax=None):
    """The distribution of flow completion times; of runs with jobs, of the jobs' times."""
    results, ax = _several(results), _axes(ax)
    for result in results:
        jobs = result.summary["jobs_finished"] > 0
        times = result.job_times["time_us"] if jobs else result.fct["fct_us"]
        ordered = times.sort_values().to_numpy()
        share = [(i + 1) / len(ordered) for i in range(len(ordered))]
        ax.step(ordered, share, where="post", label=_label(result, results))
        ax.set_xlabel("job time (us)" if jobs else "flow completion time (us)")
    ax.set_ylabel("share of all")
    ax.set_ylim(0, 1.02)
    ax.legend()
    return ax


def _recorded(result, table, key):
    from .errors import RunError
    rows = result.table(table)
    if len(rows) == 0:
        raise RunError(f"{result.file}: nothing to draw, {table} is empty. run it with {key}")
    return rows


def queues(results, ax=None):
    """The deepest queue of all links over time."""
    results, ax = _several(results), _axes(ax)
    for result in results:
        rows = _recorded(result, "link_samples", "record.interval_us and record.queues").groupby("time_ps")["queue_max_bytes"].max()
        ax.plot(rows.index / 1e6, rows / 1e3, label=_label(result, results))
    ax.set_xlabel("time (us)")
    ax.set_ylabel("deepest queue (KB)")
    ax.legend()
    return ax


def windows(result, flows=(0,), ax=None):
    """The congestion windows of some flows over time."""
    ax = _axes(ax)
    rows = _recorded(result, "flow_samples", "record.interval_us and record.flows")
    for flow in flows:
        own = rows[rows["flow"] == flow]
        ax.plot(own["time_ps"] / 1e6, own["cwnd_bytes"] / 1e3, label=f"flow {flow}")
    ax.set_xlabel("time (us)")
    ax.set_ylabel("window (KB)")
    ax.legend()
    return ax


def links(result, ax=None):
    """The mean load of each link between switches, in order of load."""
    ax = _axes(ax)
    _recorded(result, "link_samples", "record.interval_us and record.links")
    rows = result.sql("SELECT sum(carried_bytes) * 8e12 / rate_bps / (SELECT now_ps FROM run) AS load FROM links "
                      "JOIN link_samples USING (link) WHERE from_node NOT LIKE 'host %' AND to_node NOT LIKE 'host %' "
                      "GROUP BY link ORDER BY load DESC")
    ax.bar(range(len(rows)), rows["load"], width=1.0)
    ax.set_xlabel("links between switches, by load")
    ax.set_ylabel("mean load")
    return ax
