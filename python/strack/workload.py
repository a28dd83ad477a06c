"""Workloads made in Python: graphs of messages, and lists of flows.

Both are files that a scenario names, in the forms that the command line reads too: a GOAL schedule, a list of flows.
"""

import os

import numpy

from . import _core

MOMENTS = {"started": 0, "sent": 1, "received": 2}


def _column(values, size=None):
    array = numpy.atleast_1d(numpy.asarray(values))
    if array.dtype.kind not in "iu" and not (array.dtype.kind == "f" and (array == numpy.floor(array)).all()) and array.size:
        raise TypeError(f"whole numbers are needed, not {array.dtype}")
    array = array.astype(numpy.int64)
    return numpy.broadcast_to(array, (size,)) if size is not None and array.size == 1 else array


class Graph:
    """Messages and computations of so many ranks, and what each waits for.

    >>> g = strack.Graph(ranks=3)
    >>> first = g.message(0, 1, 1_000_000)           # arrays make many at once
    >>> work = g.compute(1, 5_000)                    # nanoseconds
    >>> last = g.message(1, 2, 1_000_000)
    >>> g.wait(work, first, "received")               # what is awaited happens at the rank that waits
    >>> g.wait(last, work)
    >>> result = strack.run(g.scenario("chain.goal"))

    Numbers of nodes count from 0, in the order in which they were made. A wait is for a node's end: of a message that another
    rank sent, "received"; of an own one, "sent" (wholly acknowledged) or "started".
    """

    def __init__(self, ranks):
        self.ranks = int(ranks)
        if not 1 <= self.ranks <= 1 << 20:
            raise ValueError(f"a graph has 1 to {1 << 20} ranks, not {ranks}")
        self._nodes = []  # arrays of rank, peer, amount, not_before
        self._waits = []  # arrays of node, other, moment
        self._count = 0

    def __len__(self):
        return self._count

    def __repr__(self):
        messages = sum(int((peer >= 0).sum()) for _, peer, _, _ in self._nodes)
        return f"<strack.Graph of {self.ranks} ranks: {messages} messages, {self._count - messages} computations>"

    def _add(self, rank, peer, amount, not_before):
        columns = [_column(part) for part in (rank, peer, amount, not_before)]
        size = max(column.size for column in columns)
        columns = [_column(column, size) for column in columns]
        if any(column.size != size for column in columns):
            raise ValueError(f"columns of {', '.join(str(c.size) for c in columns)} rows. all need as many, or one")
        self._nodes.append(columns)
        numbers = numpy.arange(self._count, self._count + size)
        self._count += size
        return numbers if any(numpy.ndim(part) for part in (rank, peer, amount, not_before)) else int(numbers[0])

    def message(self, src, dst, size, not_before_ns=0):
        """One message, or with arrays many: from rank `src` to `dst`, `size` bytes. Returns the node's number, or all."""
        return self._add(src, dst, size, not_before_ns)

    def compute(self, rank, time_ns, not_before_ns=0):
        """A computation, or with arrays many, of so many nanoseconds. Returns the node's number, or all."""
        return self._add(rank, -1, time_ns, not_before_ns)

    def wait(self, node, other, moment=None):
        """`node` starts no earlier than `moment` of `other`: "received", "sent" or "started". Arrays make many at once.

        By default the end of `other` as the rank that waits sees it: "received" for what it is sent, "sent" for its own.
        """
        node, other = _column(node), _column(other)
        size = max(node.size, other.size)
        node, other = _column(node, size), _column(other, size)
        if moment is None:
            code = numpy.full(size, -1)
        else:
            if moment not in MOMENTS:
                raise ValueError(f"{moment!r} is no moment. they are {', '.join(MOMENTS)}")
            code = numpy.full(size, MOMENTS[moment])
        self._waits.append([node, other, code])

    def _columns(self, parts, width):
        return [numpy.concatenate([part[i] for part in parts]) if parts else numpy.zeros(0, numpy.int64) for i in range(width)]

    def goal(self):
        """The graph as a GOAL schedule, the text that a scenario's `workload.file` can name."""
        rank, peer, amount, start = self._columns(self._nodes, 4)
        node, other, moment = self._columns(self._waits, 3)
        open_ = (moment == -1) & (node >= 0) & (node < self._count) & (other >= 0) & (other < self._count)
        own = numpy.zeros(len(node), bool)
        own[open_] = rank[other[open_]] == rank[node[open_]]
        moment = numpy.where(moment != -1, moment, numpy.where(own, MOMENTS["sent"], MOMENTS["received"]))
        return _core.goal(self.ranks, rank, peer, amount, start, node, other, moment)

    def save(self, path):
        """Writes the schedule; the name has to end in .goal."""
        if not os.fspath(path).endswith(".goal"):
            raise ValueError(f"{os.fspath(path)}: a schedule's name ends in .goal, so that readers know what it is")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.goal())
        return path

    def scenario(self, path, base=None):
        """Saves the schedule, and makes a scenario with it: of `base`, or with a host for each rank and defaults."""
        from .scenario import Scenario
        self.save(path)
        if base is None:
            return Scenario(path)
        base = base if isinstance(base, Scenario) else Scenario(base)
        return base._with_workload({"kind": "trace", "file": os.path.abspath(path)})

    @classmethod
    def from_edges(cls, src, dst, size, ranks=None):
        """Messages that all start at once: arrays of senders, receivers and bytes."""
        src, dst = _column(src), _column(dst)
        made = cls(ranks if ranks is not None else int(max(src.max(), dst.max())) + 1)
        made.message(src, dst, size)
        return made

    @classmethod
    def from_networkx(cls, graph, ranks=None):
        """The messages of a networkx DiGraph: an edge a -> b says that b waits for a, to the `moment` it may have.

        Nodes are messages with the attributes `src`, `dst` and `size`, or computations with `rank` and `time_ns`; either may
        have `not_before_ns`.
        """
        number, rows, highest = {}, [], 0
        for key, node in graph.nodes(data=True):
            number[key] = len(number)
            message = "src" in node
            for name in ("src", "dst", "size") if message else ("rank", "time_ns"):
                if name not in node:
                    raise ValueError(f"node {key!r} has no {name}. a message has src, dst and size, a computation rank and time_ns")
            row = (node["src"], node["dst"], node["size"]) if message else (node["rank"], -1, node["time_ns"])
            highest = max(highest, row[0], row[1])
            rows.append((*row, node.get("not_before_ns", 0)))
        made = cls(ranks if ranks is not None else highest + 1)
        if rows:
            made._add(*numpy.array(rows, dtype=numpy.int64).T)
        for before, after, edge in graph.edges(data=True):
            made.wait(number[after], number[before], edge.get("moment"))
        return made


def save_flows(path, src, dst, size, start_ns=0):
    """Writes a list of flows, a message each on a connection of its own, for `workload.kind` "file". Returns the path."""
    columns = [_column(part) for part in (src, dst, size, start_ns)]
    rows = max(column.size for column in columns)
    columns = [_column(column, rows) for column in columns]
    with open(path, "w", encoding="utf-8") as file:
        file.write("# src dst bytes start\n")
        file.writelines(f"{a} {b} {c} {d}ns\n" for a, b, c, d in zip(*columns))
    return path
