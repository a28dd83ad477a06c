from os import PathLike
from typing import Any, Dict, Iterable, List, Tuple, Union

import numpy
import pandas

from .scenario import Scenario

TABLES: Tuple[str, ...]

def load(file: Union[str, PathLike[str]]) -> Result: ...
def report(results: Iterable[Union[Result, str, PathLike[str]]], title: str = ...) -> Report: ...

class Result:
    file: str
    name: str
    scheme: str
    seed: int
    status: str
    complete: bool
    flows: pandas.DataFrame
    jobs: pandas.DataFrame
    links: pandas.DataFrame
    link_samples: pandas.DataFrame
    flow_samples: pandas.DataFrame
    flow_events: pandas.DataFrame
    flow_log: pandas.DataFrame
    channels: pandas.DataFrame
    workloads: pandas.DataFrame
    settings: pandas.DataFrame
    fct: pandas.DataFrame
    job_times: pandas.DataFrame
    def __init__(self, file: Union[str, PathLike[str]]) -> None: ...
    @property
    def summary(self) -> Dict[str, Any]: ...
    @property
    def scenario(self) -> Scenario: ...
    @property
    def samples(self) -> Dict[str, pandas.DataFrame]: ...
    @property
    def counters(self) -> pandas.Series: ...
    @property
    def tables(self) -> List[str]: ...
    def table(self, name: str) -> pandas.DataFrame: ...
    def arrays(self, name: str) -> Dict[str, numpy.ndarray]: ...
    def sql(self, query: str) -> pandas.DataFrame: ...
    def report(self, title: str = ...) -> Report: ...
    def plot(self, what: str = ..., **options: Any) -> Any: ...

class Report:
    html: str
    def __init__(self, results: Iterable[Union[Result, str, PathLike[str]]], title: str = ...) -> None: ...
    def save(self, path: Union[str, PathLike[str]]) -> None: ...
