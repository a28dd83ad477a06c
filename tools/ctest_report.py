#!/usr/bin/env python3
"""Says what a run of ctest did, case by case.

  tools/ctest_report.py BUILD JUNIT [AGAIN]   what came of `ctest --output-junit JUNIT` in the build tree BUILD; AGAIN is
                                              the same of a second run of tests that failed, if there was one
  tools/ctest_report.py --failed JUNIT        the names of the tests that failed, one a line
  tools/ctest_report.py --self-test

A GoogleTest program is one test for ctest, and many cases for a reader; each leaves an XML file in BUILD/cases
(cmake/strack.cmake). The first line is for the table of tools/test: how many cases there were. Then one line
for each case that was skipped, with the reason; one for each test that failed at first and passed when it ran again; then
what failed, with what it said. Exits with 1 if anything failed, at its last run.
"""

import pathlib
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

SHOWN_LINES = 25  # of what a failing case said; all of it is in the stage's log


def first_line(text):
    """The first line that says something, without the place in the source that GoogleTest puts before it."""
    for line in (text or "").splitlines():
        line = re.sub(r"^(skipped|error): ", "", line.strip())
        if line and not re.fullmatch(r"\S+:\d+(: Skipped)?|Skipped", line):
            return line
    return "no reason given"


def died_in(output):
    """The case that was running when a program ended without a word, or nothing."""
    running = None
    for mark, name in re.findall(r"^\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] (\S+?),?(?: .*)?$", output, re.M):
        running = name if mark == "RUN" else None if name == running else running
    return running


class Report:
    def __init__(self):
        self.ran = 0
        self.skipped = []  # (name, reason)
        self.failed = []  # (name, what it said)
        self.unsteady = []  # (name, what it said when it failed)

    def add_program(self, name, output, failed, files):
        """One GoogleTest program (or shard of it) and the XML file that it left, if it did."""
        found = [f for f in files if f.is_file()]
        before = len(self.failed)
        for file in found:
            for case in xml.parse(file).getroot().iter("testcase"):
                if case.get("status") != "run" and case.get("result") != "skipped":
                    continue  # of another shard, or disabled
                full = f"{name}: {case.get('classname')}.{case.get('name')}"
                if case.get("result") == "skipped":
                    reason = case.find("skipped")
                    self.skipped.append((full, first_line(reason.get("message") if reason is not None else "")))
                    continue
                self.ran += 1
                wrong = case.findall("failure")
                if wrong:
                    self.failed.append((full, "\n".join(w.get("message") or "" for w in wrong)))
        if failed and len(self.failed) == before:
            case = died_in(output)
            self.failed.append((f"{name}: {case}" if case else name, output))

    def add(self, test, cases):
        name = test.get("name")
        output = test.findtext("system-out") or ""
        failed = test.get("status") == "fail"
        program, _, shard = name.partition("/")
        file = cases / f"{program}-{shard or 0}.xml"
        if test.find("skipped") is not None and not failed:
            self.skipped.append((name, first_line(output)))
        elif file.is_file() or "[==========]" in output:
            self.add_program(name, output, failed, [file])
        else:
            self.ran += 1
            if failed or test.get("status") == "notrun":
                self.failed.append((name, output or "did not run"))

    def text(self):
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        lines = [f"{self.ran} tests{skipped}"]
        lines += [f"skipped {name}: {reason}" for name, reason in self.skipped]
        lines += [f"unsteady {name}: failed, and passed when it ran again" for name, _said in self.unsteady]
        for word, tests in (("unsteady, at first", self.unsteady), ("FAILED", self.failed)):
            for name, said in tests:
                said = said.strip().splitlines()
                cut = [f"... ({len(said) - SHOWN_LINES} lines before)"] if len(said) > SHOWN_LINES else []
                lines += [f"{word} {name}", *("    " + line for line in cut + said[-SHOWN_LINES:])]
        return "\n".join(lines)


def tests_of(junit):
    return list(xml.parse(junit).getroot().iter("testcase"))


def failing(test):
    return test.get("status") == "fail" or (test.get("status") == "notrun" and test.find("skipped") is None)


def report(build, junit, again=None):
    second = {test.get("name"): test for test in tests_of(again)} if again and pathlib.Path(again).is_file() else {}
    result = Report()
    for test in tests_of(junit):
        other = second.get(test.get("name"), test)
        if failing(test) and not failing(other):
            result.unsteady.append((test.get("name"), test.findtext("system-out") or ""))
        result.add(other, pathlib.Path(build) / "cases")
    return result


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "cases").mkdir()
        (folder / "cases/a_test-0.xml").write_text(
            """<testsuites><testsuite name="S">
            <testcase name="Good" status="run" result="completed" classname="S"/>
            <testcase name="Other" status="notrun" result="suppressed" classname="S"/>
            <testcase name="Skip" status="run" result="skipped" classname="S">
              <skipped message="a.cpp:3&#x0A;no such device&#x0A;"/></testcase>
            <testcase name="Bad" status="run" result="completed" classname="S">
              <failure message="a.cpp:7&#x0A;is 1, not 2"/></testcase>
            </testsuite></testsuites>""")
        (folder / "junit.xml").write_text(
            """<testsuite>
            <testcase name="a_test" status="fail"><system-out>[==========] Running</system-out></testcase>
            <testcase name="b_test/1" status="fail"><system-out>[==========] Running
[ RUN      ] B.First
[       OK ] B.First (0 ms)
[ RUN      ] B.Second
check failed</system-out></testcase>
            <testcase name="script" status="run"/>
            <testcase name="net" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
              <system-out>skipped: needs root</system-out></testcase>
            </testsuite>""")
        found = report(folder, folder / "junit.xml")
        assert found.ran == 3, found.ran
        assert found.skipped == [("a_test: S.Skip", "no such device"), ("net", "needs root")], found.skipped
        assert [name for name, _ in found.failed] == ["a_test: S.Bad", "b_test/1: B.Second"], found.failed
        text = found.text().splitlines()
        assert text[0] == "3 tests, 2 skipped", text
        assert "    is 1, not 2" in text and "    check failed" in text, text
        assert [test.get("name") for test in tests_of(folder / "junit.xml") if failing(test)] == ["a_test", "b_test/1"]

        (folder / "again.xml").write_text("""<testsuite><testcase name="b_test/1" status="run"/></testsuite>""")
        found = report(folder, folder / "junit.xml", folder / "again.xml")
        assert [name for name, _ in found.failed] == ["a_test: S.Bad"], found.failed
        assert found.text().splitlines()[3] == "unsteady b_test/1: failed, and passed when it ran again", found.text()
        assert "    check failed" in found.text(), found.text()
    print("ctest_report: self-test passed")


def main(arguments):
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if len(arguments) == 2 and arguments[0] == "--failed":
        print("\n".join(test.get("name") for test in tests_of(arguments[1]) if failing(test)))
        return 0
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    found = report(*arguments)
    print(found.text())
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
