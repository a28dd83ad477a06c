#!/usr/bin/env bash
# The program as a person meets it: help, answers, and errors that say what would work.
set -u
strack=$1
failures=0

# expect NAME STATUS PATTERN COMMAND...: the command's status, and a pattern its output must hold
expect() {
  local name=$1 status=$2 pattern=$3 output rc
  shift 3
  output=$("$@" 2>&1 </dev/null)
  rc=$?
  if [ "$rc" != "$status" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED %s: status %s (wanted %s), wanted /%s/ in:\n%s\n' "$name" "$rc" "$status" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

expect "help" 0 "strack demo" "$strack" --help
expect "help of a command" 0 "hash collisions" "$strack" demo --help
expect "version" 0 "^strack [0-9]+\.[0-9]+\.[0-9]+$" "$strack" --version
expect "version with its commit" 0 "^commit [0-9a-f]+[+]?$|^commit unknown$" "$strack" version
expect "help on a section" 0 "^\[\[failure\]\]$" "$strack" help scenario failure
expect "help on no section" 2 "there is no section workloud. did you mean workload" "$strack" help scenario workloud
expect "no command" 2 "error: no command given" "$strack"
expect "unknown command" 2 "error: .*fly" "$strack" fly
expect "misspelt command" 2 "has no command 'simm'. did you mean .strack sim.\?" "$strack" simm run x
expect "misspelt command below another" 2 ".strack sim. has no command 'rnu'. did you mean .strack sim run.\?" "$strack" sim rnu x
expect "misspelt option" 2 ".strack sim run. has no option '--sead'. did you mean .strack sim run --seed.\?" "$strack" sim run --sead 3 x
expect "nothing near" 2 ".strack sim. has no command 'fly'" "$strack" sim fly
expect "bytes that are no text" 2 "error: .*x1b.2J" "$strack" sim run $'\x1b[2J'
expect "bad value" 2 "error: .*--packets.*1 to 10000" "$strack" trace --packets 0
expect "not a number" 2 "error: .*--seed" "$strack" demo --seed tuesday
expect "demo" 0 "8->1 incast" "$strack" demo
expect "trace finds the loss" 0 "DECLARES LOSS in \[2, .* by probe" "$strack" trace --packets 12 --lose 3
expect "trace completes" 0 "message 0 COMPLETE" "$strack" trace --packets 3 --lose 0
expect "keys of the baseline" 0 "^\[rocev2\]$" "$strack" help scenario
expect "keys of lossless operation" 0 "^\[pfc\]$" "$strack" help scenario
expect "schemes" 0 "rocev2" "$strack" help sim compare

# Vectors: what is exported is what the core answers, in both forms; a wrong answer is found.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for form in "" --json; do
  "$strack" vectors export $form >"$folder/vectors$form"
  expect "vectors agree $form" 0 "^31 vectors of [0-9]+ steps: every decision and every state agrees$" "$strack" vectors check "$folder/vectors$form"
  "$strack" vectors export $form --events --out "$folder/events$form" >/dev/null
  expect "unanswered vectors $form" 1 "error: .*events$form: 31 problems in 31 vectors" "$strack" vectors check "$folder/events$form"
done
sed 's/^< loss cause=timeout/< loss cause=probe/' "$folder/vectors" >"$folder/wrong"
expect "a wrong answer" 1 "wrong: line [0-9]+: sender-dark, step .*the core says .loss cause=timeout" "$strack" vectors check "$folder/wrong"
expect "vectors are not replaced" 2 "exists. choose another --out, or --force" "$strack" vectors export --out "$folder/wrong"
expect "no vectors" 2 "it begins neither with" "$strack" vectors check "$strack"
expect "no file of vectors" 2 "error: $folder/none: " "$strack" vectors check "$folder/none"
expect "branches of vectors" 0 "^sender-counted-before-told +inflight_floored +5$" "$strack" vectors list

# The same seed gives the same bytes, and another seed others.
a=$("$strack" demo --seed 7 | cksum)
b=$("$strack" demo --seed 7 | cksum)
c=$("$strack" demo --seed 8 | cksum)
[ "$a" = "$b" ] || { echo "FAILED same seed, other figures"; failures=$((failures + 1)); }
[ "$a" != "$c" ] || { echo "FAILED other seed, same figures"; failures=$((failures + 1)); }

echo "$failures failures"
exit $((failures > 0))
