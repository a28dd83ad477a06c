#!/usr/bin/python3
"""What a release is made of, as CycloneDX 1.4 JSON: packaging/sbom.py BUILD_FOLDER VERSION [FILE]

- linked: the libraries that the program, the library, the Python module and the modules name (readelf), as Debian's packages of this machine;
- loaded: those that it takes at run time where they are, and does without where they are not;
- headers: libraries of headers alone that are compiled in;
- bundled: what npm puts into the page of a report (src/report/web/package-lock.json).

Licences are those of the first paragraph of a package's copyright file, or npm's word. Without a time and in a fixed order: the same bytes every time.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHIPPED = ("src/cli/strack", "src/capi/libstrack.so", "src/fabric/libstrack-fi.so", "src/sim/mpi/libstrack-mpi.so", "python/strack/_core.*.so")
# Compiled in, and so in no list of a linker; in the order of their names.
LOADED = ("libcrypto.so.3", "libIPSec_MB.so.1")  # src/udp/sealing_*.cpp
HEADERS = ("libcli11-dev", "libtomlplusplus-dev", "nlohmann-json3-dev", "pybind11-dev")
SPDX = {"Expat": "MIT", "Expat with embedded exception": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "BSD-2-clause or GPL-2": "BSD-2-Clause OR GPL-2.0-only", "BSD-3-Clause+CLA": "BSD-3-Clause", "public-domain": "blessing"}


def said(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False).stdout


def needed(build):
    """The names of shared libraries that what is shipped asks for."""
    found = set()
    for pattern in SHIPPED:
        for path in sorted(build.glob(pattern)):
            found |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d", path)))
    return found


def package_of(library):
    cached = re.search(rf"^\s{re.escape(library)} .*=> (\S+)$", said("/sbin/ldconfig", "-p"), re.M)
    if not cached:
        return None
    real = pathlib.Path(cached[1])
    # Where /lib is /usr/lib, dpkg may know a file by either name.
    for name in (real, real.resolve(), pathlib.Path("/usr" + str(real)), pathlib.Path(str(real.resolve()).removeprefix("/usr"))):
        owner = said("dpkg", "-S", name)
        if owner:
            return owner.split(":")[0]
    return None


def licence(package):
    file = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    text = file.read_text(errors="replace") if file.is_file() else ""
    stated = re.search(r"^License: *(\S[^\n]*)$", text, re.M)
    if "open-mpi.org" in text:
        return "BSD-3-Clause-Open-MPI"
    if stated:
        return SPDX.get(stated[1].strip(), stated[1].strip())
    if "GCC Runtime Library Exception" in text or "GCC RUNTIME LIBRARY EXCEPTION" in text:
        return "GPL-3.0-or-later WITH GCC-exception-3.1"
    if "Lesser General Public License" in text or "Lesser General Public" in text:
        return "LGPL-2.1-or-later"
    return "see its copyright file"


def debian(package, scope):
    version = said("dpkg-query", "-W", "-f", "${Version}", package)
    return {"type": "library", "name": package, "version": version, "purl": f"pkg:deb/debian/{package}@{version}",
            "licenses": [{"license": {"name": licence(package)}}], "properties": [{"name": "strack:how", "value": scope}]}


def bundled():
    packages = json.loads((ROOT / "src/report/web/package-lock.json").read_text())["packages"]
    for path, entry in sorted(packages.items()):
        if path and not entry.get("dev"):
            name = path.removeprefix("node_modules/")
            yield {"type": "library", "name": name, "version": entry["version"], "purl": f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}",
                   "licenses": [{"license": {"name": entry.get("license", "see its page")}}], "properties": [{"name": "strack:how", "value": "bundled"}]}


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    libraries = needed(build)
    if not libraries:
        print(f"error: {build}: nothing is built there. `make packages` builds it", file=sys.stderr)
        return 1
    linked = sorted({package for package in map(package_of, libraries) if package})
    loaded = sorted({package for package in map(package_of, LOADED) if package} - set(linked))
    present = [package for package in HEADERS if said("dpkg-query", "-W", package)]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1,
            "metadata": {"component": {"type": "application", "name": "strack", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [debian(package, "linked") for package in linked] + [debian(package, "loaded") for package in loaded]
            + [debian(package, "headers") for package in present] + list(bundled())}
    text = json.dumps(bill, indent=1) + "\n"
    if len(sys.argv) == 4:
        pathlib.Path(sys.argv[3]).write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
