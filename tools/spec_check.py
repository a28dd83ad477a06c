#!/usr/bin/env python3
"""Holds spec/, code and tests together, and writes the page that shows how.

Every requirement (spec/requirements.md, docs/transports/*.md) needs a tag in the code and one in a test, every
decision (spec/decisions.md) one in a test, and every tag must name something. spec/README.md says what counts.

  spec_check.py            checks the tags
  spec_check.py --check    checks the tags, and that spec/traceability.md is up to date
  spec_check.py --write    brings spec/traceability.md up to date, then checks the tags

Exit status: 0 all is well, 1 something is missing or wrong, 2 there is no specification to check.
"""

import argparse
import bisect
import dataclasses
import difflib
import os
import re
import sys

REQUIREMENTS = 'spec/requirements.md'
PAGES = 'docs/transports'  # what other sources ask: a page for each transport, its rules' ids begin with its name
DECISIONS = 'spec/decisions.md'
GLOSSARY = 'spec/glossary.md'
PAGE = 'spec/traceability.md'
CPP = ('.h', '.hpp', '.cpp', '.cc')

ID = re.compile(r'[AT]\d+\.\w+|Q\d+|D\d+|(?:[RP]|[A-Z]{2}[A-Z0-9]*)\.\w+(?:\.\w+)*')
# Whatever looks like a tag, right or wrong, so that a misspelt one is reported rather than overlooked. A bracket
# right after a name or another bracket is a subscript, one right before a parenthesis a link.
TAG = re.compile(r'(?<![\w\])])\[((?:[AT]\d|Q\d|D\d|[RP]\.|[A-Z]{2}[A-Z0-9]*\.\w)[^\[\]\n]*)\](?!\()')
RANGE = re.compile(r'(A\d+)\.L(\d+)-L?(\d+)')
WHOLE = re.compile(r'[AT]\d+')
END_LINES = 2  # a range may run to the lines that close its algorithm; they carry no requirement

DECISION_FIELDS = ('Question', 'Options', 'Choice', 'Reason', 'Switch', 'Test')


@dataclasses.dataclass
class Entry:
    """A requirement or a decision, and what was found to answer it."""
    id: str
    text: str
    section: str
    file: str
    line: int
    body: str = ''
    switch: str = ''
    refs: list = dataclasses.field(default_factory=list)   # ids its text names
    code: list = dataclasses.field(default_factory=list)   # (file, symbol)
    tests: list = dataclasses.field(default_factory=list)  # (file, name)
    idle: list = dataclasses.field(default_factory=list)   # 'file:line' of tags in tests that prove nothing


class Problems:
    def __init__(self):
        self.found = []

    def add(self, file, line, text):
        self.found.append((file, line, text))

    def lines(self):
        return [f'error: {file}:{line}: {text}' for file, line, text in sorted(set(self.found))]


# ---- The specification ----

def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read()


def expand(name, known):
    """The ids a tag stands for, or None if it names nothing. A whole algorithm or table stands for none."""
    if name in known:
        return [name]
    if WHOLE.fullmatch(name) and any(i.startswith(name + '.') for i in known):
        return []
    if m := RANGE.fullmatch(name):
        algorithm, low, high = m[1], int(m[2]), int(m[3])
        lines = [int(i.split('.L')[1]) for i in known if i.startswith(algorithm + '.L')]
        inside = sorted(n for n in lines if low <= n <= high)
        if inside and high <= max(lines) + END_LINES:
            return [f'{algorithm}.L{n}' for n in inside]
    return None


def remedy(name, known):
    """How to put right a tag that names nothing."""
    if re.search(r'[,\s]', name):
        return 'write a list as [A3.L6] [D3], one id per bracket'
    if RANGE.fullmatch(name):
        return f'no requirement lies in that range, or it runs past the end of the algorithm; see {REQUIREMENTS}'
    where = DECISIONS if re.match(r'D\d', name) else REQUIREMENTS
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f'define it in {where}' + (f', or did you mean [{close[0]}]' if close else ', or correct it')


def requirement_files(root):
    """spec/requirements.md, and the pages of transports that have rules."""
    folder = os.path.join(root, PAGES)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [REQUIREMENTS] + [f'{PAGES}/{name}' for name in names if name.endswith('.md')]


def parse_requirements(path, text, problems):
    entries, section, entry, title = [], '', None, ''
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('#'):
            section, entry = line.lstrip('# '), None
            if path != REQUIREMENTS:  # pages have the same headings: theirs go by the page's title
                if line.startswith('# '):
                    title = section
                section = title if section in (title, 'Rules') else f'{title}: {section}'
        elif m := re.match(r'- \*\*\[(.*?)\]\*\*\s*(.*)', line):
            if not ID.fullmatch(m[1]) or re.fullmatch(r'D\d+', m[1]):
                problems.add(path, number, f'[{m[1]}] is not a requirement id. '
                             'one looks like [A3.L6], [T1.beta], [Q2], [R.sack.lpsn], [P.window] or [NSCC.window.fit]')
                continue
            entry = Entry(m[1], m[2], section, path, number)
            entries.append(entry)
        elif entry and line.startswith('  '):
            entry.text += ' ' + line.strip()
        elif line.startswith('- **' if path == REQUIREMENTS else '- **['):
            problems.add(path, number, 'cannot read this entry. write it as "- **[A3.L6]** text"')
        else:
            entry = None
    for entry in entries:
        entry.body = entry.text
    return entries


def parse_decisions(text, problems):
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if m := re.match(r'## \[(D\d+)\]\s+(\S.*)', line):
            entries.append(Entry(m[1], m[2], 'Decisions', DECISIONS, number))
        elif line.startswith('##'):
            problems.add(DECISIONS, number, 'cannot read this heading. write it as "## [D3] Title"')
        elif entries:
            entries[-1].body += line + '\n'
    for entry in entries:
        parts = re.split(r'^(?:- )?\*\*(\w+)\*\*', entry.body, flags=re.M)
        fields = {name: re.sub(r'\s+', ' ', value).strip() for name, value in zip(parts[1::2], parts[2::2])}
        entry.switch = fields.get('Switch', '')
        for name in DECISION_FIELDS:
            if not fields.get(name):
                problems.add(DECISIONS, entry.line, f'[{entry.id}] has no {name}. '
                             f'add a line "- **{name}** ..." below its heading')
    return entries


def unique(entries, problems):
    known = {}
    for entry in entries:
        first = known.setdefault(entry.id, entry)
        if first is not entry:
            problems.add(entry.file, entry.line, f'[{entry.id}] is defined again; first at {first.file}:{first.line}. '
                         'ids are never reused: give this one a new id')
    return known


def follow_references(root, known, problems):
    """Every [id] in the specification's own text must name something."""
    for path in (*requirement_files(root), DECISIONS, GLOSSARY):
        if not os.path.exists(os.path.join(root, path)):
            continue
        for number, line in enumerate(read(root, path).splitlines(), 1):
            if re.match(r'- \*\*\[', line):
                line = line.split(']', 1)[1]
            for m in TAG.finditer(line):
                if expand(m[1], known) is None:
                    problems.add(path, number, f'refers to [{m[1]}], which does not exist. {remedy(m[1], known)}')
    for entry in known.values():
        names = [i for m in TAG.finditer(entry.body) for i in expand(m[1], known) or []]
        entry.refs = [i for i in dict.fromkeys(names) if i != entry.id]


# ---- C++: comments, and what they stand beside ----

TOKEN = re.compile(r'''
    (?P<comment> //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<string> (?:u8|[uUL])?R"(?P<_delimiter>[^()\\\s]{0,16})\(.*?\)(?P=_delimiter)"
              | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
              | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*' )
  | (?P<directive> ^[ \t]*\#(?:\\\r?\n|(?!//|/\*)[^\n])* )
  | (?P<number> \.?\d(?:'?[\w.]|(?<=[eEpP])[+-])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<space> \s+ )
  | (?P<mark> . )
''', re.X | re.S | re.M)

TEST_MACRO = r'(?:[A-Z0-9]+_)*TEST(?:_[A-Z0-9]+)*'
NOT_A_FUNCTION = {'requires', 'decltype', 'alignas', 'noexcept', 'explicit', 'if', 'for', 'while', 'switch', 'catch',
                  'return', 'sizeof', 'extern', '__attribute__'}
CHECK_CALL = re.compile(r'\w*(?:check|expect|assert|invariant|require|verify|violat|fail|abort|trap)\w*\s*\(', re.I)


def declaration(header):
    """('namespace' | 'test' | 'type' | 'function' | 'value', name), from a declaration up to its '{' or ';'."""
    header = re.sub(r'\[\[.*?\]\]', ' ', header).strip()
    if re.match(r'(?:inline\s+)?namespace\b|extern\s*""$', header):
        return 'namespace', ''
    if header.startswith('static_assert'):
        return 'value', 'static_assert'
    if m := re.match(rf'{TEST_MACRO}\s*\(\s*(\w+)\s*(?:,\s*(\w+))?', header):
        return 'test', f'{m[1]}.{m[2]}' if m[2] else m[1]
    plain = header
    while (shorter := re.sub(r'<[^<>()]*>', '', plain)) != plain:
        plain = shorter
    plain = re.sub(r'^template\b\s*', '', plain)
    if m := re.search(r'\bconcept\s+(\w+)', plain):
        return 'value', m[1]
    if m := re.search(r'\boperator\s*(\(\)|[^\s\w(]+|\s\w+)\s*\(', plain):
        return 'function', 'operator' + m[1].strip()
    before_value = re.split(r'(?<![=!<>])=(?!=)', plain, maxsplit=1)[0]
    if m := re.match(r'(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\s*\([^()]*\)\s*)?([\w:]*\w)'
                     r'\s*(?:final\s*)?(?::(?!:)|$)', before_value):
        return 'type', m[1]
    for m in re.finditer(r'([A-Za-z_~][\w:~]*)\s*\(', before_value):
        if m[1] not in NOT_A_FUNCTION:
            return 'function', m[1]
    names = re.findall(r'[A-Za-z_]\w*', before_value)
    return 'value', names[-1] if names else ''


def is_member_initialiser(header):
    """Whether a '{' here opens a value in a constructor's list and not the constructor's body."""
    return (re.search(r'\)\s*(?:noexcept\s*)?:(?!:)', header) and re.search(r'[\w>]\s*$', header) and
            not re.search(r'\b(?:const|noexcept|override|final)\s*$', header))


@dataclasses.dataclass
class Comment:
    text: str
    line: int
    own_line: bool        # nothing but space before it on its line
    symbol: str = ''      # what it stands in or above
    in_body: bool = False
    above: tuple = ()     # kind and first line of the declaration it waits above, if any

    def last_line(self):
        return self.line + self.text.rstrip('\n').count('\n')


class CppReader:
    """Finds a C++ file's comments and what each belongs to, by following braces: no compiler, no preprocessor."""

    def __init__(self, text):
        self.text = text
        self.lines = text.split('\n')
        self.starts = [0] + [m.end() for m in re.finditer('\n', text)]
        self.comments = []
        self._scopes = []    # (kind, name, header to take up again)
        self._bodies = 0     # how many of them are bodies of functions, tests or values
        self._waiting = []   # comments whose declaration is still to come
        self._last = ''      # the symbol declared last
        self._read()
        self._blocks = self._find_blocks()

    def line_of(self, position):
        return bisect.bisect_right(self.starts, position)

    def _qualified(self, name):
        return '::'.join([n for kind, n, _ in self._scopes if kind == 'type'] + ([name] if name else []))

    def _enclosing(self):
        names = (name for kind, name, _ in reversed(self._scopes) if kind == 'body' and name)
        return next(names, '') or self._qualified('')

    def _settle(self, kind, name, first_line=0):
        """A declaration is complete: the comments that waited for it learn its name."""
        if kind == 'test':
            self._last = name
        elif kind in ('type', 'function'):
            self._last = self._qualified(name)
        else:
            self._last = self._qualified('') or name
        for comment in self._waiting:
            comment.symbol = self._last
            comment.above = (kind, first_line)
        self._waiting.clear()

    def _push(self, kind, name, header=''):
        self._scopes.append((kind, name, header))
        self._bodies += kind == 'body'

    def _read(self):
        header, first_line, parens = '', 0, 0
        for m in TOKEN.finditer(self.text):
            token, kind = m.group(), m.lastgroup
            if kind == 'comment':
                self._take_comment(m, header)
            elif kind == 'directive':
                if not header.strip() and not self._bodies:
                    self._settle('value', '')
            elif self._bodies:
                # Inside a body only its end matters.
                if token == '{':
                    self._push('body', '')
                elif token == '}':
                    header = self._close()
            elif kind == 'space':
                header += ' '
            elif token == '{':
                what, name = declaration(header)
                if parens or what == 'value' or is_member_initialiser(header):
                    self._push('body', self._qualified(name), header + '{}')
                else:
                    self._settle(what, name, first_line)
                    in_body = what in ('function', 'test')
                    self._push('body' if in_body else what, self._last if in_body else name)
                header = ''
            elif token == '}':
                header = self._close()
            elif token == ';' and not parens:
                what, name = declaration(header)
                self._settle('function' if what == 'test' else what, name, first_line)
                header = ''
            elif token == ':' and re.fullmatch(r'\s*(?:public|private|protected)\s*', header):
                header = ''
            else:
                parens += (token == '(') - (token == ')' and parens > 0)
                if not header.strip():
                    first_line = self.line_of(m.start())
                header += '""' if kind == 'string' else token
        self._settle('value', '')

    def _take_comment(self, m, header):
        line = self.line_of(m.start())
        own_line = not self.text[self.starts[line - 1]:m.start()].strip()
        comment = Comment(m.group(), line, own_line)
        self.comments.append(comment)
        if self._bodies:
            comment.symbol, comment.in_body = self._enclosing(), True
        elif own_line or header.strip():
            self._waiting.append(comment)
        else:
            comment.symbol = self._last or self._qualified('')

    def _close(self):
        """Leaves a scope. Returns the declaration to go on with, if a brace stood in the middle of one."""
        if not self._scopes:
            return ''
        kind, name, header = self._scopes[-1]
        if kind == 'type':
            for comment in self._waiting:
                comment.symbol = self._qualified('')
            self._waiting.clear()
        self._scopes.pop()
        self._bodies -= kind == 'body'
        return header

    def _find_blocks(self):
        """For each own-line comment, by its line: the line after the run of comment lines it is part of."""
        after, blocks = {c.line: c.last_line() + 1 for c in self.comments if c.own_line}, {}
        for line in sorted(after, reverse=True):
            blocks[line] = blocks.get(after[line], after[line])
        return blocks

    def mark_of(self, comment, checks_count):
        """The name of the test that a comment marks, or '' if it marks none.

        A test is a TEST... macro; with checks_count also a function, or a statement that checks something.
        """
        next_line = self._blocks.get(comment.line, 0)
        if comment.above and comment.above[1] == next_line and next_line:
            kind = comment.above[0]
            return comment.symbol if kind == 'test' or (checks_count and kind == 'function') else ''
        if not checks_count or not comment.in_body:
            return ''
        if comment.own_line:
            if next_line > len(self.lines):
                return ''
            begin = self.starts[next_line - 1]
            code = '' if not self.lines[next_line - 1].strip() else \
                re.split(r'[;{]', self.text[begin:begin + 1000], maxsplit=1)[0]
        else:
            code = self.lines[comment.line - 1].split('//')[0].split('/*')[0]
        return comment.symbol if CHECK_CALL.search(code) else ''


# ---- Tags ----

def kind_of(path):
    """What a tag in this file is worth: 'code', 'test', 'harness' (functions and checks count too) or 'other'."""
    stem = os.path.splitext(os.path.basename(path))[0]
    if path.startswith('tests/'):
        return 'harness'
    if not path.startswith('src/'):
        return 'other'
    if stem.endswith('_fuzz'):
        return 'harness'
    if stem.endswith('_test'):
        return 'test' if not path.endswith(('.h', '.hpp')) else 'other'
    return 'other' if re.match(r'test_|testing', stem) or '_test_' in stem else 'code'


def cpp_files(root):
    for top in ('src', 'tests', 'bench'):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(CPP):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, '/')


def collect_tags(root, known, problems):
    """Reads all C++ files; fills in code, tests and idle of every entry. Returns the words the code uses."""
    words = set()
    for path in cpp_files(root):
        text, kind = read(root, path), kind_of(path)
        if kind == 'code':
            words.update(re.findall(r'[A-Za-z_]\w*', text))
        if not TAG.search(text):
            continue
        reader = CppReader(text)
        for comment in reader.comments:
            for m in TAG.finditer(comment.text):
                line = comment.line + comment.text.count('\n', 0, m.start())
                ids = expand(m[1], known)
                if ids is None:
                    problems.add(path, line, f'unknown tag [{m[1]}]. {remedy(m[1], known)}')
                    continue
                test = reader.mark_of(comment, kind == 'harness') if kind in ('test', 'harness') else ''
                for i in ids:
                    if kind == 'code':
                        known[i].code.append((path, comment.symbol))
                    elif test:
                        known[i].tests.append((path, test))
                    elif kind in ('test', 'harness'):
                        known[i].idle.append(f'{path}:{line}')
    for entry in known.values():
        entry.code = list(dict.fromkeys(entry.code))
        entry.tests = list(dict.fromkeys(entry.tests))
    return words


def check_coverage(known, words, problems):
    for entry in known.values():
        if entry.file != DECISIONS and not entry.code:
            problems.add(entry.file, entry.line, f'[{entry.id}] has no code tag. '
                         f'put "// [{entry.id}]" beside the lines in src/ that do it')
        if not entry.tests:
            hint = ''
            if entry.idle:
                hint = f' (the tag at {entry.idle[0]} does not count: no test follows its comment directly)'
            problems.add(entry.file, entry.line, f'[{entry.id}] has no test tag. '
                         f'put "// [{entry.id}] ..." on the line above the TEST that pins it{hint}')
        for name in re.findall(r'`(\w+)`', entry.switch):
            if name not in words:
                problems.add(entry.file, entry.line, f'[{entry.id}] names the switch `{name}`, which src/ does not '
                             'have. use the name of the parameter, or write none')


# ---- The page ----

def short(text, limit=100):
    text = re.sub(r'\s*\(see [^)]*\)', '', text)
    text = re.split(r'(?<=[\w)`])\.\s(?=[A-Z`]|$)', text + ' ', maxsplit=1)[0].strip().rstrip('.')
    if len(text) > limit:
        text = text[:limit].rsplit(' ', 1)[0].rstrip(' ,;:') + ' …'
    if text.count('`') % 2:
        text += '`'
    return text.replace('|', '\\|')


def code_cell(places):
    by_file = {}
    for path, symbol in places:
        by_file.setdefault(path, []).append(symbol)
    return '<br>'.join(f'[{os.path.basename(path)}](../{path}) ' + ', '.join(f'`{s}`' for s in symbols if s)
                       for path, symbols in by_file.items()).replace(' <br>', '<br>').strip() or '**none**'


def test_cell(tests):
    return '<br>'.join(f'[{name}](../{path})' for path, name in tests) or '**none**'


def page(requirements, decisions):
    coded = sum(bool(r.code) for r in requirements)
    tested = sum(bool(r.tests) for r in requirements)
    pinned = sum(bool(d.tests) for d in decisions)
    out = ['# Traceability', '',
           'Written by `tools/spec_check.py --write` from the tags in code and tests; do not edit.',
           'What counts as a tag is in [README.md](README.md).', '',
           f'{len(requirements)} requirements: {coded} in the code, {tested} tested. '
           f'{len(decisions)} decisions: {pinned} tested.']
    section = None
    for r in requirements:
        if r.section != section:
            section = r.section
            out += ['', f'## {section}', '', '| requirement | code | tests | decisions |', '|---|---|---|---|']
        refs = ' '.join(i for i in r.refs if re.fullmatch(r'D\d+', i))
        out.append(f'| **{r.id}** {short(r.text)} | {code_cell(r.code)} | {test_cell(r.tests)} | {refs} |')
    out += ['', '## Decisions', '', '| decision | switch | requirements | code | tests |', '|---|---|---|---|---|']
    for d in decisions:
        refs = ' '.join(r.id for r in requirements if d.id in r.refs)
        code = code_cell(d.code) if d.code else ''
        switch = d.switch.replace('|', 'or')
        out.append(f'| **{d.id}** {short(d.text)} | {switch} | {refs} | {code} | {test_cell(d.tests)} |')
    return '\n'.join(out) + '\n'


def check_page(root, expected, problems):
    path = os.path.join(root, PAGE)
    found = read(root, PAGE) if os.path.exists(path) else ''
    if found == expected:
        return
    old, new = found.splitlines(), expected.splitlines()
    line = next((n for n, (a, b) in enumerate(zip(old, new), 1) if a != b), min(len(old), len(new)) + 1)
    state = 'is out of date' if found else 'does not exist'
    problems.add(PAGE, line, f'{state}. run tools/spec_check.py --write and commit the page')


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--root', default=os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'),
                        help='the repository (default: the one this script is in)')
    action = parser.add_mutually_exclusive_group()
    action.add_argument('--check', action='store_true', help=f'also fail if {PAGE} is out of date')
    action.add_argument('--write', action='store_true', help=f'write {PAGE}')
    options = parser.parse_args(arguments)

    for path in (REQUIREMENTS, DECISIONS):
        if not os.path.exists(os.path.join(options.root, path)):
            print(f'error: {path}: no such file under {options.root}. '
                  'run this in the repository, or name it with --root', file=sys.stderr)
            return 2

    problems = Problems()
    requirements = [entry for path in requirement_files(options.root)
                    for entry in parse_requirements(path, read(options.root, path), problems)]
    decisions = parse_decisions(read(options.root, DECISIONS), problems)
    known = unique(requirements + decisions, problems)
    follow_references(options.root, known, problems)
    words = collect_tags(options.root, known, problems)
    check_coverage(known, words, problems)

    expected = page([r for r in requirements if known[r.id] is r], [d for d in decisions if known[d.id] is d])
    if options.write:
        with open(os.path.join(options.root, PAGE), 'w', encoding='utf-8') as f:
            f.write(expected)
    if options.check:
        check_page(options.root, expected, problems)

    for line in problems.lines():
        print(line, file=sys.stderr)
    if problems.found:
        print(f'{len(problems.lines())} problems', file=sys.stderr)
        return 1
    print(f'{len(requirements)} requirements and {len(decisions)} decisions, all traced')
    return 0


if __name__ == '__main__':
    sys.exit(main())
