"""Scenarios as objects."""

import copy
import difflib
import html
import os
import re

from . import _core, _toml
from .errors import ScenarioError

_SECTIONS = {}
for _section, _key, _help, _words in _core.keys():
    _SECTIONS.setdefault(_section, {})[_key] = (_help, _words)


# Names for attributes: what has a hyphen is written with an underscore.
_ATTRIBUTES = {section.replace("-", "_"): section for section in _SECTIONS if section}


def _no_such(key):
    """What is wrong with a key that a scenario does not have."""
    known = list(keys())
    plain = re.sub(r"\.\d+\.", ".", key)  # workload.0.size
    if plain in known:
        return f"{key} is not set in this scenario, and has no default that applies"
    near = difflib.get_close_matches(plain, known, 1)
    return f"there is no key {key}" + (f". did you mean {near[0]}?" if near else ". strack.keys() lists them")


def keys(section=None):
    """The keys that a scenario can have, as a dict from "section.key" to what it means.

    >>> strack.keys("workload")["workload.size"]
    """
    found = {}
    for name, entries in _SECTIONS.items():
        if section in (None, name):
            found.update({f"{name}.{key}" if name else key: about for key, (about, _) in entries.items()})
    if not found:
        raise ScenarioError(f"there is no section {section}. the sections are {', '.join(name for name in _SECTIONS if name)}")
    return found


def schemes():
    """The transports that `transport.scheme` can name, as a dict from the name to its label in reports."""
    return dict(_core.schemes())


class _Section:
    """A scenario's section: its keys as attributes, with completion."""

    def __init__(self, scenario, name):
        object.__setattr__(self, "_scenario", scenario)
        object.__setattr__(self, "_name", name)

    def __dir__(self):
        return sorted(_SECTIONS[self._name])

    def __getattr__(self, key):
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self._scenario[f"{self._name}.{key}"]
        except KeyError as missing:
            raise AttributeError(missing.args[0]) from None

    def __setattr__(self, key, item):
        self._scenario[f"{self._name}.{key}"] = item

    def __repr__(self):
        own = self._name + "."
        rows = [f"{key.removeprefix(own)} = {written}" for key, written, _, _ in self._scenario._made["settings"] if key.startswith(own)]
        return "\n".join([f"[{self._name}]"] + rows)


class Scenario:
    """What a run simulates: a network, a transport, a workload.

    >>> s = strack.Scenario("scenarios/small.toml")          # a file, or a trace of another tool
    >>> s = strack.Scenario({"topology": {"hosts": 128}})    # or a dict
    >>> s = strack.Scenario.from_text("[topology]\\nhosts = 128")
    >>> s.topology.hosts = 64                                 # one key; completion knows them all
    >>> s.set({"workload.kind": "incast", "workload.fan_in": 8})  # several that need each other
    >>> s["workload.size"]
    '2 MB'

    Every change is checked at once, as `strack sim run --set` checks it: what makes no sense raises ScenarioError and changes
    nothing. `strack.keys()` lists what can be set.
    """

    def __init__(self, source=None):
        self._file, self._text, self._set = "scenario", "", []
        if isinstance(source, Scenario):
            self._file, self._text, self._set = source._file, source._text, list(source._set)
        elif isinstance(source, dict):
            self._text = _toml.text(source)
        elif isinstance(source, (str, os.PathLike)):
            self._file, self._text = os.fspath(source), None
        elif source is not None:
            raise TypeError(f"a scenario is made of a file's name, a dict or another scenario, not of {type(source).__name__}"
                            + (". a graph's is graph.scenario(file)" if hasattr(source, "scenario") else ""))
        self._check(self._set)

    @classmethod
    def from_file(cls, path):
        """The scenario of a TOML file; or of a trace (.goal, .cm, .et, .json) with defaults for everything else."""
        return cls(path)

    @classmethod
    def from_text(cls, text, name="scenario", folder="."):
        """The scenario of a TOML text. `name` is its name in messages; files that it names are sought in `folder`."""
        made = cls.__new__(cls)
        made._file, made._text, made._set = os.path.join(folder, name) if folder != "." else name, text, []
        made._check([])
        return made

    @classmethod
    def from_dict(cls, tree):
        """The scenario of a dict of sections; a list of dicts is a [[section]] for each."""
        return cls(dict(tree))

    def set(self, keys, value=None):
        """Sets one key, or several at once: set("topology.hosts", 64), set({"topology.hosts": 64, ...}). Returns the scenario."""
        items = keys.items() if isinstance(keys, dict) else [(keys, value)]
        self._check(self._set + [f"{key}={_toml.value(item)}" for key, item in items])
        return self

    def copy(self, changes=None):
        """Another one, with some keys changed."""
        made = copy.copy(self)
        made._set = list(self._set)
        return made.set(changes) if changes else made

    def _with_workload(self, entries):
        """The same network and transport with another workload, of which nothing is left."""
        parts = re.split(r"^(?=\[)", self.toml, flags=re.M)
        text = "".join(part for part in parts if not part.startswith(("[workload]", "[[workload]]")))
        return Scenario.from_text(text + _toml.text({"workload": entries}), self._file)

    def _check(self, overrides):
        self._made = _core.load(self._file, self._text, overrides)
        self._set = overrides

    def __getitem__(self, key):
        for name, written, _, _ in self._made["settings"]:
            if name == key:
                return _toml.number(written)
        raise KeyError(_no_such(key))

    def __setitem__(self, key, item):
        self.set(key, item)

    def __contains__(self, key):
        return any(name == key for name, _, _, _ in self._made["settings"])

    def __getattr__(self, name):
        if not name.startswith("_") and name in _ATTRIBUTES:
            return _Section(self, _ATTRIBUTES[name])
        raise AttributeError(f"a scenario has no {name}. its sections are {', '.join(_ATTRIBUTES)}")

    def __setattr__(self, name, item):
        if not name.startswith("_") and name in _SECTIONS.get("", {}):
            self.set(name, item)
        elif name.startswith("_"):
            object.__setattr__(self, name, item)
        else:
            raise AttributeError(f"a scenario has no {name}. set keys of its sections, such as scenario.topology.hosts = 64")

    def __dir__(self):
        return sorted({*super().__dir__(), *_ATTRIBUTES})

    def amount(self, key):
        """A size in bytes, a time in picoseconds, a rate in bit/s; None for anything else."""
        return next((amount for name, _, amount, _ in self._made["settings"] if name == key), None)

    @property
    def name(self):
        """What results are called."""
        return self._made["name"]

    @property
    def scheme(self):
        """The transport, as `transport.scheme` names it."""
        return self._made["scheme"]

    @property
    def seeds(self):
        """The scenario's own seeds; a run has one of them, a sweep all."""
        return list(self._made["seeds"])

    @property
    def hosts(self):
        """How many there are."""
        return self._made["hosts"]

    @property
    def base_rtt_ps(self):
        """A full packet out and an acknowledgement back over the longest path, without queues."""
        return self._made["base_rtt_ps"]

    @property
    def bdp_bytes(self):
        """What a host's port carries in that time."""
        return self._made["bdp_bytes"]

    @property
    def memory_bytes(self):
        """About what a run takes."""
        return self._made["memory_bytes"]

    @property
    def notes(self):
        """What readers of other tools' files have to say."""
        return list(self._made["notes"])

    @property
    def toml(self):
        """The scenario with every key that applies to it. Saved as a file, it is the same scenario."""
        return self._made["toml"]

    @property
    def settings(self):
        """Every key that applies, as a DataFrame: key, value, amount, origin."""
        from ._frames import frame_of_rows
        return frame_of_rows(["key", "value", "amount", "origin"], self._made["settings"])

    def save(self, path):
        """Writes `toml` to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.toml)

    def _repr_html_(self):
        given = [(key, written) for key, written, _, origin in self._made["settings"] if origin == "given"]
        rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(written))}</td></tr>" for key, written in given)
        return f"<table><caption>{html.escape(f'{self.name}: {self.scheme}, {self.hosts} hosts')}</caption>{rows}</table>"

    def __repr__(self):
        return f"<strack.Scenario {self.name}: {self.scheme}, {self.hosts} hosts>"
