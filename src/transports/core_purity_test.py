#!/usr/bin/env python3
"""Checks that compiled code is pure: it touches its arguments and its own state, nothing else.

    core_purity_test.py ALLOWLIST LIBRARY...    check static libraries, taken together
    core_purity_test.py --self-test CXX...      check that this checker sees each kind of impurity

Fails on: a symbol that the libraries need from outside and ALLOWLIST does not name (heap, clock,
I/O, threads, exceptions); a writable global or an initialiser that runs before main; a virtual
table; on x86, a floating-point instruction other than a plain move.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Moves, shuffles and bitwise operations named after floating point also carry integers, and so may
# stay; what computes with, converts or compares floating-point numbers may not. The last line is
# x87: nothing else begins with f but two ways to save its registers.
FLOATING_POINT = re.compile(
    r"""^(?:
      v?(?:add|sub|mul|div|sqrt|min|max|cmp\w*|rcp\w*|rsqrt\w*|round|rndscale|dp|hadd|hsub|addsub
        |scalef|getexp|getmant|fixupimm|range|reduce)(?:ss|sd|sh|ps|pd|ph)
    | v?cvt\w+
    | v?u?comi(?:ss|sd|sh)
    | vfn?m\w+(?:ss|sd|sh|ps|pd|ph)
    | f(?!xsave|xrstor)\w+
    )$""",
    re.VERBOSE,
)

SECTION = re.compile(r"^\s*\d+\s+(\S+)\s+([0-9a-f]+)\s")
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\s+(?:(?:lock|rep\w*|bnd|notrack|data16)\s+)*(\S+)")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def demangled(names):
    """Maps each name to 'name (readable name)', or to itself where there is nothing to add."""
    names = sorted(names)
    readable = subprocess.run(
        ["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return {n: n if n == r else f"{n} ({r})" for n, r in zip(names, readable)}


def read_allowlist(path):
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line}


def outside_symbols(libraries, allowed):
    needed, defined = set(), set()
    for library in libraries:
        for line in output_of("nm", "--format=posix", library).splitlines():
            fields = line.split()
            if len(fields) < 2 or len(fields[1]) != 1:
                continue  # a member's heading
            name, kind = fields[:2]
            (needed if kind in "Uwv" else defined).add(name)
    if not defined:
        return ["no symbol defined at all: is this the right library?"]
    offenders = demangled(needed - defined - allowed)
    return [f"needs {name} from outside" for name in offenders.values()]


def writable(section):
    """.data.rel.ro is written by the loader alone. What .init_array names runs before main."""
    if section.startswith(".data.rel.ro"):
        return False
    return bool(re.match(r"\.(data|bss|tdata|tbss|init_array|ctors)(\.|$)|\*COM\*$", section))


def globals_and_virtual_tables(library):
    found = []
    names = set()
    for line in output_of("objdump", "--syms", library).splitlines():
        match = SYMBOL.match(line)
        if not match:
            continue
        section, name = match.groups()
        if name.startswith(("_ZTV", "_ZTI")):
            names.add(name)
            found.append(("virtual table or type information", name))
        elif writable(section) and name != section:
            names.add(name)
            found.append(("global state", name))
    readable = demangled(names)
    found = [f"{what}: {readable[name]}" for what, name in found]
    if found:
        return sorted(set(found))
    # State without a name, such as what a stripped library has.
    for line in output_of("objdump", "--section-headers", library).splitlines():
        match = SECTION.match(line)
        if match and writable(match.group(1)) and int(match.group(2), 16) > 0:
            found.append(f"global state: {int(match.group(2), 16)} bytes in {match.group(1)}")
    return found


def floating_point(library):
    function = "?"
    found = {}
    for line in output_of("objdump", "--disassemble", "--no-show-raw-insn", library).splitlines():
        heading = FUNCTION.match(line)
        if heading:
            function = heading.group(1)
            continue
        instruction = INSTRUCTION.match(line)
        if instruction and FLOATING_POINT.match(instruction.group(1)):
            found.setdefault(function, instruction.group(1))
    readable = demangled(found)
    return [f"floating point: {what} in {readable[where]}" for where, what in found.items()]


def impurities(libraries, allowed):
    found = outside_symbols(libraries, allowed)
    for library in libraries:
        found += globals_and_virtual_tables(library)
        if "x86-64" in output_of("objdump", "--file-headers", library):
            found += floating_point(library)
        else:
            print(f"notice: {library} is not x86-64: floating point not looked for")
    return found


# One small unit for each impurity, with a word that the complaint about it has to contain.
SELF_TEST = {
    "pure": ("unsigned long f(unsigned long a) { return a / 7 + (a << 3); }", None),
    "allowed": ("#include <cstring>\nvoid f(char* a, char* b, int n) { memcpy(a, b, n); }", None),
    "constants": ("extern const int t[3] = {1, 2, 3}; inline constexpr int u[] = {4, 5};\n"
                  "int f(int i) { return t[i] + u[i]; }", None),
    "heap": ("int* f() { return new int; }", "_Znwm"),
    "clock": ("#include <chrono>\nlong f() { return std::chrono::steady_clock::now()"
              ".time_since_epoch().count(); }", "steady_clock"),
    "I/O": ("#include <cstdio>\nvoid f() { std::puts(\"x\"); }", "puts"),
    "exceptions": ("#include <array>\nint f(std::array<int, 4>& a, int i) { return a.at(i); }",
                   "throw"),
    "zeroed global": ("int g; int f() { return ++g; }", "global state: g"),
    "set global": ("static int g = 7; int f() { return ++g; }", "global state"),
    "static local": ("int f() { static int n; return ++n; }", "global state"),
    "inline global": ("inline int g = 3; int f() { return ++g; }", "global state: g"),
    "thread local": ("thread_local int g; int f() { return ++g; }", "global state"),
    "initialiser": ("int h(); extern const int c; const int c = h();", "global state"),
    "virtual": ("struct A { virtual int v(); }; int A::v() { return 1; }", "virtual table"),
    "double": ("int f(int a, int b) { return int(double(a) / b * 1.5); }", "floating point"),
    "float": ("float f(float a, float b) { return a * b; }", "floating point: mulss"),
    "comparison": ("bool f(double a, double b) { return a < b; }", "floating point"),
    "long double": ("long double f(long double a) { return a + 1; }", "floating point: f"),
}


def self_test(compilers):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for compiler in compilers:
            for name, (source, complaint) in SELF_TEST.items():
                unit = pathlib.Path(folder, "unit.cpp")
                unit.write_text(source + "\n")
                built, library = unit.with_suffix(".o"), unit.with_suffix(".a")
                library.unlink(missing_ok=True)
                subprocess.run([compiler, "-std=c++20", "-O2", "-c", unit, "-o", built], check=True)
                output_of("ar", "rcs", library, built)
                found = impurities([str(library)], {"memcpy"})
                right = any(complaint in f for f in found) if complaint else not found
                if not right:
                    failures += 1
                    print(f"{compiler}: {name}: wanted {complaint}, found {found}")
    print(f"self-test: {len(compilers) * len(SELF_TEST) - failures} right, {failures} wrong")
    return failures


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    if arguments[0] == "--self-test":
        return 1 if self_test(arguments[1:]) else 0
    found = impurities(arguments[1:], read_allowlist(pathlib.Path(arguments[0])))
    for line in found:
        print(f"impure: {line}")
    if not found:
        print(f"pure: {', '.join(pathlib.Path(library).name for library in arguments[1:])}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
