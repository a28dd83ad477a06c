"""STrack's simulator in Python: scenarios as objects, runs and sweeps, results as DataFrames.

    import strack

    s = strack.Scenario("scenarios/small.toml")
    s.workload.size = "4 MB"
    r = strack.run(s, progress=True)
    r.flows                                  # a DataFrame
    r.plot("fct")
    strack.sweep(s, {"transport.scheme": ["strack", "strack-oblivious"]}, seeds=[1, 2]).frame

docs/python.md is a tour; `help(strack.Scenario)`, `help(strack.run)`, `help(strack.Result)` say the rest.
"""

from . import plot, udp, workload
from ._core import version as __version__
from .errors import RunError, ScenarioError, TransportError
from .result import Report, Result, load, report
from .running import Sweep, run, sweep
from .scenario import Scenario, keys, schemes
from .workload import Graph, save_flows

__all__ = ["Graph", "Report", "Result", "RunError", "Scenario", "ScenarioError", "Sweep", "TransportError", "keys", "load", "plot", "report", "run",
           "save_flows", "schemes", "sweep", "udp", "workload"]
