"""One run, and many."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref

from . import _core
from ._toml import value as _value
from ._progress import Bar
from .errors import RunError
from .result import Result
from .scenario import Scenario


def _scenario(scenario):
    return scenario if isinstance(scenario, Scenario) else Scenario(scenario)


def _share(progress):
    done = progress["bytes_acked"] / progress["bytes"] if progress["bytes"] else 0
    return min(1.0, done)


def run(scenario, *, seed=None, threads=None, out=None, force=False, memory=2_000_000_000, progress=None, cancel=None):
    """Runs a scenario (an object, a file's name or a dict) and returns its Result.

    seed      what is random follows from it; else the scenario's first
    threads   of the simulator; results do not depend on it; else as the scenario says
    out       the result file; else the Result has its rows in memory
    force     replaces `out` where it is a result file already
    memory    without `out`: so many bytes of rows at most; a run that has more has a temporary file, which goes with the Result
    progress  True: a bar, in a terminal or a notebook; or a function that is given a dict now and then
    cancel    an object with is_set(), such as threading.Event: once it is set the run ends as interrupted

    Other threads of Python go on meanwhile. Ctrl-C ends the run and raises KeyboardInterrupt; what there is until then is in
    `out`, marked as partial.
    """
    scenario = _scenario(scenario)
    keep = None
    if memory < 0:
        raise ValueError(f"memory is {memory} bytes. give 0 for a file, or more for rows in memory")
    if out is not None:
        memory = 0
    else:
        keep = tempfile.mkdtemp(prefix="strack-")
        out = os.path.join(keep, "run.db")
    bar = Bar(f"{scenario.name}, {scenario.scheme}") if progress is True else None
    tell = (lambda state: bar.show(_share(state))) if bar else progress or None
    try:
        ended = _core.run(scenario._file, scenario._text, scenario._set, seed, threads, os.fspath(out), force, memory, tell, cancel)
        for text in ended["warnings"]:
            warnings.warn(text, stacklevel=2)
        result = Result(out, ended["in_memory"])
    except BaseException:
        if keep:
            shutil.rmtree(keep, ignore_errors=True)
        raise
    finally:
        if bar:
            bar.close()
    if keep:
        weakref.finalize(result, shutil.rmtree, keep, ignore_errors=True)
    return result


class Sweep:
    """The runs of a sweep, in the order of their values; the last axis changes fastest.

    len(), [i] and iteration give Results; `frame` has a row for each: its values, its seed and the figures of its summary.
    """

    def __init__(self, axes, points, results):
        self.axes, self._points, self._results = axes, points, results

    def __len__(self):
        return len(self._results)

    def __getitem__(self, index):
        return self._results[index]

    def __iter__(self):
        return iter(self._results)

    @property
    def frame(self):
        """A DataFrame: a column for each axis and the seed, then the figures of `Result.summary`."""
        import pandas
        rows = [{**point, **{k: v for k, v in r.summary.items() if not isinstance(v, (dict, list)) and k not in point}}
                for point, r in zip(self._points, self._results)]
        return pandas.DataFrame(rows)

    def report(self, title=""):
        """The page that compares them."""
        from .result import Report
        return Report(self._results, title)

    def _repr_html_(self):
        """In a notebook: the axes, the seed, and the figures that one looks at first."""
        frame = self.frame
        shown = [*self.axes, "seed", "status", "max_fct_ps", "p99_fct_ps", "max_job_ps", "slowdown", "drops", "retransmissions"]
        return frame[[name for name in shown if name in frame and not frame[name].isna().all()]]._repr_html_()

    def __repr__(self):
        return f"<strack.Sweep of {len(self)} runs over {', '.join(self.axes) or 'seeds'}>"


class _Job:
    """One run of a sweep, and where it is."""

    def __init__(self, scenario, point, out):
        self.scenario, self.point, self.out = scenario, point, out
        self.there = self.done = False
        self.share = 0.0
        self.failure = None
        self.process = None


def _plan(scenario, axes, seeds, folder):
    """Every combination, loaded, so that whatever is wrong with one is known before the first starts."""
    jobs, taken = [], set()
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, values))
        made = scenario.copy(point)
        for seed in made.seeds if seeds is None else seeds:
            one = made.copy({"run.seed": seed})
            parts = [one.name] + ([] if "transport.scheme" in axes else [one.scheme]) + [str(v) for v in values] + [f"s{seed}"]
            name = base = _core.safe_name("-".join(parts))
            for number in itertools.count(2):
                if name not in taken:
                    break
                name = f"{base}-{number}"
            taken.add(name)
            jobs.append(_Job(one, {**point, "seed": seed}, os.path.join(folder, name + ".db")))
    return jobs


def _work(job, threads, stop):
    """Runs one in a process of its own: what it takes and how it ends is nobody else's."""
    request = {"file": job.scenario._file, "text": job.scenario._text, "set": job.scenario._set, "seed": job.point["seed"],
               "threads": threads, "out": job.out}
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    job.process = subprocess.Popen([sys.executable, "-m", "strack._worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}, start_new_session=True)
    # Read beside the rest, so that a process with much to say is not held up.
    said = []
    listener = threading.Thread(target=lambda: said.extend(job.process.stderr), daemon=True)
    listener.start()
    with job.process as process:
        try:
            process.stdin.write(json.dumps(request))
            process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already: cancelled, or its status and its last words say why
        for line in process.stdout:
            answer = json.loads(line)
            job.share = answer.get("share", job.share)
            job.failure = answer.get("failure", job.failure)
            if stop.is_set():
                process.terminate()
    listener.join()
    if process.returncode != 0 and not job.failure and not stop.is_set():
        job.failure = "".join(said).strip().splitlines()[-1] if said else f"ended with status {process.returncode}"
    job.done = process.returncode == 0
    job.share = 1.0 if job.done else job.share


def _run_all(jobs, workers, threads, cancel, bar):
    waiting, lock, stop = [job for job in jobs if not job.there], threading.Lock(), threading.Event()

    def serve():
        while not stop.is_set():
            with lock:
                if not waiting:
                    return
                job = waiting.pop(0)
            try:
                _work(job, threads, stop)
            except Exception as failure:  # of starting a process; told with the others
                job.failure = str(failure)

    servers = [threading.Thread(target=serve, daemon=True) for _ in range(min(workers, len(waiting)))]
    for server in servers:
        server.start()
    try:
        while any(server.is_alive() for server in servers):
            time.sleep(0.05)
            if bar:
                bar.show(sum(1.0 if job.there else job.share for job in jobs) / len(jobs))
            if cancel is not None and cancel.is_set():
                break
    finally:
        # Ctrl-C and cancel end here too: nothing is left running.
        stop.set()
        for job in jobs:
            if job.process is not None and job.process.poll() is None:
                job.process.terminate()
        for server in servers:
            server.join()


def sweep(scenario, axes=None, *, seeds=None, folder=None, jobs=None, threads=1, force=False, progress=None, cancel=None):
    """Runs every combination of values, in parallel, and returns a Sweep.

    >>> s = strack.sweep("scenarios/small.toml", {"transport.max_paths": [8, 64, 256]}, seeds=[1, 2, 3], folder="results/paths")
    >>> s.frame.pivot_table(index="transport.max_paths", values="max_fct_ps")

    axes      a dict from key to its values
    seeds     for each combination; else the scenario's own
    folder    of the result files. A sweep that was cancelled, or has more values now, goes on from what is there already;
              without a folder results are temporary
    jobs      runs at the same time; else one per processor
    threads   of each run
    force     runs again what is there
    progress, cancel  as in run(); progress is True or nothing
    """
    scenario = _scenario(scenario)
    axes = {key: list(values) for key, values in (axes or {}).items()}
    for key, values in axes.items():
        if not values:
            raise ValueError(f"{key} has no values. give at least one, such as {{{key!r}: [1, 2]}}")
        for item in values:
            _value(item)
    keep = tempfile.mkdtemp(prefix="strack-sweep-") if folder is None else None
    folder = keep or os.fspath(folder)
    bar = None
    try:
        os.makedirs(folder, exist_ok=True)
        planned = _plan(scenario, axes, seeds, folder)
        _look(planned, force)
        bar = Bar(f"{len(planned)} runs") if progress else None
        _run_all(planned, jobs or len(os.sched_getaffinity(0)), threads, cancel, bar)
        failed = [job for job in planned if job.failure]
        if failed:
            raise RunError(f"{len(failed)} of {len(planned)} runs failed, the first: {failed[0].failure}")
        done = [job for job in planned if job.there or job.done]
        made = Sweep(list(axes), [job.point for job in done], [Result(job.out) for job in done])
    except BaseException:
        if keep:
            shutil.rmtree(keep, ignore_errors=True)
        raise
    finally:
        if bar:
            bar.close()
    if keep:
        weakref.finalize(made, shutil.rmtree, keep, ignore_errors=True)
    return made


def _look(planned, force):
    """What an earlier sweep left: the very runs are not run again, others must not be replaced unasked."""
    for job in planned:
        if force:  # the run itself replaces what is a result file, and nothing else
            continue
        old = _core.old_result(job.out, job.scenario.toml, job.point["seed"])
        job.there = old == "same"
        if old in ("scenario", "version"):
            other = "scenario" if old == "scenario" else "version of this program"
            raise RunError(f"{job.out}: holds a finished run of another {other}. choose another folder, or force=True to run "
                           "everything again")
