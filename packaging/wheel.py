#!/usr/bin/python3
"""`import strack` as a wheel, of what a build has made: packaging/wheel.py BUILD_FOLDER VERSION OUT_FOLDER

For this machine's python3 and processor only: the module is compiled against both, and links the libraries of the system. The same bytes every time.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build, version, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    package = build / "python/strack"
    if not list(package.glob("_core.*.so")):
        print(f"error: {package}: no module is built there. it takes cmake --preset release -DSTRACK_PYTHON=ON, and its target strack_python", file=sys.stderr)
        return 1
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"strack-{version}.dist-info"
    files = {f"strack/{path.name}": path.read_bytes() for path in sorted(package.iterdir())
             if path.suffix in (".py", ".pyi", ".so", ".json") or path.name == "py.typed"}
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: strack\nVersion: {version}\nSummary: STrack's simulator and transport in Python\n"
                                 "License: Apache-2.0\nRequires-Python: >=3.11,<3.12\nRequires-Dist: numpy\nRequires-Dist: pandas\n").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: strack\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"strack-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
