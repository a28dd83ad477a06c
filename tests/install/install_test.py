#!/usr/bin/env python3
"""Installs a build, moves it elsewhere, and uses it: files, exported symbols, CMake package, pkg-config.

usage: install_test.py BUILD_FOLDER VERSION [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

BUILD, VERSION = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
MAJOR = VERSION.split(".")[0]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
LIMIT = 120  # seconds for each command

# Uses a template of the header, so that it is compiled and not only read.
CPP_PROGRAM = """
#include <strack/endpoint.h>
#include <strack/strack.h>

#include <cstdio>

int main() {
  strack::udp::EndpointOptions options;
  options.listen = "127.0.0.1:0";
  auto opened = strack::udp::Endpoint::open(options);
  if (!opened) return 1;
  strack::udp::Endpoint endpoint = std::move(opened.value());
  options.listen = "nowhere";
  const auto refused = strack::udp::Endpoint::open(options);
  if (refused || endpoint.local_port() == 0) return 1;
  std::printf("%s, api %u\\n", strack_version(), strack_api_version());
}
"""

CONSUMER = """
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES CXX)
find_package(strack @WANTED@)
message(STATUS "found: ${strack_FOUND} ${strack_VERSION} static ${strack_static_FOUND}")
"""


def run(*command, status=0, **options):
    """What a command prints on its standard output."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=LIMIT, **options)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout


def environment(**more):
    """Without what an earlier user of this shell may have set for installed software."""
    ours = {name: value for name, value in os.environ.items()
            if name not in ("DESTDIR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH",
                            "STRACK_KEY")}
    return ours | more


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        first = cls.folder / "first place"
        run("cmake", "--install", BUILD, "--prefix", first, env=environment())
        # Everything below uses what was moved; the place it was installed to no longer exists.
        cls.prefix = cls.folder / "moved here"
        first.rename(cls.prefix)
        found = list(cls.prefix.rglob("libstrack.so"))
        assert len(found) == 1, found
        cls.lib = found[0].parent
        cls.doc = cls.prefix / "share/doc/strack"
        cls.examples = cls.doc / "examples"
        cls.env = environment(PKG_CONFIG_PATH=str(cls.lib / "pkgconfig"),
                              LD_LIBRARY_PATH=str(cls.lib))

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def pkg_config(self, *words, **more):
        # pkg-config escapes for a shell, as a Makefile would need it.
        printed = run("pkg-config", *words, env=self.env | more)
        return run("bash", "-c", f"printf '%s\\n' {printed.strip()}").splitlines()

    def try_example(self, name, program):
        run(sys.executable, self.examples / "run_examples.py", name, program, env=self.env)

    # --- What lies where --------------------------------------------------------------------------

    def test_files(self):
        for name in ("bin/strack", "include/strack/strack.h", "include/strack/endpoint.h",
                     "share/doc/strack/LICENSE", "share/doc/strack/README.md",
                     "share/doc/strack/CHANGELOG.md", "share/doc/strack/docs/protocol.md",
                     "share/doc/strack/examples/hello.c",
                     "share/doc/strack/examples/CMakeLists.txt",
                     "share/strack/scenarios/permutation.toml"):
            self.assertTrue((self.prefix / name).is_file(), name)
        for name in ("libstrack.a", "pkgconfig/strack.pc", "pkgconfig/strack-static.pc",
                     "cmake/strack/strackConfig.cmake", "cmake/strack/strackConfigVersion.cmake"):
            self.assertTrue((self.lib / name).is_file(), name)
        self.assertEqual(sorted(path.name for path in (self.prefix / "include").rglob("*.h")),
                         ["endpoint.h", "endpoint_statistics.h", "strack.h"])
        self.assertEqual(os.readlink(self.lib / "libstrack.so"), f"libstrack.so.{MAJOR}")
        self.assertEqual(os.readlink(self.lib / f"libstrack.so.{MAJOR}"), f"libstrack.so.{VERSION}")

    def test_debug_data_lies_beside(self):
        """Small programs; whoever debugs them finds the rest in .debug, by a name and a checksum."""
        for path in (self.prefix / "bin/strack", (self.lib / "libstrack.so").resolve()):
            debug = path.parent / ".debug" / f"{path.name}.debug"
            self.assertNotIn(".debug_info", run("readelf", "-SW", path))
            self.assertIn(".debug_info", run("readelf", "-SW", debug))
            link = self.work / "link"
            run("objcopy", "--dump-section", f".gnu_debuglink={link}", path, self.work / "copy")
            name, _, rest = link.read_bytes().partition(b"\0")
            self.assertEqual(name.decode(), debug.name)
            self.assertEqual(int.from_bytes(rest[-4:], "little"), zlib.crc32(debug.read_bytes()))
        self.assertLess((self.prefix / "bin/strack").stat().st_size, 20_000_000)

    def test_program_runs_from_anywhere(self):
        printed = run(self.prefix / "bin/strack", "--version", env=environment())
        self.assertEqual(printed, f"strack {VERSION}\n")

    def test_nothing_names_a_place_of_the_build(self):
        """Paths that would only be right on the machine that built it."""
        texts = [path for path in self.prefix.rglob("*") if path.suffix in (".cmake", ".pc", ".h")]
        self.assertGreater(len(texts), 8)
        for path in texts:
            text = path.read_text()
            for place in (BUILD, str(SOURCE), str(self.folder), "first place"):
                self.assertNotIn(place, text, path)
        for path in (self.prefix / "bin/strack", self.lib / "libstrack.so"):
            dynamic = run("readelf", "-d", path)
            self.assertNotRegex(dynamic, r"\((RUNPATH|RPATH)\)")

    def test_destdir_and_prefix(self):
        stage = self.work / "stage"
        run("cmake", "--install", BUILD, "--prefix", "/opt/strack", env=environment(DESTDIR=stage))
        self.assertEqual([path.name for path in stage.iterdir()], ["opt"])
        self.assertTrue((stage / "opt/strack/bin/strack").is_file())
        self.assertFalse(pathlib.Path("/opt/strack").exists())

    # --- The shared library -----------------------------------------------------------------------

    def test_soname(self):
        dynamic = run("readelf", "-d", self.lib / "libstrack.so")
        self.assertIn(f"Library soname: [libstrack.so.{MAJOR}]", dynamic)

    def test_exports_the_functions_of_the_header_and_nothing_else(self):
        header = (self.prefix / "include/strack/strack.h").read_text()
        declared = re.findall(r"^STRACK_EXPORT [^;(]*?\b(strack_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 25)
        self.assertEqual(len(declared), len(re.findall(r"^STRACK_EXPORT ", header, re.MULTILINE)))
        symbols = run("nm", "-D", "--defined-only", "--format=posix", self.lib / "libstrack.so")
        exported = [line.split()[0].split("@")[0] for line in symbols.splitlines()
                    if line.split()[1] != "A"]  # the version itself
        self.assertEqual(sorted(exported), sorted(declared))

    def test_nothing_that_programs_link_is_gone(self):
        """src/capi/abi.txt remembers what was there."""
        lines = (SOURCE / "src/capi/abi.txt").read_text().splitlines()
        self.assertIn(f"libstrack.so.{MAJOR} ", lines[0])
        symbols = run("nm", "-D", "--defined-only", "--format=posix", self.lib / "libstrack.so")
        exported = {line.split()[0] for line in symbols.splitlines() if line.split()[1] != "A"}
        self.assertEqual(sorted(exported), [f"{name}@@STRACK_{MAJOR}" for name in lines[1:]],
                         "a function that is new has to be added to src/capi/abi.txt")

    def test_loads_into_another_language(self):
        script = ("import ctypes, sys\n"
                  "library = ctypes.CDLL(sys.argv[1])\n"
                  "library.strack_version.restype = ctypes.c_char_p\n"
                  "print(library.strack_version().decode(), library.strack_api_version())\n")
        printed = run(sys.executable, "-c", script, self.lib / f"libstrack.so.{MAJOR}")
        self.assertEqual(printed, f"{VERSION} 5\n")

    # --- Headers ----------------------------------------------------------------------------------

    def test_headers_stand_alone(self):
        include = f"-I{self.prefix / 'include'}"
        for compiler, language, standard, header in (
                ("cc", "c", "c11", "strack.h"), ("c++", "c++", "c++11", "strack.h"),
                ("c++", "c++", "c++20", "strack.h"), ("c++", "c++", "c++20", "endpoint.h")):
            source = self.work / "include_it"
            source.write_text(f"#include <strack/{header}>\n#include <strack/{header}>\n")
            run(compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only", include,
                source)

    # --- pkg-config -------------------------------------------------------------------------------

    def test_pkg_config_knows_the_version(self):
        for name in ("strack", "strack-static"):
            self.assertEqual(self.pkg_config("--modversion", name), [VERSION])
            run("pkg-config", "--validate", name, env=self.env)

    def test_pkg_config_for_c(self):
        # Needs no other package, not even to be installed.
        flags = self.pkg_config("--cflags", "--libs", "strack", PKG_CONFIG_LIBDIR="/nowhere")
        self.assertNotIn("-lsodium", flags)
        for name in ("hello", "write"):
            program = self.work / name
            run("cc", "-std=c11", *WARNINGS, self.examples / f"{name}.c", *flags, "-o", program)
            self.assertIn(f"[libstrack.so.{MAJOR}]", run("readelf", "-d", program))
            self.try_example(name, program)

    def test_pkg_config_for_c_without_the_shared_library(self):
        flags = self.pkg_config("--cflags", "--libs", "strack-static")
        program = self.work / "hello"
        run("cc", "-std=c11", *WARNINGS, self.examples / "hello.c", *flags, "-lstdc++", "-o",
            program)
        self.assertNotIn("libstrack", run("readelf", "-d", program))
        self.try_example("hello", program)

    def test_pkg_config_for_cpp(self):
        flags = self.pkg_config("--cflags", "--libs", "strack-static")
        source = self.work / "program.cpp"
        source.write_text(CPP_PROGRAM)
        run("c++", "-std=c++20", *WARNINGS, source, *flags, "-o", self.work / "program")
        self.assertEqual(run(self.work / "program", env=self.env), f"{VERSION}, api 5\n")

    # --- find_package -----------------------------------------------------------------------------

    def test_find_package_builds_and_runs_the_examples(self):
        build = self.work / "build"
        run("cmake", "-S", self.examples, "-B", build, "-D", "CMAKE_BUILD_TYPE=Release",
            "-D", f"CMAKE_PREFIX_PATH={self.prefix}", env=environment())
        run("cmake", "--build", build, env=environment())
        run("ctest", "--test-dir", build, "--output-on-failure", env=environment())
        self.assertIn(f"[libstrack.so.{MAJOR}]", run("readelf", "-d", build / "hello"))
        self.assertNotIn("libstrack", run("readelf", "-d", build / "allreduce"))

    def find_package(self, wanted, **more):
        (self.work / "CMakeLists.txt").write_text(CONSUMER.replace("@WANTED@", wanted))
        printed = run("cmake", "-S", self.work, "-B", tempfile.mkdtemp(dir=self.work), "-D",
                      f"CMAKE_PREFIX_PATH={self.prefix}", env=environment(**more))
        return re.search("found: (.*)", printed)[1]

    def test_find_package_compares_versions(self):
        self.assertEqual(self.find_package(f"{VERSION} REQUIRED"), f"1 {VERSION} static TRUE")
        self.assertRegex(self.find_package("99.0"), "^0 ")
        self.assertRegex(self.find_package(f"{VERSION} COMPONENTS nonsense"), "^(0|FALSE) ")

    def test_find_package_without_libsodium(self):
        """The shared library brings what it needs; the archive cannot."""
        self.assertEqual(self.find_package(VERSION, PKG_CONFIG_LIBDIR="/nowhere"),
                         f"1 {VERSION} static FALSE")
        self.assertRegex(self.find_package(f"{VERSION} COMPONENTS static",
                                           PKG_CONFIG_LIBDIR="/nowhere"), "^(0|FALSE) ")


if __name__ == "__main__":
    unittest.main()
