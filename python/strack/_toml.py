"""Python values as TOML, for scenarios that are made in Python."""

import json
import numbers


def value(item):
    """One value: True, 3, 0.5, "2 MB", lists of them."""
    if isinstance(item, bool) or type(item).__name__ == "bool_":  # numpy's is no bool
        return "true" if item else "false"
    if isinstance(item, numbers.Integral):
        return str(int(item))
    if isinstance(item, numbers.Real):
        return repr(float(item))
    if isinstance(item, (list, tuple)) or hasattr(item, "tolist"):
        return "[" + ", ".join(value(part) for part in item) + "]"
    if hasattr(item, "__fspath__"):
        item = item.__fspath__()
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise TypeError(f"{item!r} is a {type(item).__name__}. a scenario holds numbers, texts, True and False, and lists of them")


def text(tree):
    """A dict of sections: {"topology": {"hosts": 8}, "failure": [{...}, {...}]}."""
    top = [f"{key} = {value(item)}" for key, item in tree.items() if not _is_section(item)]
    lines = top + [""] if top else []
    for section, item in tree.items():
        if not _is_section(item):
            continue
        for entry in item if isinstance(item, (list, tuple)) else [item]:
            lines.append(f"[[{section}]]" if isinstance(item, (list, tuple)) else f"[{section}]")
            lines += [f"{key} = {value(part)}" for key, part in entry.items()]
            lines.append("")
    return "\n".join(lines)


def _is_section(item):
    return isinstance(item, dict) or isinstance(item, (list, tuple)) and len(item) > 0 and all(isinstance(e, dict) for e in item)


def number(written):
    """What a scenario shows as `8`, `0.5`, `true` or `2 MB`, as Python has it."""
    words = {"true": True, "false": False}
    if written in words:
        return words[written]
    for kind in (int, float):
        try:
            return kind(written)
        except ValueError:
            pass
    if len(written) > 1 and written[0] == written[-1] == '"':
        return json.loads(written)
    return written
