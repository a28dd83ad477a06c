#!/usr/bin/python3
"""Makes the site: docs/site/make.py PROGRAM FOLDER

Pages are the repository's own (README.md, docs/, spec/, ...), those of docs/site/pages, and a reference that is made of what the program says of
itself, of src/capi/strack.h and of python/strack. Links between them are turned to their new places; a link to a source file becomes its name, since
the site does not know where the sources are to be read. Every link and every anchor of the result is checked. Needs mkdocs and mkdocs-material.
"""

import ast
import base64
import html
import json
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "docs/site"
sys.path.insert(0, str(ROOT / "packaging"))
import pages  # noqa: E402  the help, read

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


class Wrong(Exception):
    pass


# --- What goes in ---------------------------------------------------------------------------------


def sources():
    """Path in the repository -> path in the site."""
    found = {name: name for name in ("CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md")}
    found["README.md"] = "in-a-minute.md"  # a README beside an index would be one, too
    for folder in ("docs", "spec"):
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in (".md", ".png", ".svg", ".gif", ".csv") and not name.startswith("docs/site/"):
                found[name] = name
    for path in sorted((HERE / "pages").rglob("*.*")):
        found[path.relative_to(ROOT).as_posix()] = path.relative_to(HERE / "pages").as_posix()
    return found


def turned(text, name, places):
    """A page's text with its links as they are in the site."""
    def replace(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        file, _, anchor = target.partition("#")
        at = posixpath.normpath(posixpath.join(posixpath.dirname(name), urllib.parse.unquote(file)))
        anchor = "#" + anchor if anchor else ""
        if at in places:
            return f"{picture}[{words}]({posixpath.relpath(places[at], posixpath.dirname(places[name]) or '.')}{anchor})"
        if at + "/README.md" in places:
            return f"[{words}]({posixpath.relpath(places[at + '/README.md'], posixpath.dirname(places[name]) or '.')})"
        if name == "spec/traceability.md" and not (ROOT / at).exists():
            return words  # it repeats the beginnings of sentences of other pages, links and all
        if not (ROOT / at).exists():
            raise Wrong(f"{name}: {target} leads nowhere")
        if picture:
            raise Wrong(f"{name}: {target} is a picture that the site has not. pictures are in docs/")
        return words if words.startswith("`") or words != at.rsplit("/", 1)[-1] else f"`{words}`"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)  # not in blocks of code
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def fill(folder):
    places = sources()
    for name, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            target.write_text(turned((ROOT / name).read_text(encoding="utf-8"), name, places), encoding="utf-8")
        else:
            shutil.copy(ROOT / name, target)


def notebook_page(path, folder):
    """A notebook with what it showed when it was run; its pictures become files."""
    lines = []
    for number, one in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        text = "".join(one["source"])
        lines += [text, ""] if one["cell_type"] == "markdown" else ["```python", text, "```", ""]
        for output in one.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"{path.stem}-{number}.png"
                (folder / picture).write_bytes(base64.b64decode(data["image/png"]))
                lines += [f"![what the cell above draws]({picture})", ""]
            elif said := "".join(output.get("text", data.get("text/plain", ""))).rstrip():
                lines += ["```text", said, "```", ""]
    return "\n".join(lines)


def configuration(folder, site):
    """mkdocs.yml; pages that it does not name, of docs/, are among the guides, and those of transports have a place of their own."""
    settings = yaml.safe_load((HERE / "mkdocs.yml").read_text())
    named = set(re.findall(r"\S+\.md", str(settings["nav"]).replace("'", " ")))
    parts = {name: pages for part in settings["nav"] for name, pages in part.items()}
    parts["Guides"] += sorted(f"docs/{path.name}" for path in (folder / "docs").glob("*.md") if f"docs/{path.name}" not in named)
    parts["Tutorials"].append({"Notebooks": sorted(f"notebooks/{path.name}" for path in (folder / "notebooks").glob("*.md"))})
    parts["Schemes"] += sorted(f"docs/transports/{path.name}" for path in (folder / "docs/transports").glob("*.md"))
    return yaml.safe_dump({**settings, "docs_dir": str(folder), "site_dir": str(site)}, sort_keys=False)


# --- The reference --------------------------------------------------------------------------------


def cell(text):
    return html.escape(text, quote=False).replace("|", "\\|").replace("\n", " ").replace("*", "\\*")


def commands_page(program):
    commands = pages.read(program)
    lines = ["# Commands", "", "What `strack help` says, all of it. The manual pages and the completions of shells are made of the same text.", ""]
    for command in commands:
        if not command.path:
            continue
        depth = "#" * (1 + len(command.path))
        lines += [f"{depth} {' '.join(('strack', *command.path))}", "", cell(command.about.strip()), "", "```", command.usage, "```", ""]
        rows = [(heading.removesuffix(" REQUIRED"), about) for heading, about in command.positionals]
        rows += [(", ".join(entry.flags) + (" " + entry.value if entry.value else ""), entry.about) for entry in command.options
                 if entry.flags[-1] != "--help"]
        if rows:
            lines += ["| | |", "|---|---|", *(f"| `{heading.replace('|', '/')}` | {cell(about)} |" for heading, about in rows), ""]
    return "\n".join(lines)


def c_page():
    """The header's comments, each with what it is about."""
    text = (ROOT / "src/capi/strack.h").read_text(encoding="utf-8")
    about = re.search(r"/\*(.*?)\*/", text, re.S)[1]
    about = re.sub(r"^ \* ?", "", about, flags=re.M).strip()
    lines = ["# The C interface", "", "`#include <strack/strack.h>`; `pkg-config --cflags --libs strack`, or CMake's `find_package(strack)` and `strack::strack`.", "",
             "```text", about, "```", ""]
    body = text[text.index("/* --- "):]
    for piece in re.finditer(r"/\* --- (.*?) -+ \*/|/\*\*(.*?)\*/\n((?:(?!\n\n|/\*).)+)", body, re.S):
        heading, comment, code = piece.groups()
        if heading:
            lines += [f"## {heading}", ""]
            continue
        words = re.sub(r"\s*\n \* ?", " ", comment).strip()
        lines += [cell(words), "", "```c", code.replace("STRACK_EXPORT ", "").rstrip(), "```", ""]
    return "\n".join(lines)


def shown_text(said):
    """A docstring: a sentence as one, more as it was laid out."""
    return ["```text", said, "```", ""] if "\n" in said else [cell(said), ""]


def columns_of(node):
    """(name, what it says) of a class's properties that are made by a call: tables, mostly."""
    for one in node.body:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and getattr(one.value.func, "id", "") == "property":
            said = next((word.value.value for word in one.value.keywords if word.arg == "doc"), "")
            yield one.targets[0].id, said


def python_page():
    lines = ["# The Python interface", "", "`import strack`; [a tour](../docs/python.md). What `help()` says, and the types of the stubs.", ""]
    package = ROOT / "python/strack"
    names = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", (package / "__init__.py").read_text(), re.S)[1])
    for module in ("scenario", "running", "result", "workload", "plot", "udp", "errors"):
        tree = ast.parse((package / f"{module}.py").read_text())
        types = {}
        for node in ast.walk(ast.parse((package / f"{module}.pyi").read_text())):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    types[getattr(node, "name", ""), child.name] = child
        for node in tree.body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_") or (module not in ("plot", "udp") and node.name not in names):
                continue
            prefix = f"strack.{module}." if module in ("plot", "udp") else "strack."
            lines += [f"## {prefix}{node.name}", ""]
            members = [node] if isinstance(node, ast.FunctionDef) else [one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
                                                                        and (not one.name.startswith("_") or one.name == "__init__")]
            owner = node.name if isinstance(node, ast.ClassDef) else ""
            if owner and ast.get_docstring(node):
                lines += shown_text(ast.get_docstring(node))
            for name, said in columns_of(node):
                kind = types[node.name, name].returns
                lines += ["```python", f"{node.name}.{name} -> {ast.unparse(kind)}", "```", "", *shown_text(said)]
            for member in members:
                shown = types.get((owner, member.name), member)
                returns = f" -> {ast.unparse(shown.returns)}" if shown.returns else ""
                said = ast.get_docstring(member)
                is_property = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in member.decorator_list)
                name = member.name if not owner else f"{owner}.{member.name}"
                arguments = "" if is_property else f"({ast.unparse(shown.args)})"
                waits = "await " if isinstance(member, ast.AsyncFunctionDef) else ""
                lines += ["```python", f"{waits}{name}{arguments}{returns}", "```", ""]
                lines += shown_text(said) if said else []
    return "\n".join(lines)


# --- Checking -------------------------------------------------------------------------------------


def check_links(site):
    """Every link of every page leads to a file, and every anchor to an id. The number of both."""
    ids, links = {}, []
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        ids[path] = set(re.findall(r'\bid="([^"]+)"', text))
        links += [(path, html.unescape(link)) for link in re.findall(r'\b(?:href|src)="([^"]+)"', text)]
    bad = []
    for path, link in links:
        if re.match(r"[a-z]+:|//", link) or path.name == "404.html":
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / urllib.parse.unquote(file)).resolve() if file else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or (anchor and target in ids and urllib.parse.unquote(anchor) not in ids[target]):
            bad.append(f"{path.relative_to(site)}: {link}")
    if bad:
        raise Wrong("links that lead nowhere:\n  " + "\n  ".join(sorted(set(bad))))
    return len(links), sum(map(len, ids.values()))


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program, site = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="strack_site_") as work:
        folder = pathlib.Path(work) / "pages"
        try:
            fill(folder)
            (folder / "reference").mkdir()
            (folder / "notebooks").mkdir()
            for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
                (folder / f"notebooks/{path.stem}.md").write_text(notebook_page(path, folder / "notebooks"), encoding="utf-8")
            for name, text in (("commands", commands_page(program)), ("c", c_page()), ("python", python_page())):
                (folder / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
            settings = pathlib.Path(work) / "mkdocs.yml"
            settings.write_text(configuration(folder, site))
            made = subprocess.run(["mkdocs", "build", "--strict", "--clean", "-f", settings], text=True, capture_output=True, check=False,
                                  timeout=600)
            if made.returncode:
                raise Wrong("mkdocs:\n" + "\n".join(line for line in made.stderr.splitlines() if not line.startswith("INFO")))
            links, anchors = check_links(site)
        except Wrong as wrong:
            print(f"error: {wrong}", file=sys.stderr)
            return 1
    print(f"site: {site}/index.html, {len(list(site.rglob('*.html')))} pages, {links} links and {anchors} anchors checked")
    print(f"search needs a server, such as: python3 -m http.server --bind 127.0.0.1 -d {site}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
