#!/usr/bin/env python3
"""Makes the .deb files, installs them into an empty root with dpkg, and uses what lies there: program, manual pages,
completions, units, library, Python module.

usage: packages_test.py BUILD_FOLDER VERSION [unittest arguments]
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD, VERSION = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
MAJOR = VERSION.split(".")[0]
PACKAGES = ["strack", f"libstrack{MAJOR}", "libstrack-dev", "strack-dbgsym", "python3-strack"]
CONFIGURED = (pathlib.Path(BUILD) / "CPackConfig.cmake").read_text()
PACKAGES += [name for name in ("strack-libfabric", "strack-mpi") if name in CONFIGURED]  # where libfabric and MPI are
SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 120  # seconds for each command


def run(*command, status=0, **options):
    """What a command prints on its standard output."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                          **options)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_packages(folder):
    # The times in them are the sources', and gzip is quicker than what is shipped.
    run(SOURCE / "packaging/debs", BUILD, folder, "gzip", env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_packages_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.files = make_packages(cls.folder / "debs")
        # A root of its own, with dpkg's lists in it and nothing else: there is no shell for ldconfig's script, and packages they
        # depend on are not looked for. clean_root.py, a part of tools/prove, installs them on a whole Debian.
        cls.root = cls.folder / "root"
        for name in ("info", "updates", "triggers"):
            (cls.root / "var/lib/dpkg" / name).mkdir(parents=True)
        (cls.root / "var/lib/dpkg/status").touch()
        run("dpkg", f"--root={cls.root}", "--force-depends", "--force-not-root", "--log=/dev/null", "--unpack",
            *sorted(cls.files.values()))
        cls.usr = cls.root / "usr"
        cls.program = cls.usr / "bin/strack"

    def fields(self, package):
        return dict(re.findall(r"^(\S+): (.*)$", run("dpkg-deb", "--field", self.files[package]), re.M))

    def test_packages_and_what_they_need(self):
        self.assertEqual(sorted(self.files), sorted(PACKAGES))
        for name in PACKAGES:
            self.assertEqual(self.fields(name)["Version"], VERSION)
        self.assertRegex(self.fields("strack")["Depends"], r"libsqlite3-0")
        self.assertRegex(self.fields(f"libstrack{MAJOR}")["Depends"], r"libsodium23")
        self.assertIn(f"libstrack{MAJOR} (= {VERSION})", self.fields("libstrack-dev")["Depends"])
        if "strack-mpi" in PACKAGES:
            self.assertRegex(self.fields("strack-mpi")["Depends"], r"libopenmpi3")
        self.assertEqual(run("dpkg-deb", "--info", self.files[f"libstrack{MAJOR}"], "shlibs"), f"libstrack {MAJOR} libstrack{MAJOR} (>= {VERSION})\n")
        for need in ("python3-numpy", "python3-pandas", "libsqlite3-0"):
            self.assertIn(need, self.fields("python3-strack")["Depends"])

    def test_no_file_is_in_two_packages(self):
        seen = {}
        for name, file in self.files.items():
            for line in run("dpkg-deb", "--contents", file).splitlines():
                path = line.split()[5]
                self.assertTrue(line.split()[1] == "root/root", line)
                if not path.endswith("/"):
                    self.assertNotIn(path, seen, f"in {name} and {seen.get(path)}")
                    seen[path] = name
        self.assertGreater(len(seen), 100)

    def test_the_program_runs(self):
        self.assertEqual(run(self.program, "--version"), f"strack {VERSION}\n")
        scenario = self.usr / "share/strack/scenarios/small.toml"
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run(self.program, "sim", "run", scenario, "--set", "topology.hosts=32", "--set", "workload.size=50 KB", "--quiet", "--out",
            work / "run.db")
        self.assertIn("finished", run(self.program, "sim", "summary", work / "run.db"))

    def test_the_library_links(self):
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        lib = next(self.usr.rglob("libstrack.so")).parent
        flags = run("pkg-config", "--cflags", "--libs", "strack", env={**os.environ, "PKG_CONFIG_PATH": f"{lib}/pkgconfig"}).split()
        source = work / "program.c"
        source.write_text('#include <stdio.h>\n#include <strack/strack.h>\nint main(void) { puts(strack_version()); }\n')
        run("cc", source, *flags, "-o", work / "program")
        self.assertEqual(run(work / "program", env={**os.environ, "LD_LIBRARY_PATH": str(lib)}), VERSION + "\n")

    def test_the_python_module_runs(self):
        script = ("import strack\n"
                  "r = strack.run({'topology': {'hosts': 8, 'hosts_per_rack': 4}, 'workload': {'size': '10 KB'}})\n"
                  "print(strack.__version__, len(r.flows), strack.__file__)\n")
        printed = run("/usr/bin/python3", "-c", script, env={"PYTHONPATH": str(self.usr / "lib/python3/dist-packages")})
        self.assertEqual(printed, f"{VERSION} 8 {self.usr}/lib/python3/dist-packages/strack/__init__.py\n")

    def test_a_wheel_can_be_imported(self):
        wheel = pathlib.Path(run("/usr/bin/python3", SOURCE / "packaging/wheel.py", BUILD, VERSION, self.folder / "wheel").strip())
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.folder / "site")
            listed = {line.split(",")[0] for line in archive.read(f"strack-{VERSION}.dist-info/RECORD").decode().splitlines()}
            self.assertEqual(listed, set(archive.namelist()))
        printed = run("/usr/bin/python3", "-c", "import strack; print(strack.__version__, strack.__file__)", env={"PYTHONPATH": str(self.folder / "site")})
        self.assertEqual(printed, f"{VERSION} {self.folder}/site/strack/__init__.py\n")

    # --- Manual pages, completions, units -----------------------------------------------------------

    def test_every_command_has_a_manual_page(self):
        pages = sorted(path.name for path in (self.usr / "share/man/man1").iterdir())

        def below(*path):
            said = run(self.program, "help", *path) if path else run(self.program, "--help")
            names = re.findall(r"^  ([a-z-]+)(?: |$)", said.partition("Subcommands:")[2], re.M)
            return ["-".join(("strack", *path)) + ".1.gz"] + [page for name in names if name != "help" for page in below(*path, name)]

        self.assertEqual(pages, sorted(below()))
        self.assertIn("strack-topology-make-dragonfly-plus.1.gz", pages)
        page = gzip.decompress((self.usr / "share/man/man1/strack-sim-run.1.gz").read_bytes()).decode()
        for words in ("\n.SH SYNOPSIS\n.B strack sim run [OPTIONS] FILE\n", ".B \\-\\-set KEY=VALUE", "strack\\-scenario (5)"):
            self.assertIn(words, page)
        keys = gzip.decompress((self.usr / "share/man/man5/strack-scenario.5.gz").read_bytes()).decode()
        self.assertIn("\n[topology]\n", keys)
        if shutil.which("groff"):
            for path in [*(self.usr / "share/man/man1").iterdir(), *(self.usr / "share/man/man5").iterdir()]:
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=gzip.decompress(path.read_bytes()),
                                      capture_output=True, timeout=LIMIT)
                self.assertNotIn(b"warning: macro", done.stderr, path)
                self.assertNotIn(b"error", done.stderr, path)

    def complete(self, *words):
        script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strack; printf "%s\\n" "${COMPREPLY[@]}"')
        return run("bash", "-c", script, "bash", self.usr / "share/bash-completion/completions/strack", *words,
                   cwd=self.usr / "share/strack/scenarios").splitlines()

    def test_bash_completes_commands_options_values_keys_and_files(self):
        self.assertIn("vectors", self.complete("strack", ""))
        self.assertEqual(self.complete("strack", "sim", "su"), ["summary"])
        self.assertEqual(self.complete("strack", "sim", "run", "--dr"), ["--dry-run"])
        self.assertIn("emulated", self.complete("strack", "sim", "run", "--engine", ""))
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "topology.hosts_"), ["topology.hosts_per_rack="])
        self.assertIn("failure.0.rack=", self.complete("strack", "sim", "run", "x.toml", "--set", "failure"))
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "strack-plus.rack"), ["strack-plus.rack_us="])
        self.assertEqual(self.complete("strack", "sim", "run", "small"), ["small.toml"])
        self.assertEqual(self.complete("strack", "sim", "summary", "small"), [""])

    def test_bash_completes_values_and_units(self):
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "transport.scheme=roce"), ["rocev2", "roce-ar"])
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "workload.1.kind=inc"), ["incast"])
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "workload.size=16M"), ["16MB", "16MiB", "16MTU"])
        self.assertEqual(self.complete("strack", "sim", "run", "x.toml", "--set", "topology.base_rtt_us=9u"), ["9us"])
        self.assertEqual(self.complete("strack", "perf", "client", "host", "--rate", "2.5"), ["2.5Mb/s", "2.5Gb/s"])
        self.assertEqual(self.complete("strack", "sim", "compare", "x.toml", "--schemes", "strack,roce-"), ["strack,roce-ar"])

    def test_bash_completes_the_newer_commands_and_what_help_takes(self):
        self.assertEqual(self.complete("strack", "topology", "make", "dragonfly-"), ["dragonfly-plus"])
        self.assertEqual(self.complete("strack", "help", "topology", "make", "dragonfly-"), ["dragonfly-plus"])
        self.assertEqual(self.complete("strack", "help", "scen"), ["scenario"])
        self.assertEqual(self.complete("strack", "key", "tr"), ["trust"])
        self.assertEqual(self.complete("strack", "plan", "fab"), [""])
        self.assertEqual(self.complete("strack", "plan", "plans/fab"), ["plans/fabric.toml"])
        self.assertEqual(self.complete("strack", "diff", "--wi"), ["--with"])

    def test_other_shells_are_told_the_same(self):
        zsh = (self.usr / "share/zsh/vendor-completions/_strack").read_text()
        fish = (self.usr / "share/fish/vendor_completions.d/strack.fish").read_text()
        self.assertTrue(zsh.startswith("#compdef strack\n"))
        for word in ("vectors", "emulated", "topology.hosts_per_rack=", "dry-run", "dragonfly-plus", "KiB"):
            self.assertIn(word, fish)
            self.assertIn(word, zsh)
        for shell, file in (("zsh", "share/zsh/vendor-completions/_strack"), ("fish", "share/fish/vendor_completions.d/strack.fish")):
            if shutil.which(shell):
                run(shell, "-n", self.usr / file)

    def test_units_are_closed(self):
        for name in ("strack-recv", "strack-perf"):
            unit = (self.usr / f"lib/systemd/system/{name}.service").read_text()
            command = re.search(r"^ExecStart=/usr/bin/strack (.*)$", unit, re.M)[1].split()
            known = run(self.program, "help", *[word for word in command[:2] if re.fullmatch(r"\w+", word)])
            for option in (word for word in command if word.startswith("--")):
                self.assertIn(f"  {option} ", known)
            for line in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "PrivateDevices=yes",
                         "SystemCallFilter=@system-service", "RestrictAddressFamilies=AF_INET AF_INET6", "MemoryDenyWriteExecute=yes"):
                self.assertIn(f"\n{line}\n", unit)

    def test_debug_data_has_the_programs_identity(self):
        for path in (self.program, *self.usr.glob("lib/strack/*.so"), *self.usr.glob("lib/python3/dist-packages/strack/*.so")):
            name = re.search(r"Build ID: (\w\w)(\w+)", run("readelf", "-n", path))
            self.assertTrue((self.usr / f"lib/debug/.build-id/{name[1]}/{name[2]}.debug").is_file(), path)

    def test_lintian_finds_no_error(self):
        """Nor a warning, in `make packages`."""
        if not shutil.which("lintian"):
            self.skipTest("no lintian")
        self.assertNotIn("E: ", run("lintian", "--fail-on", "error", "--allow-root", *self.files.values()))


if __name__ == "__main__":
    unittest.main()
