#!/usr/bin/env python3
"""Reads the tree and says where it is untidy.

  tools/tidy.py --check       fails where a rule is broken that tools/tidy_exceptions.txt does not excuse
  tools/tidy.py --write       drops what that list no longer needs, and lowers its lengths; it never adds
  tools/tidy.py --write-all   makes the list anew, when a rule changes
  tools/tidy.py --self-test

The rules:

  include    a file includes only what the row of its folder in ARCHITECTURE.md allows
  length     a file has at most 600 lines, a test 1000
  function   a function of C++ or Python has at most 70 lines, a test 120
  transport  no file outside src/transports/NAME names the transport NAME; tests, docs, scenarios and src/paper may

An excuse that nothing needs is a mistake too, so the list can only shrink. A line on which a transport's name is the program's
says so: "the program's name".
"""

import ast
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

EXCEPTIONS = "tools/tidy_exceptions.txt"
CODE = (".h", ".cpp", ".c", ".py", ".mjs", ".ts", ".sh")
MOST_LINES = {"file": 600, "test file": 1000, "function": 70, "test function": 120}
PROGRAM = "strack"
HEADING = """# What tools/tidy.py excuses. It can only shrink: a new file, or one that is tidy, needs no excuse.
#
#   include FILE HEADER     length FILE LINES     function FILE NAME LINES     transport FILE
"""

Problem = collections.namedtuple("Problem", "rule key lines text")  # `lines` is 0 where nothing is counted


def is_test(path):
    name = pathlib.PurePosixPath(path).name
    return path.startswith("tests/") or bool(re.search(r"(_|^)(test|testing|fuzz|selftest|fixtures)\.\w+$", name))


# --- Who may include whom -------------------------------------------------------------------------


def include_table(text):
    """Folder -> what its row allows, from the table in ARCHITECTURE.md; None stands for everything."""
    table = {}
    for folder, allowed in re.findall(r"^\| `((?:src|tests|bench)[\w/]*?)/?` \|.*\| ([^|]*) \|$", text, re.M):
        table[folder] = None if allowed.strip() == "all" else [word.strip() for word in allowed.split(",") if word.strip()]
    return table


def row_of(path, table):
    folders = [folder for folder in table if path.startswith(folder + "/")]
    return max(folders, key=len, default=None)


def check_includes(path, text, table):
    folder = row_of(path, table)
    if folder is None or table[folder] is None:
        return
    own = folder.removeprefix("src/")
    allowed = [own, "base"] + table[folder]  # src/base is for everybody
    for header in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M):
        if "/" not in header:  # beside the file
            continue
        if is_test(path) and header.startswith("transports/"):  # a test may be about any of them
            continue
        # The row of the header's folder decides what an entry covers: "sim" is not "sim/scenario".
        home = (row_of("src/" + header, table) or "src/" + header.split("/")[0]).removeprefix("src/")
        if home not in allowed and header not in allowed:
            yield Problem("include", f"{path} {header}", 0,
                          f'{path} includes "{header}"; ARCHITECTURE.md allows {folder}: {", ".join(table[folder])}')


# --- Lengths --------------------------------------------------------------------------------------


def blanked(text):
    """C++ text with comments, strings and macros' bodies blanked, line by line as long as before."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^\s*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S | re.M)


def cpp_functions(text):
    """(name, lines) of each function with a body, by its braces; good enough for sources that clang-format laid out."""
    text = blanked(text)
    stack, head, line = [], "", 1  # kind, name and first line of each open brace; the text before the next
    for c in re.split(r"([{};])", text):
        line += c.count("\n")
        if c == "{":
            inside = any(kind == "function" for kind, _, _ in stack)
            words = head.strip()
            if inside or stack and stack[-1][0] == "other":
                kind = "other"
            elif re.search(r"\bnamespace\b|extern\s*$", words):
                kind = "scope"
            elif re.search(r"\)\s*(noexcept\s*)?:[^:]", words) and re.search(r"[\w>]$", words):
                kind = "value"  # a member that a constructor sets with braces
            elif re.search(r"(^|>|\s)(class|struct|union|enum)\s", words) and not re.search(r"\)\s*(const|noexcept|override|final|->.*)?\s*$", words):
                kind = "scope"
            elif "(" in words and not words.endswith("="):
                kind = "function"
            else:
                kind = "other"
            named = re.search(r"([\w:~]+|operator\S+)\s*\(", words)
            name = named.group(1) if named else words
            test = re.match(r"(?:TYPED_)?TEST(?:_[FP])?\s*\(([^)]*)\)", words)
            if test:
                name = ".".join(part.strip() for part in test.group(1).split(","))
            stack.append((kind, name, line))
            head = head + c if kind == "value" else ""
        elif c == "}":
            kind, name, began = stack.pop() if stack else ("other", "", line)
            if kind == "function":
                yield name, line - began + 1
            head = head + c if kind == "value" else ""
        elif c == ";":
            head = ""
        else:
            head += c


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def check_lengths(path, text):
    kind = "test " if is_test(path) else ""
    lines = text.count("\n")
    most = MOST_LINES[kind + "file"]
    if lines > most:
        yield Problem("length", path, lines, f"{path} has {lines} lines; at most {most}")
    functions = []
    if path.endswith((".h", ".cpp", ".c")):
        functions = cpp_functions(text)
    elif path.endswith(".py"):
        functions = python_functions(text)
    most = MOST_LINES[kind + "function"]
    longest = {}
    for name, lines in functions:
        if lines > longest.get(name, most):
            longest[name] = lines
    for name, lines in longest.items():
        yield Problem("function", f"{path} {name}", lines, f"{path}: {name} has {lines} lines; at most {most}")


# --- Names of transports --------------------------------------------------------------------------


def transport_patterns(names):
    """What names a transport: its folder, its types (StrackSender), and its word wherever it stands; the program's name as a
    word of its own stands for the program, except as a string or an enumerator."""
    patterns = []
    for name in names:
        stem = re.sub(r"(v?\d+)$", "", name)
        patterns.append(rf"transports/{name}/")
        if name == PROGRAM:
            patterns += [rf"\b{name.capitalize()}[A-Z]\w*", rf"\w::{name}\b(?!::)", rf'"(?i:{name})"', rf"'(?i:{name})'"]
        else:
            patterns.append(rf"(?i:(?<![a-z]){stem})")
    return re.compile("|".join(patterns)) if patterns else None


def check_transports(path, text, pattern):
    if pattern is None or is_test(path) or not path.startswith(("src/", "bench/", "examples/")):
        return
    if path.startswith(("src/transports/", "src/paper/")):
        return
    found = [f"{number}: {match.group(0)}" for number, line in enumerate(text.splitlines(), 1)
             if "the program's name" not in line for match in [pattern.search(line)] if match]
    if found:
        more = f", and {len(found) - 4} more lines" if len(found) > 4 else ""
        yield Problem("transport", path, 0, f"{path} names a transport (lines {'; '.join(found[:4])}{more}); only its own folder may")


# --- All of it ------------------------------------------------------------------------------------


def sources(root):
    """Every source of the tree that git does not ignore, or all below it where there is no git."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*")]
    for name in sorted(set(names)):
        if name.endswith(CODE) and not re.search(r"(^|/)(build|node_modules)/", name) and (root / name).is_file():
            yield name


def problems(root):
    table = include_table((root / "ARCHITECTURE.md").read_text())
    if not table:
        raise SystemExit("error: ARCHITECTURE.md has no table of folders and what they may include")
    folder = root / "src/transports"
    names = sorted(p.name for p in folder.iterdir() if p.is_dir() and any(p.glob("*.h"))) if folder.is_dir() else []
    pattern = transport_patterns(names)
    for path in sources(root):
        text = (root / path).read_text(errors="replace")
        if path.endswith((".h", ".cpp", ".c")):
            yield from check_includes(path, text, table)
        yield from check_lengths(path, text)
        yield from check_transports(path, text, pattern)


def read_excuses(text):
    """(rule, key) -> lines allowed, or 0."""
    excuses = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        counted = words[0] in ("length", "function")
        if words[0] not in ("include", "length", "function", "transport") or counted and not words[-1].isdigit() or len(words) < 2:
            raise SystemExit(f"error: {EXCEPTIONS}:{number}: {line}\n  not an exception; its head says how they look")
        key = " ".join(words[1:-1] if counted else words[1:])
        excuses[words[0], key] = int(words[-1]) if counted else 0
    return excuses


def written(excuses):
    lines = [f"{rule} {key}" + (f" {lines}" if lines else "") for (rule, key), lines in excuses.items()]
    order = ["include", "length", "function", "transport"]
    return HEADING + "".join(line + "\n" for line in sorted(lines, key=lambda one: (order.index(one.split()[0]), one)))


def judge(found, excuses):
    """What is wrong, and the list as it has to be."""
    wrong, needed = [], {}
    for problem in found:
        key = problem.rule, problem.key
        if key not in excuses:
            wrong.append(problem.text)
        elif problem.lines > excuses[key]:
            wrong.append(f"{problem.text}, and {excuses[key]} by exception")
            needed[key] = excuses[key]
        else:
            needed[key] = problem.lines
    for rule, key in excuses:
        if (rule, key) not in needed:
            wrong.append(f"{EXCEPTIONS}: {rule} {key}: no longer needed; tools/tidy.py --write drops it")
    return wrong, needed


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[1]
    file = root / EXCEPTIONS
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if arguments == ["--write-all"]:
        file.write_text(written({(p.rule, p.key): p.lines for p in problems(root)}))
        return 0
    if arguments not in (["--check"], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    excuses = read_excuses(file.read_text())
    wrong, needed = judge(problems(root), excuses)
    if arguments == ["--write"]:
        file.write_text(written(needed))
        wrong = [one for one in wrong if not one.startswith(EXCEPTIONS)]
    for one in wrong:
        print(f"error: {one}")
    counts = collections.Counter(rule for rule, _ in needed)
    print(f"{len(wrong)} problems; excused: " + (", ".join(f"{n} {rule}" for rule, n in counts.items()) or "nothing"))
    return 1 if wrong else 0


# --- Self-test ------------------------------------------------------------------------------------


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def put(name, text):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

        put("ARCHITECTURE.md", "| folder | holds | may include |\n|---|---|---|\n| `src/base` | b | std |\n| `src/sim` | s | base, core/packet.h |\n"
            "| `src/sim/scenario` | s | sim |\n| `src/cli` | c | all |\n")
        put("src/transports/strack/sender.h", "struct StrackSender {};\n")
        put("src/transports/rocev2/sender.h", '#include "transports/strack/sender.h"\n')
        put("src/base/good.h", '#include "base/units.h"\nnamespace strack { int f() { return 1; } }\n')
        put("src/base/bad.h", '#include "sim/cluster.h"\n')
        put("src/sim/host.h", '#include "base/units.h"\n#include "core/packet.h"\n#include "core/events.h"\n#include "sim/scenario/keys.h"\n')
        put("src/sim/scenario/keys.h", '#include "sim/config.h"\n// Strack and strack:: are the program\nusing namespace strack;\n')
        put("src/cli/a.cpp", "StrackSender s;\n")
        put("src/cli/b.cpp", 'auto p = Protocol::strack;\n')
        put("src/cli/c.cpp", 'auto app = "strack";  // the program\'s name\nauto broceliande = 1;\n')
        put("src/cli/d.py", "kind = 'rocev2'\n")
        put("src/cli/e_test.cpp", "RoceSender s;\n")
        put("src/cli/long.cpp", "int x;\n" * 601)
        put("src/cli/long_test.cpp", "int x;\n" * 601)
        body = "  g();\n" * 70
        put("src/cli/function.cpp", "namespace a {\nstruct S {\n  S() : a_{1}, b_{2} {\n" + body + "  }\n};\n"
            "int Thing::run(int a) const {\n  if (a) {\n" + body + "  }\n}\nconst int t[] = {\n" + "1,\n" * 80 + "};\n"
            "// { unmatched\nconst char* s = \"}{{\";\nint fine() {\n  return 1;\n}\n}\n")
        put("src/cli/function.py", "def long():\n" + "    x = 1\n" * 71)
        put("src/cli/table_test.cpp", "TEST(Suite, Case) {\n" + "  g();\n" * 130 + "}\n")
        found = list(problems(root))
        keys = sorted((p.rule, p.key, p.lines) for p in found)
        expected = sorted([
            ("include", "src/base/bad.h sim/cluster.h", 0),
            ("include", "src/sim/host.h core/events.h", 0),
            ("include", "src/sim/host.h sim/scenario/keys.h", 0),
            ("length", "src/cli/long.cpp", 601),
            ("function", "src/cli/function.cpp S", 72),
            ("function", "src/cli/function.cpp Thing::run", 74),
            ("function", "src/cli/function.py long", 72),
            ("function", "src/cli/table_test.cpp Suite.Case", 132),
            ("transport", "src/cli/a.cpp", 0),
            ("transport", "src/cli/b.cpp", 0),
            ("transport", "src/cli/d.py", 0),
        ])
        assert keys == expected, "\n".join(map(str, set(keys) ^ set(expected)))

        # A list that excuses all of it is read as it was written; what it does not need, or what grew, is wrong.
        excuses = {(p.rule, p.key): p.lines for p in found}
        assert read_excuses(written(excuses)) == excuses
        assert judge(found, excuses) == ([], excuses)
        excuses["length", "src/cli/long.cpp"] = 600
        excuses["transport", "src/cli/gone.cpp"] = 0
        wrong, needed = judge(found, excuses)
        assert len(wrong) == 2 and "600 by exception" in wrong[0] and "no longer needed" in wrong[1], wrong
        assert needed["length", "src/cli/long.cpp"] == 600 and ("transport", "src/cli/gone.cpp") not in needed
        excuses["length", "src/cli/long.cpp"] = 900
        assert judge(found, excuses)[1]["length", "src/cli/long.cpp"] == 601
    print("tidy: self-test passed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
