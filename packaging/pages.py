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
         "sim summary": "db", "report": "db", "workload info": "toml|cm|goal|bin|et|json", "workload convert": "toml|cm|goal|bin|et|json",
         "workload draw": "toml|cm|goal|bin|et|json"}


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


def keys(program):
    """section.key of every key, as --set takes them; of a list of tables its first entry."""
    section, found = "", []
    for line in ask(program, "help", "scenario").splitlines():
        if heading := re.match(r"(\[\[?)(\w+)\]\]?$", line):
            section = heading[2] + (".0." if heading[1] == "[[" else ".")
        elif (key := re.match(r"  ([a-z]\w*)(  \(| = |$)", line)) and (section or key[2] != ""):
            found.append(section + key[1])
    return found


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


def bash(commands, all_keys):
    cases = "\n".join(f'    "{" ".join(c.path)}") words="{" ".join(words_after(c))}"; kind="{"-" if c.commands else KINDS.get(" ".join(c.path), "")}" ;;'
                      for c in commands)
    choices = "\n".join(f'    "{" ".join(c.path)} {flag}") COMPREPLY=($(compgen -W "{" ".join(entry.choices)}" -- "$cur")); return ;;'
                        for c in commands for entry in c.options if entry.choices for flag in entry.flags)
    groups = " ".join(sorted({f'"{" ".join(c.path)}"' for c in commands if c.commands}))
    return f"""# bash completion for strack, made from its own help
_strack() {{
  local cur prev path="" word words kind group i groups=({groups})
  # With the colons and equals signs that bash would split words at.
  _get_comp_words_by_ref -n "=:" cur prev 2>/dev/null || {{ cur=${{COMP_WORDS[COMP_CWORD]}}; prev=${{COMP_WORDS[COMP_CWORD-1]}}; }}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    [[ "$word" == -* ]] && break
    for group in "${{groups[@]}}"; do
      if [[ "$group" == "$path" ]]; then path="${{path:+$path }}$word"; break; fi
    done
  done
  if [[ "$prev" == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -W "{" ".join(key + "=" for key in all_keys)}" -- "$cur"))
    return
  fi
  case "$path $prev" in
{choices}
  esac
  case "$path" in
{cases}
    help*) words="scenario {" ".join(name for name, _ in commands[0].commands)}"; kind="-" ;;
    *) return ;;
  esac
  if [[ "$cur" == -* || "$kind" == - ]]; then
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


def zsh(commands, all_keys):
    """Through zsh's own loader of bash's completions there would be no texts; so a table of its own."""
    def described(entries_):
        return " ".join(quoted(name.replace(":", "\\:") + ":" + re.split(r"[.;](?: |$)", about)[0]) for name, about in entries_)

    cases = "\n".join(
        f'    {quoted(" ".join(c.path))}) commands=({described(c.commands)}); '
        f'options=({described([(flag, e.about) for e in c.options for flag in e.flags if flag.startswith("--")])}); '
        f'kind={quoted(KINDS.get(" ".join(c.path), ""))} ;;' for c in commands)
    groups = " ".join(quoted(" ".join(c.path)) for c in commands if c.commands)
    return f"""#compdef strack
# zsh completion for strack, made from its own help
_strack() {{
  local at="" kind="" i
  local -a commands options groups scenario_keys
  groups=({groups})
  scenario_keys=({" ".join(key + "=" for key in all_keys)})
  for ((i = 2; i < CURRENT; i++)); do
    [[ $words[i] == -* ]] && break
    (( $groups[(Ie)$at] )) && at="${{at:+$at }}$words[i]"
  done
  if [[ $words[CURRENT-1] == --set ]]; then
    compadd -S '' -a scenario_keys
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


def fish(commands, all_keys):
    lines = ["# fish completion for strack, made from its own help",
             "function __strack_at",
             "  set -l words (string match -v -- '-*' (commandline -opc))[2..]",
             "  test (count $words) -ge (count $argv); or return 1",
             "  for i in (seq (count $argv)); test $words[$i] = $argv[$i]; or return 1; end",
             "end",
             "function __strack_is",
             "  set -l words (string match -v -- '-*' (commandline -opc))[2..]",
             "  test \"$words\" = \"$argv\"",
             "end"]
    for command in commands:
        at = " ".join(command.path)
        for name, about in command.commands:
            lines.append(f"complete -c strack -f -n {quoted('__strack_is ' + at)} -a {name} -d {quoted(re.split(r'[.;](?: |$)', about)[0])}")
        if command.commands:
            continue
        for entry in command.options:
            longs = [flag[2:] for flag in entry.flags if flag.startswith("--")]
            values = ""
            if entry.value:
                values = f" -r -f -a {quoted(' '.join(entry.choices))}" if entry.choices else " -r"
            if longs == ["set"]:
                values = f" -x -a {quoted(' '.join(key + '=' for key in all_keys))}"
            lines += [f"complete -c strack -n {quoted('__strack_at ' + at)} -l {long}{values} -d {quoted(entry.about)}" for long in longs]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program, version, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    commands, all_keys = read(program), keys(program)
    (folder / "man").mkdir(parents=True, exist_ok=True)
    (folder / "completion").mkdir(exist_ok=True)

    def write_man(name, text):
        # Without a time or a name in it, so that two builds are the same bytes.
        (folder / "man" / (name + ".gz")).write_bytes(gzip.compress(text.encode(), 9, mtime=0))

    for command in commands:
        write_man("-".join(("strack", *command.path)) + ".1", man_page(command, version, commands))
    write_man("strack-scenario.5", scenario_page(program, version))
    for name, text in (("strack", bash), ("_strack", zsh), ("strack.fish", fish)):
        (folder / "completion" / name).write_text(text(commands, all_keys), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
