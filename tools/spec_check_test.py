#!/usr/bin/env python3
"""Proves on small trees that spec_check.py passes what is right and fails in every way it should."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spec_check  # noqa: E402

DECISION = '''## [{id}] {title}

- **Question** what
- **Options** this or that
- **Choice** this
- **Reason** because
- **Switch** {switch}
- **Test** see the traceability page
'''

GOOD = {
    'spec/requirements.md': '''# Requirements

Some words, and a decision [D1] by the way.

## Algorithm 3: congestion control

- **[A3.L5]** First branch. More of it.
- **[A3.L6]** The window grows
  by beta. (see [D1])

## Others

- **[R.sack.lpsn]** Shows the right segment.
''',
    'spec/decisions.md': '# Decisions\n\n' + DECISION.format(id='D1', title='Units', switch='`increase_rule`'),
    'src/core/window.h': '''// The window.
#pragma once
namespace strack {
struct Window {
  int increase_rule = 0;
  void grow(bool ecn) {
    if (!ecn) {  // [A3.L5]
      cwnd += 1;  // [A3.L6] [D1]
    }
  }
  int cwnd = 0;
};
/// [R.sack.lpsn] The segment to show.
int segment_base(int lpsn);
}  // namespace strack
''',
    'src/core/window_test.cpp': '''#include "core/window.h"
namespace strack {
// [A3.L5-6] [D1] Grows by
// the right amount.
TEST(Window, Grows) {
  EXPECT_EQ(1, 1);
}

// [R.sack.lpsn] Which one.
TEST_F(Segment, Lowest) {}
}  // namespace strack
''',
}


class SpecCheckTest(unittest.TestCase):
    def run_on(self, changes=None, *arguments):
        """Runs the checker on the good tree with some files changed. Returns (exit status, stderr, page)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **(changes or {})}.items():
                if text is None:
                    continue
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                    f.write(text)
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                status = spec_check.main(['--root', root, *arguments])
            page = ''
            if os.path.exists(os.path.join(root, spec_check.PAGE)):
                page = spec_check.read(root, spec_check.PAGE)
            return status, errors.getvalue(), page

    def passes(self, changes=None):
        status, errors, _ = self.run_on(changes)
        self.assertEqual((status, errors), (0, ''))

    def fails(self, changes, *expected):
        """The run fails, says each of `expected`, and nothing besides."""
        status, errors, _ = self.run_on(changes)
        self.assertEqual(status, 1, errors)
        lines = errors.splitlines()
        self.assertEqual(len(lines), len(expected) + 1, errors)
        for line, words in zip(lines, expected):
            self.assertTrue(line.startswith('error: ' + words), f'{line!r} does not start with {words!r}')

    @staticmethod
    def changed(path, old, new):
        assert GOOD[path].count(old) >= 1, old
        return {path: GOOD[path].replace(old, new, 1)}

    # ---- A good tree ----

    def test_good_tree_passes(self):
        self.passes()

    def test_real_looking_code_holds_no_tags(self):
        self.passes({'src/core/other.cpp': r'''
[[nodiscard]] int f(int D9) {
  auto g = [D9] { return D9; };             // a lambda's capture is code
  auto h = [R.x] {};
  return table[D9] + bits[A9] + g() + 1'000'000;
}
const char* text = "// [D9] is a string, not a comment";
const char* raw = R"(// [D9] "still a string)";
const char quote = '"';  // array[D9] here is a subscript, [D9](http://x) a link, [default] and [i] are words
/* [d9] [Dx] [RFC 1982] [Table 1] */
'''})

    # ---- What a requirement needs ----

    def test_requirement_without_code_tag(self):
        self.fails(self.changed('src/core/window.h', '// [A3.L5]', '//'),
                   'spec/requirements.md:7: [A3.L5] has no code tag. put "// [A3.L5]" beside')

    def test_requirement_without_test_tag(self):
        self.fails(self.changed('src/core/window_test.cpp', '// [R.sack.lpsn] Which', '// Which'),
                   'spec/requirements.md:13: [R.sack.lpsn] has no test tag. put "// [R.sack.lpsn] ..." on the line')

    def test_decision_without_test_tag(self):
        self.fails(self.changed('src/core/window_test.cpp', ' [D1]', ''),
                   'spec/decisions.md:3: [D1] has no test tag')

    def test_decision_needs_no_code_tag(self):
        self.passes(self.changed('src/core/window.h', ' [D1]', ''))

    def test_code_tag_is_no_test_tag_and_test_tag_no_code_tag(self):
        self.fails({'src/core/window_test.cpp': '// [A3.L5-6] [R.sack.lpsn] [D1]\nTEST(All, Of) {}\n',
                    'src/core/window.h': 'int increase_rule;\n// [A3.L5]\nvoid TEST_like();\n'},
                   'spec/requirements.md:8: [A3.L6] has no code tag',
                   'spec/requirements.md:13: [R.sack.lpsn] has no code tag')

    def test_whole_algorithm_is_a_reference_that_covers_nothing(self):
        self.passes(self.changed('src/core/window.h', '// The window.', '// [A3] The window.'))
        self.fails(self.changed('src/core/window.h', '// [A3.L5]', '// [A3]'),
                   'spec/requirements.md:7: [A3.L5] has no code tag')

    # ---- Tags that name nothing ----

    def test_unknown_tag_in_code(self):
        self.fails(self.changed('src/core/window.h', '// [A3.L6] [D1]', '// [A3.L6] [D7]'),
                   'src/core/window.h:8: unknown tag [D7]. define it in spec/decisions.md')

    def test_unknown_tag_in_test(self):
        self.fails(self.changed('src/core/window_test.cpp', '// the right', '// [A3.L7] the right'),
                   'src/core/window_test.cpp:4: unknown tag [A3.L7]. define it in spec/requirements.md, or did you')

    def test_unknown_tag_in_other_places(self):
        for path in ('tests/deep/er/swarm.cpp', 'bench/loop.cpp', 'src/core/x_fuzz.cpp', 'src/a.hpp'):
            self.fails({path: '/* one\n * two [R.sack.nonsense]\n */\n'}, path + ':2: unknown tag [R.sack.nonsense]')

    def test_unknown_whole_algorithm(self):
        self.fails({'src/a.h': '// [A7]\n'}, 'src/a.h:1: unknown tag [A7]')

    def test_pages_of_transports_have_rules_too(self):
        page = '# NDP\n\nWords.\n\n## Rules\n\n- **[NDP.pull]** One pull for each packet. (see [D1])\n- **Bold** words.\n'
        code = GOOD['src/core/window.h'] + '// [NDP.pull] here\nint pull();\n'
        test = GOOD['src/core/window_test.cpp'] + '// [NDP.pull] so\nTEST(Ndp, Pull) {}\n'
        good = {'docs/transports/ndp.md': page, 'src/core/window.h': code, 'src/core/window_test.cpp': test}
        status, errors, written = self.run_on(good, '--write')
        self.assertEqual((status, errors), (0, ''))
        self.assertIn('## NDP\n', written)
        self.assertIn('| **NDP.pull** One pull for each packet |', written)
        self.fails({**good, 'src/core/window_test.cpp': GOOD['src/core/window_test.cpp']},
                   'docs/transports/ndp.md:7: [NDP.pull] has no test tag')
        self.fails({**good, 'src/core/window.h': code + '// [NDP.push]\n'},
                   'src/core/window.h:18: unknown tag [NDP.push]')
        self.fails({**good, 'docs/transports/ndp.md': page + 'See [D9].\n'}, 'docs/transports/ndp.md:9: refers to [D9]')

    def test_list_in_one_bracket(self):
        self.fails({'src/a.h': '// [A3.L5, D1]\n'},
                   'src/a.h:1: unknown tag [A3.L5, D1]. write a list as [A3.L6] [D3]')

    def test_ranges(self):
        self.passes({'src/a.h': '// [A3.L1-8] from before the first to the end lines, [A3.L5-L6] [A3.L6-6]\n'})
        for name in ('A3.L1-4', 'A3.L7-8', 'A3.L6-5', 'A3.L5-99', 'A9.L1-2'):
            self.fails({'src/a.h': f'// [{name}]\n'}, f'src/a.h:1: unknown tag [{name}]. no requirement lies')

    # ---- The specification itself ----

    def test_requirement_defined_twice(self):
        self.fails({'spec/requirements.md': GOOD['spec/requirements.md'] + '- **[A3.L6]** Again.\n'},
                   'spec/requirements.md:14: [A3.L6] is defined again; first at spec/requirements.md:8')

    def test_decision_defined_twice(self):
        again = DECISION.format(id='D1', title='Again', switch='none')
        self.fails({'spec/decisions.md': GOOD['spec/decisions.md'] + again},
                   'spec/decisions.md:11: [D1] is defined again; first at spec/decisions.md:3')

    def test_requirement_refers_to_missing_decision(self):
        self.fails(self.changed('spec/requirements.md', '(see [D1])', '(see [D1] [D2])'),
                   'spec/requirements.md:9: refers to [D2], which does not exist. define it in spec/decisions.md')

    def test_decision_and_glossary_refer_to_missing_id(self):
        self.fails(self.changed('spec/decisions.md', 'because', 'because of [R.sack.none]'),
                   'spec/decisions.md:8: refers to [R.sack.none], which does not exist')
        self.fails({'spec/glossary.md': 'cwnd [P.window]\n'},
                   'spec/glossary.md:1: refers to [P.window], which does not exist')

    def test_entries_that_cannot_be_read(self):
        self.fails({'spec/requirements.md': GOOD['spec/requirements.md'] + '- **[B3.L6]** No such kind.\n'},
                   'spec/requirements.md:14: [B3.L6] is not a requirement id')
        self.fails({'spec/requirements.md': GOOD['spec/requirements.md'] + '- **A3.L9** No brackets.\n'},
                   'spec/requirements.md:14: cannot read this entry')
        self.fails({'spec/decisions.md': GOOD['spec/decisions.md'] + '## D2 No brackets\n'},
                   'spec/decisions.md:11: cannot read this heading')

    def test_decision_without_a_field(self):
        for name in spec_check.DECISION_FIELDS:
            text = ''.join(line for line in GOOD['spec/decisions.md'].splitlines(True) if f'**{name}**' not in line)
            self.fails({'spec/decisions.md': text}, f'spec/decisions.md:3: [D1] has no {name}')

    def test_switch_that_the_code_does_not_have(self):
        self.fails(self.changed('spec/decisions.md', '`increase_rule`', '`increase_law`'),
                   'spec/decisions.md:3: [D1] names the switch `increase_law`, which src/ does not have')

    def test_no_specification(self):
        status, errors, _ = self.run_on({'spec/decisions.md': None})
        self.assertEqual(status, 2)
        self.assertIn('spec/decisions.md: no such file', errors)

    # ---- What counts as a test tag ----

    LPSN = 'spec/requirements.md:13: [R.sack.lpsn] has no test tag'

    def without_lpsn_test(self, path, text):
        """The good tree with the test of [R.sack.lpsn] replaced by a file."""
        tests = GOOD['src/core/window_test.cpp'].replace('// [R.sack.lpsn] Which', '// Which')
        return {'src/core/window_test.cpp': tests, path: text}

    def test_all_test_macros_count(self):
        for macro in ('TEST', 'TEST_F', 'TEST_P', 'TYPED_TEST', 'TYPED_TEST_P', 'STRACK_TEST'):
            self.passes(self.without_lpsn_test('src/a_test.cpp', f'// [R.sack.lpsn] x\n{macro}(A, B) {{}}\n'))
        self.passes(self.without_lpsn_test('src/a_test.cpp', '/* x\n   [R.sack.lpsn]\n*/\nTEST(A,\n     B) {\n}\n'))
        self.passes(self.without_lpsn_test(
            'src/a_test.cpp', 'namespace {\nstruct S { int x{1}; };\n}\n// [R.sack.lpsn]\n// more\nTEST(A, B) {}\n'))

    def test_tags_in_a_test_file_that_prove_nothing(self):
        for text in ('// [R.sack.lpsn]\n\nTEST(A, B) {}\n',                     # a blank line between
                     'TEST(A, B) {\n  // [R.sack.lpsn]\n  EXPECT_EQ(1, 1);\n}\n',  # inside the test
                     'TEST(A, B) {}  // [R.sack.lpsn]\n',                       # beside it
                     '// [R.sack.lpsn]\nvoid helper() {}\nTEST(A, B) {}\n',     # above something else
                     '// [R.sack.lpsn]\n#include <x>\nTEST(A, B) {}\n',
                     '// [R.sack.lpsn]\nINSTANTIATE_TEST_SUITE_P(A, B, C);\n',
                     '// [R.sack.lpsn]\n'):
            with self.subTest(text):
                self.fails(self.without_lpsn_test('src/a_test.cpp', text), self.LPSN)
                _, errors, _ = self.run_on(self.without_lpsn_test('src/a_test.cpp', text))
                self.assertRegex(errors, r'\(the tag at src/a_test.cpp:\d does not count')

    def test_functions_and_checks_count_in_tests_and_fuzz_harnesses(self):
        for path in ('tests/swarm/invariants.h', 'tests/swarm.cpp', 'src/core/window_fuzz.cpp'):
            for text in ('// [R.sack.lpsn] holds\nvoid check_segment(const Sack& sack) { use(sack); }\n',
                         '/// [R.sack.lpsn]\ntemplate <class T>\nbool holds(T t);\n',
                         'void f() {\n  // [R.sack.lpsn] says\n  // why\n  EXPECT_EQ(\n    a, b);\n}\n',
                         'void f() {\n  if (a) {\n    STRACK_CHECK(a == b);  // [R.sack.lpsn]\n  }\n}\n',
                         '// [R.sack.lpsn]\nextern "C" int LLVMFuzzerTestOneInput(const char* d) { return 0; }\n',
                         '// [R.sack.lpsn]\nTEST(A, B) {}\n'):
                with self.subTest(path=path, text=text):
                    self.passes(self.without_lpsn_test(path, text))

    def test_other_lines_of_a_harness_prove_nothing(self):
        for text in ('void f() {\n  // [R.sack.lpsn]\n  int x = 3;\n}\n',
                     'void f() {\n  int x = 3;  // [R.sack.lpsn]\n}\n',
                     'void f() {\n  // [R.sack.lpsn]\n\n  EXPECT_EQ(1, 1);\n}\n',
                     '// [R.sack.lpsn]\nint x = 3;\n',
                     '// [R.sack.lpsn]\n\nvoid f() {}\n'):
            with self.subTest(text):
                self.fails(self.without_lpsn_test('tests/a.cpp', text), self.LPSN)

    def test_support_headers_and_benchmarks_are_neither_code_nor_test(self):
        tag = '// [R.sack.lpsn]\nvoid check();\n'
        code = GOOD['src/core/window.h'].replace('/// [R.sack.lpsn] ', '/// ')
        for path in ('src/core/test_support.h', 'src/core/window_test_util.h', 'src/core/window_test.h', 'bench/b.cpp'):
            self.fails({'src/core/window.h': code, path: tag}, 'spec/requirements.md:13: [R.sack.lpsn] has no code tag')
            self.fails(self.without_lpsn_test(path, tag), self.LPSN)

    # ---- The page ----

    def test_page_is_written_and_then_current(self):
        status, errors, page = self.run_on(None, '--write')
        self.assertEqual((status, errors), (0, ''))
        status, errors, _ = self.run_on({'spec/traceability.md': page}, '--check')
        self.assertEqual((status, errors), (0, ''))

    def test_page_names_code_tests_and_decisions_without_line_numbers(self):
        _, _, page = self.run_on(None, '--write')
        self.assertIn('| **A3.L6** The window grows by beta | [window.h](../src/core/window.h) `Window::grow` '
                      '| [Window.Grows](../src/core/window_test.cpp) | D1 |\n', page)
        self.assertIn('| **R.sack.lpsn** Shows the right segment | [window.h](../src/core/window.h) `segment_base` '
                      '| [Segment.Lowest](../src/core/window_test.cpp) |  |\n', page)
        self.assertIn('| **D1** Units | `increase_rule` | A3.L6 | [window.h](../src/core/window.h) `Window::grow` '
                      '| [Window.Grows](../src/core/window_test.cpp) |\n', page)
        moved = {path: '\n\n' + text if path.startswith('src/') else text for path, text in GOOD.items()}
        self.assertEqual(self.run_on(moved, '--write')[2], page)

    def test_missing_page(self):
        status, errors, _ = self.run_on(None, '--check')
        self.assertEqual(status, 1)
        self.assertIn('error: spec/traceability.md:1: does not exist. run tools/spec_check.py --write', errors)

    def test_stale_page(self):
        _, _, page = self.run_on(None, '--write')
        renamed = self.changed('src/core/window_test.cpp', 'Grows)', 'GrowsFast)')
        status, errors, _ = self.run_on({**renamed, 'spec/traceability.md': page}, '--check')
        self.assertEqual(status, 1)
        self.assertRegex(errors, r'^error: spec/traceability.md:\d+: is out of date. run tools/spec_check.py --write')

    def test_page_is_written_even_with_gaps_and_shows_them(self):
        status, _, page = self.run_on(self.changed('src/core/window.h', '// [A3.L5]', '//'), '--write')
        self.assertEqual(status, 1)
        self.assertIn('| **A3.L5** First branch | **none** |', page)
        self.assertIn('3 requirements: 2 in the code, 3 tested. 1 decisions: 1 tested.', page)


class SymbolTest(unittest.TestCase):
    """Which symbol a comment belongs to."""

    def symbols(self, text):
        return [comment.symbol for comment in spec_check.CppReader(text).comments]

    def test_symbols(self):
        for text, expected in (
                ('// a\n#include <x>\n', ['']),
                ('// a\nnamespace x::y {\n// b\nint f();\n}\n', ['', 'f']),
                ('struct S {\n  int a;  // a\n  // b\n  int g() const { return 1; }  // c\n};\n',
                 ['S', 'S::g', 'S::g']),
                ('enum class E : int {\n  a,  // a\n  b,\n  // b\n  c  // c\n};\n', ['E', 'E', 'E']),
                ('class C final : public B<int> {\n public:\n  // a\n  C(int x) : x_{x}, y_(x) {\n    // b\n  }\n};\n',
                 ['C::C', 'C::C']),
                ('template <class T>\nauto Box<T>::get(T t = {}) const -> int {\n  if (t) { // a\n  }\n}  // b\n',
                 ['Box::get', 'Box::get']),
                ('// a\ninline constexpr int kTable[] = {\n  1,  // b\n};\n', ['kTable', 'kTable']),
                ('constexpr auto k = [](int x) {\n  return x;  // a\n};\n// b\nvoid f() {}\n', ['k', 'f']),
                ('bool operator==(A a, B b) {  // a\n}\n', ['operator==']),
                ('template <class T>\n  requires requires(T t) { t.x(); }\n// a\nvoid f(T t) {}\n', ['f']),
                ('int x = 1\'000;  // it\'s a\nvoid f() { g("}"); }\n// b\nvoid h();\n', ['x', 'h']),
                ('#define M(x) { x\nvoid f() {  // a\n}\n', ['f'])):
            with self.subTest(text):
                self.assertEqual(self.symbols(text), expected)


class RealTreeTest(unittest.TestCase):
    def test_the_repository_has_a_specification(self):
        """The checker reads our own pages without complaint about their form. Coverage is the checker's own run."""
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
        problems = spec_check.Problems()
        requirements = [entry for path in spec_check.requirement_files(root)
                        for entry in spec_check.parse_requirements(path, spec_check.read(root, path), problems)]
        decisions = spec_check.parse_decisions(spec_check.read(root, spec_check.DECISIONS), problems)
        spec_check.follow_references(root, spec_check.unique(requirements + decisions, problems), problems)
        self.assertEqual(problems.lines(), [])
        self.assertEqual([d.id for d in decisions], [f'D{n}' for n in range(1, len(decisions) + 1)])


if __name__ == '__main__':
    unittest.main()
