"""What a run has left, as tables."""

import html as _html
import json
import os
import threading

from . import _core
from ._frames import arrays, frame
from .errors import RunError

TABLES = ("flows", "jobs", "links", "link_samples", "flow_samples", "flow_events", "channels", "workloads", "settings", "counters", "run")


def load(file):
    """A result file that the command line or an earlier session has written."""
    return Result(file)


class Result:
    """One run. Its tables are DataFrames, read when they are asked for and kept; docs/results.md explains their columns.

    >>> r = strack.run("scenarios/small.toml")
    >>> r.flows.assign(fct_us=(r.flows.end_ps - r.flows.start_ps) / 1e6).fct_us.describe()
    >>> r.summary["slowdown"]
    >>> r.sql("SELECT src, count(*) AS flows FROM flows GROUP BY src")

    Times are in picoseconds and sizes in bytes, as whole numbers; what can be missing (the end of a flow that was not done)
    is of pandas' Int64, and <NA>.

    Of a run without `out` the rows are in memory. Tables of such a run are that memory, without a copy, and cannot be written to:
    `r.flows.copy()` can. What takes the file (sql(), views such as `fct`, reports) has it written, once.
    """

    def __init__(self, file, _memory=None):
        self._file = os.path.abspath(os.fspath(file))
        self._memory = _memory  # its rows, where there is no file yet
        self._tables = {}
        self._lock = threading.Lock()
        self._is_file = _memory is None
        self._summary = json.loads(_core.summary(self._file) if self._is_file else _memory.summary(self._file))[0]

    def __reduce__(self):
        return Result, (self.file,)

    @property
    def file(self):
        """The result file: SQLite, for any other tool too."""
        with self._lock:
            if not self._is_file:
                self._memory.write(self._file)
                self._is_file = True
        return self._file

    name = property(lambda self: self._summary["name"], doc="Of the scenario.")
    scheme = property(lambda self: self._summary["scheme"], doc="The transport.")
    seed = property(lambda self: self._summary["seed"], doc="What was random followed from it.")
    status = property(lambda self: self._summary["status"], doc='"finished", or how else it ended.')
    complete = property(lambda self: self._summary["complete"], doc="The run has reached its own end.")

    @property
    def summary(self):
        """The figures of `strack sim summary --json`, as a dict."""
        return dict(self._summary)

    @property
    def scenario(self):
        """The scenario of this very run."""
        from .scenario import Scenario
        text = self._memory.scenario if self._memory else self.arrays("run")["scenario"][0]
        return Scenario.from_text(text, name=self.name)

    def table(self, name):
        """A table or view of the file as a DataFrame."""
        if name not in self._tables:
            columns = self._memory.table(name) if self._memory else None
            if columns is not None:
                made = frame([column[:3] for column in columns], {column[0] for column in columns if column[3]})
            else:
                facts = self._query(f'SELECT name, "notnull", pk FROM pragma_table_info(\'{self._known(name)}\')')
                nullable = {column for column, always, key in zip(*(part[1] for part in facts)) if not always and not key}
                made = frame(self._query(f'SELECT * FROM "{name}"'), nullable)
            self._tables[name] = made
        return self._tables[name]

    def arrays(self, name):
        """The same as a dict of numpy arrays, without pandas; what is missing is masked."""
        columns = self._memory.table(name) if self._memory else None
        if columns is not None:
            return arrays(column[:3] for column in columns)
        return arrays(self._query(f'SELECT * FROM "{self._known(name)}"'))

    def sql(self, query):
        """The answer to an SQL query, as a DataFrame."""
        return frame(self._query(query))

    def _query(self, sql):
        return _core.query(self.file, sql)

    @property
    def tables(self):
        """The tables and views of the file."""
        names = self._query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY type, rowid")
        return list(names[0][1])

    def _known(self, name):
        if name not in self.tables:
            raise RunError(f"{self._file}: has no table {name}. it has {', '.join(self.tables)}")
        return name

    flows = property(lambda self: self.table("flows"), doc="One row per flow.")
    jobs = property(lambda self: self.table("jobs"), doc="One row per job: collectives and traces.")
    links = property(lambda self: self.table("links"), doc="One row per directed link, where a time series was recorded.")
    link_samples = property(lambda self: self.table("link_samples"), doc="Links over time (record.interval_us).")
    flow_samples = property(lambda self: self.table("flow_samples"), doc="Flows over time (record.flows).")
    flow_events = property(lambda self: self.table("flow_events"), doc="Every packet of some flows (record.inspect).")
    flow_log = property(lambda self: self.table("flow_log"), doc="The same with names and microseconds.")
    channels = property(lambda self: self.table("channels"), doc="Connections of jobs that were sampled.")
    workloads = property(lambda self: self.table("workloads"), doc="One row per workload of the scenario.")
    settings = property(lambda self: self.table("settings"), doc="One row per key of the scenario.")
    fct = property(lambda self: self.table("fct"), doc="Completion times of finished flows, in microseconds.")
    job_times = property(lambda self: self.table("job_times"), doc="Times of finished jobs, in microseconds.")

    @property
    def samples(self):
        """`link_samples` and `flow_samples`, as a dict."""
        return {"links": self.link_samples, "flows": self.flow_samples}

    @property
    def counters(self):
        """Totals of the run, as a Series by name."""
        table = self.table("counters")
        return table.set_index("name")["value"]

    def report(self, title=""):
        """The page of `strack report`: shows itself in a notebook, and has save(path)."""
        return Report([self], title)

    def plot(self, what="fct", **options):
        """A picture: `strack.plot.fct`, `queues`, `windows` or `links` of this run."""
        from . import plot
        if what not in plot.KINDS:
            raise ValueError(f"there is no plot {what!r}. there are {', '.join(plot.KINDS)}")
        return getattr(plot, what)(self, **options)

    def _rows(self):
        s = self._summary
        rows = [("status", s["status"]), ("seed", s["seed"]), ("hosts", s["hosts"])]
        for key, label in (("max_fct_ps", "max FCT"), ("mean_fct_ps", "mean FCT"), ("p99_fct_ps", "p99 FCT"), ("max_job_ps", "max job")):
            if s.get(key) is not None:
                rows.append((label, f"{s[key] / 1e6:,.1f} us"))
        if s["slowdown"] is not None:
            rows.append(("x ideal", f"{s['slowdown']:.3f}"))
        return rows + [("drops", s["drops"]), ("retransmissions", s["retransmissions"])]

    def __repr__(self):
        return f"<strack.Result {self.name}, {self.scheme}: " + ", ".join(f"{key} {text}" for key, text in self._rows()) + ">"

    def _repr_html_(self):
        rows = "".join(f"<tr><th>{_html.escape(key)}</th><td>{_html.escape(str(text))}</td></tr>" for key, text in self._rows())
        return f"<table><caption>{_html.escape(f'{self.name}, {self.scheme}')}</caption>{rows}</table>"


class Report:
    """The page of `strack report` about one or several results."""

    def __init__(self, results, title=""):
        self.html = _core.report([r.file if isinstance(r, Result) else os.fspath(r) for r in results], title)

    def save(self, path):
        """Writes the page: one HTML file that needs nothing else."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self):
        return (f'<iframe srcdoc="{_html.escape(self.html)}" style="width: 100%; height: 720px; border: 0" '
                'title="report of strack"></iframe>')


def report(results, title=""):
    """A page that compares results: Result objects, or names of result files."""
    return Report(list(results), title)
