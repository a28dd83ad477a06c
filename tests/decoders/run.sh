#!/bin/sh
# Runs decoder_storm, which lies beside this script, in several processes; adds up what they did.
#
#   ./run.sh SECONDS PROCESSES [SEED]
#
# The program with the address sanitizer if that starts here, else the one without. Status 1 if any process fails; what it said
# and the message at fault stay in the folder storm-SEED-NUMBER of the current folder.
set -eu
seconds="${1:?usage: run.sh SECONDS PROCESSES [SEED]}"
processes="${2:?usage: run.sh SECONDS PROCESSES [SEED]}"
first="${3:-$(date +%s)}"
here="$(cd "$(dirname "$0")" && pwd)"

# An older sanitizer does not always start where the kernel scatters the address space more than it knew of, and does not look
# for leaks where it may not trace.
storm=""
for way in "$here/decoder_storm" "setarch -R $here/decoder_storm"; do
  for leaks in 1 0; do
    if [ -z "$storm" ] && ASAN_OPTIONS="detect_leaks=$leaks" timeout 60 $way --runs 20000 >/dev/null 2>&1; then
      storm="$way"
      export ASAN_OPTIONS="detect_leaks=$leaks"
    fi
  done
done
[ -n "$storm" ] || storm="$here/decoder_storm_plain"
echo "$storm${ASAN_OPTIONS:+, $ASAN_OPTIONS}; seeds $first to $((first + processes - 1))"

number=0
while [ "$number" -lt "$processes" ]; do
  folder="storm-$first-$number"
  mkdir -p "$folder"
  # A program that was carried here prints its figures as its last line.
  (cd "$folder" && $storm --seconds "$seconds" --seed $((first + number)) >said 2>&1 || echo "failed with status $?" >>said) &
  number=$((number + 1))
done
wait

cat storm-"$first"-*/said | awk -v processes="$processes" '
  /^all: / { executions += $2; accepted += $4; ended++ }
  /^(wire|transfer|perf): / { done[$1] += $2; taken[$1] += $4 }
  END {
    for (name in done) printf "%s %.0f executions, %.1f %% accepted\n", name, done[name], 100 * taken[name] / done[name]
    printf "total: %.0f executions, %d crashes, %.1f %% accepted\n", executions, processes - ended, executions ? 100 * accepted / executions : 0
    printf "%.1f million executions\n", executions / 1e6
    exit ended < processes
  }' || status=$?
if [ "${status:-0}" -ne 0 ]; then
  grep -h -B 20 '^failed with status' storm-"$first"-*/said || true
  exit 1
fi
number=0
while [ "$number" -lt "$processes" ]; do
  rm -rf "storm-$first-$number"
  number=$((number + 1))
done
