#!/usr/bin/env python3
"""Man pages and completions, made of what the program says of itself.

  packaging/pages.py PROGRAM VERSION FOLDER   writes FOLDER/man/*.1.gz, FOLDER/man/strack-scenario.5.gz,
                                              FOLDER/completion/{strack,_strack,strack.fish}

Whatever is in the help is in them, and nothing else: there is no second list of commands, options or keys.
"""

import collections
import gzip
import pathlib
import re
import subprocess
import sys

Option = collections.namedtuple("Option", "flags value choices about")
Command = collections.namedtuple("Command", "path about usage positionals options commands")

# What a FILE is, by command: which names its completion offers. All others take any file.
KINDS = {"sim run": "toml|cm|goal|bin|et|json", "sim show": "toml", "sim sweep": "toml", "sim compare": "toml", "sim cost": "toml",
         "sim summary": "db", "sim diff": "db", "sim export": "db", "sim watch": "db", "report": "db", "diff": "db", "plan": "toml",
         "vectors check": "txt|json", "workload info": "toml|cm|goal|bin|et|json", "workload convert": "toml|cm|goal|bin|et|json",
         "workload draw": "toml|cm|goal|bin|et|json"}

# By what help says that an option takes; scenario keys have more.
UNITS = {"TIME": "ns us ms s", "SIZE": "B KB KiB MB MiB GB GiB", "RATE": "Mb/s Gb/s"}


def ask(program, *words):
    return subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60).stdout


def entries(block):
    """(heading, text) of a section of the help: a heading begins in the third column, its text follows or stands below."""
    found = []
    for line in block.splitlines():
        if re.match(r"  \S", line):
            heading, _, about = line[2:].partition("  ") if "  " in line[2:].rstrip() else (line[2:], "", "")
            found.append([heading.strip(), [about.strip()]])
        elif found and line.strip():
            found[-1][1].append(line.strip())
    return [(heading, " ".join(part for part in about if part)) for heading, about in found]


def option(heading, about):
    """--threads UINT:INT in [1 - 1024]=4"""
    flags, _, value = heading.partition(" ")
    choices = re.search(r"\{([^}]*)\}", value)
    excludes = re.search(r" ?Excludes: (\S.*)", value)
    return Option(flags.split(","), value[:excludes.start()] if excludes else value, choices[1].split(",") if choices else [], about)


def read(program, path=()):
    """A command and all below it."""
    text = ask(program, *(("help", *path) if path else ("--help",)))
    about, _, rest = text.partition("Usage: ")
    usage, _, rest = rest.partition("\n")
    parts = dict(re.findall(r"^(Positionals|Options|Subcommands):\n(.*?)(?=^\w|\Z)", rest, re.M | re.S))
    command = Command(path, about.strip(), usage.strip(), entries(parts.get("Positionals", "")),
                      [option(*entry) for entry in entries(parts.get("Options", ""))], entries(parts.get("Subcommands", "")))
    found = [command]
    for name, _ in command.commands:
        found += read(program, (*path, name)) if name != "help" else []
    return found


Key = collections.namedtuple("Key", "name choices units")


def key(name, heading, about):
    """A key's values: words, or the units of a number."""
    stated = re.search(r'One of ((?:"[^"]+"[, ]*(?:or )?)+)', about)
    choices = re.findall(r'"([^"]+)"', stated[1]) if stated else ["true", "false"] if re.search(r" = (true|false)$", heading) else []
    units = ""
    if not choices and re.search(r"_(ps|ns|us|ms|s)$", name):
        units = "ps ns us ms s RTT"
    elif not choices and re.search(r"gbps$", name):
        units = UNITS["RATE"]
    elif not choices and (re.search(r' = "[\d.]+ ([KMG]i?)?(B|BDP|MTU)"$', heading) or re.search(r"(size|bytes)$", name)):
        units = UNITS["SIZE"] + " BDP MTU"
    return Key(name, choices, units)


def keys(program):
    """section.key of every key, as --set takes them; of a list of tables its first entry."""
    section, found = "", []
    for line in ask(program, "help", "scenario").splitlines():
        if heading := re.match(r"(\[\[?)([\w-]+)\]\]?(?:, \[\[[\w-]+\]\])?$", line):
            section = heading[2] + (".0." if heading[1] == "[[" else ".")
        elif (match := re.match(r"  ([a-z]\w*)(  \(| = |$)", line)) and (section or match[2] != ""):
            found.append((section + match[1], line, []))
        elif found:
            found[-1][2].append(line.strip())
    known = [key(name, heading, " ".join(about)) for name, heading, about in found]
    # Of workloads there is one, or a list.
    return known + [one._replace(name=one.name.replace(".", ".0.")) for one in known if one.name.startswith("workload.")]


def schemes(program):
    """The names of all transports."""
    return re.findall(r"^ *([a-z][\w-]*)  ", ask(program, "sim", "schemes"), re.M)


def values(commands, all_schemes):
    """("path --flag", words, units, whether they are a list with commas) of options that take some."""
    for command in commands:
        for entry in command.options:
            units = UNITS.get(re.split(r"\W", entry.value)[0], "")
            several = set(entry.flags) & {"--schemes", "--transports"}
            words = all_schemes if several else entry.choices
            if words or units:
                yield from ((f'{" ".join(command.path)} {flag}', words, units, bool(several)) for flag in entry.flags)


# --- Man pages ------------------------------------------------------------------------------------


def roff(text):
    """Text as groff has it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def man_page(command, version, all_commands):
    name = "-".join(("strack", *command.path))
    lines = [f'.TH {name.upper()} 1 "" "strack {version}" "STrack"', ".SH NAME",
             f"{roff(name)} \\- {roff(re.split(r'[.:](?: |$)', command.about.replace(chr(10), ' '))[0])}",
             ".SH SYNOPSIS", f".B {roff(command.usage)}", ".SH DESCRIPTION", roff(command.about.replace("\n\n", "\n.PP\n"))]
    if command.positionals:
        lines.append(".SH ARGUMENTS")
        for heading, about in command.positionals:
            lines += [".TP", f".B {roff(heading.removesuffix(' REQUIRED'))}", roff(about)]
    lines.append(".SH OPTIONS")
    for entry in command.options:
        lines += [".TP", f".B {roff(', '.join(entry.flags) + (' ' + entry.value if entry.value else ''))}", roff(entry.about)]
    if command.commands:
        lines.append(".SH COMMANDS")
        for heading, about in command.commands:
            lines += [".TP", f".B {roff(heading)}", roff(about)]
    others = [c.path for c in all_commands if c.path[:-1] == command.path and c.path] + ([command.path[:-1]] if command.path else [])
    lines += [".SH SEE ALSO", ",\n".join(f".BR {roff('-'.join(('strack', *path)))} (1)" for path in others).replace(",\n", " ,\n")
              + " ,\n.BR strack\\-scenario (5)"]
    return "\n".join(lines) + "\n"


def scenario_page(program, version):
    text = ask(program, "help", "scenario")
    return (f'.TH STRACK\\-SCENARIO 5 "" "strack {version}" "STrack"\n.SH NAME\nstrack\\-scenario \\- the keys of a scenario file\n'
            f".SH DESCRIPTION\n.nf\n{roff(text)}.fi\n.SH SEE ALSO\n.BR strack\\-sim\\-run (1)\n")


# --- Completions ----------------------------------------------------------------------------------


def words_after(command):
    return [name for name, _ in command.commands] + [flag for entry in command.options for flag in entry.flags if flag.startswith("--")]


BASH_VALUES = """# _strack_values CURRENT WORDS UNITS: words, or a number that is begun with each unit
_strack_values() {
  local words=$2 unit
  if [[ -n "$3" && "$1" =~ ^[0-9]+(\\.[0-9]+)? ]]; then
    for unit in $3; do words+=" ${BASH_REMATCH[0]}$unit"; done
  fi
  COMPREPLY=($(compgen -W "$words" -- "$1"))
}
# _strack_list CURRENT WORDS: after what stands before the last comma
_strack_list() {
  local before=""
  [[ "$1" == *,* ]] && before="${1%,*},"
  compopt -o nospace 2>/dev/null
  COMPREPLY=($(compgen -P "$before" -W "$2" -- "${1##*,}"))
}
"""


def bash(commands, all_keys, all_schemes):
    cases = "\n".join(f'    "{" ".join(c.path)}") words="{" ".join(words_after(c))}"; kind="{"-" if c.commands else KINDS.get(" ".join(c.path), "")}" ;;'
                      for c in commands)
    options = "\n".join(f'    "{name}") {"_strack_list" if several else "_strack_values"} "$cur" "{" ".join(words)}" "{units}"; return ;;'
                        for name, words, units, several in values(commands, all_schemes))
    key_values = "\n".join(f'      {one.name}) _strack_values "$value" "{" ".join(one.choices)}" "{one.units}" ;;'
                           for one in all_keys if one.choices or one.units)
    groups = " ".join(sorted({f'"{" ".join(c.path)}"' for c in commands if c.commands}))
    return f"""# bash completion for strack, made from its own help
{BASH_VALUES}_strack() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path="" word words kind group i asked="" groups=({groups})
  # With the colons and equals signs that bash splits words at.
  if [[ -n "$COMP_LINE" ]]; then
    word=${{COMP_LINE:0:COMP_POINT}} cur=${{COMP_LINE:0:COMP_POINT}}
    cur=${{cur##*[[:space:]]}} word=${{word%"$cur"}}
    word=${{word%"${{word##*[![:space:]]}}"}} prev=${{word##*[[:space:]]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    [[ "$word" == -* ]] && break
    if [[ "$i$word" == 1help ]]; then asked=1; continue; fi
    for group in "${{groups[@]}}"; do
      if [[ "$group" == "$path" ]]; then path="${{path:+$path }}$word"; break; fi
    done
  done
  if [[ "$prev" == --set && "$cur" == *=* ]]; then
    local key=${{cur%%=*}} value=${{cur#*=}}
    case "${{key/.[0-9]./.0.}}" in
{key_values}
    esac
    [[ "$COMP_WORDBREAKS" == *=* ]] || COMPREPLY=("${{COMPREPLY[@]/#/$key=}}")
    return
  elif [[ "$prev" == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -W "{" ".join(one.name + "=" for one in all_keys)}" -- "$cur"))
    return
  fi
  case "$path $prev" in
{options}
  esac
  case "$path" in
{cases}
    *) return ;;
  esac
  if [[ -n "$asked" ]]; then
    [[ -z "$path" ]] && words+=" scenario"
    COMPREPLY=($(compgen -W "$(printf '%s\\n' $words | grep -v -e '^-')" -- "$cur"))
  elif [[ "$cur" == -* || "$kind" == - ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif [[ -n "$kind" ]]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -d -- "$cur") $(compgen -f -- "$cur" | grep -E "\\.($kind)\\$"))
  fi  # else any file
}}
complete -o default -F _strack strack
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(commands, all_keys, all_schemes):
    """Through zsh's own loader of bash's completions there would be no texts; so a table of its own."""
    def described(entries_):
        return " ".join(quoted(name.replace(":", "\\:") + ":" + re.split(r"[.;](?: |$)", about)[0]) for name, about in entries_)

    cases = "\n".join(
        f'    {quoted(" ".join(c.path))}) commands=({described(c.commands)}); '
        f'options=({described([(flag, e.about) for e in c.options for flag in e.flags if flag.startswith("--")])}); '
        f'kind={quoted(KINDS.get(" ".join(c.path), ""))} ;;' for c in commands)
    groups = " ".join(quoted(" ".join(c.path)) for c in commands if c.commands)
    taken = list(values(commands, all_schemes))

    def table(pairs):
        return " ".join(f"{quoted(name)} {quoted(text)}" for name, text in pairs if text)

    return f"""#compdef strack
# zsh completion for strack, made from its own help
# Words, or a number that is begun with each unit.
_strack_values() {{
  [[ -n $1 ]] && compadd -- ${{=1}}
  [[ -n $2 && $PREFIX =~ '^[0-9]+([.][0-9]+)?' ]] && compadd -- $MATCH${{^=2}}
}}
_strack() {{
  local at="" kind="" option i
  local -a commands options groups scenario_keys
  local -A key_words key_units option_words option_units lists
  groups=({groups})
  scenario_keys=({" ".join(one.name + "=" for one in all_keys)})
  key_words=({table((one.name, " ".join(one.choices)) for one in all_keys)})
  key_units=({table((one.name, one.units) for one in all_keys)})
  option_words=({table((name, " ".join(words)) for name, words, _, _ in taken)})
  option_units=({table((name, units) for name, _, units, _ in taken)})
  lists=({table((name, "1" if several else "") for name, _, _, several in taken)})
  for ((i = 2; i < CURRENT; i++)); do
    [[ $words[i] == -* ]] && break
    [[ $i$words[i] == 2help ]] && continue
    (( $groups[(Ie)$at] )) && at="${{at:+$at }}$words[i]"
  done
  option="$at $words[CURRENT-1]"
  if [[ $words[CURRENT-1] == --set && $PREFIX == *=* ]]; then
    local key=${{${{PREFIX%%=*}}/.[0-9]./.0.}}
    compset -P '*='
    _strack_values "$key_words[$key]" "$key_units[$key]"
    return
  elif [[ $words[CURRENT-1] == --set ]]; then
    compadd -S '' -a scenario_keys
    return
  elif [[ -n "$option_words[$option]$option_units[$option]" ]]; then
    [[ -n "$lists[$option]" ]] && compset -P '*,'
    _strack_values "$option_words[$option]" "$option_units[$option]"
    return
  fi
  case $at in
{cases}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -n $kind ]]; then
    _files -g "*.($kind)"
  else
    _files
  fi
}}
_strack "$@"
"""


def fish(commands, all_keys, all_schemes):
    lines = ["# fish completion for strack, made from its own help",
             "function __strack_at",
             "  set -l words (string match -v -- '-*' (commandline -opc))[2..]",
             "  test (count $words) -ge (count $argv); or return 1",
             "  for i in (seq (count $argv)); test $words[$i] = $argv[$i]; or return 1; end",
             "end",
             "function __strack_is",
             "  set -l words (string match -v -- '-*' (commandline -opc))[2..]",
             "  test \"$words\" = \"$argv\"",
             "end",
             "# A number that is begun, with each unit.",
             "function __strack_units",
             "  set -l number (string match -r -- '^[0-9]+(?:[.][0-9]+)?' $argv[1]); or return",
             "  printf '%s\\n' $number$argv[2..]",
             "end",
             "function __strack_list",
             "  printf '%s\\n' (string match -r -- '^(?:.*,)?' (commandline -ct))$argv",
             "end",
             "function __strack_set",
             "  set -l word (commandline -ct)",
             "  if not string match -q -- '*=*' $word",
             f"    printf '%s\\n' {' '.join(one.name + '=' for one in all_keys)}",
             "    return",
             "  end",
             "  set -l key (string replace -r -- '=.*' '' $word)",
             "  set -l value (string replace -r -- '^[^=]*=' '' $word)",
             "  switch (string replace -r -- '[.][0-9]+[.]' '.0.' $key)",
             *(f"    case {one.name}; printf '%s\\n' $key={{{','.join(one.choices)}}}" for one in all_keys if len(one.choices) > 1),
             *(f"    case {one.name}; printf '%s\\n' $key=(__strack_units $value {one.units})" for one in all_keys if one.units),
             "  end",
             "end"]
    taken = {name: (words, units, several) for name, words, units, several in values(commands, all_schemes)}
    for command in commands:
        at = " ".join(command.path)
        for name, about in command.commands:
            lines.append(f"complete -c strack -f -n {quoted('__strack_is ' + at)} -a {name} -d {quoted(re.split(r'[.;](?: |$)', about)[0])}")
        if command.commands:
            continue
        for entry in command.options:
            longs = [flag[2:] for flag in entry.flags if flag.startswith("--")]
            given = " -r" if entry.value else ""
            words, units, several = taken.get(f"{at} {entry.flags[-1]}", ([], "", False))
            if longs == ["set"]:
                given = " -x -a '(__strack_set)'"
            elif several:
                given = f" -x -a '(__strack_list {' '.join(words)})'"
            elif words:
                given = f" -x -a {quoted(' '.join(words))}"
            elif units:
                given = f" -x -a '(__strack_units (commandline -ct) {units})'"
            lines += [f"complete -c strack -n {quoted('__strack_at ' + at)} -l {long}{given} -d {quoted(entry.about)}" for long in longs]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program, version, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    commands, all_keys, all_schemes = read(program), keys(program), schemes(program)
    (folder / "man").mkdir(parents=True, exist_ok=True)
    (folder / "completion").mkdir(exist_ok=True)

    def write_man(name, text):
        # Without a time or a name in it, so that two builds are the same bytes.
        (folder / "man" / (name + ".gz")).write_bytes(gzip.compress(text.encode(), 9, mtime=0))

    for command in commands:
        write_man("-".join(("strack", *command.path)) + ".1", man_page(command, version, commands))
    write_man("strack-scenario.5", scenario_page(program, version))
    for name, text in (("strack", bash), ("_strack", zsh), ("strack.fish", fish)):
        (folder / "completion" / name).write_text(text(commands, all_keys, all_schemes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
