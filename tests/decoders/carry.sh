#!/usr/bin/env bash
# Puts what the long fuzzing of decoders needs into a folder that runs on a machine with nothing installed: programs of a few
# megabytes, and run.sh.
#
#   tests/decoders/carry.sh [FOLDER]        build/fuzz/carry
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="${1:-build/fuzz/carry}"

tools/build decoders decoder_storm decoder_storm_plain
mkdir -p "$folder"
for program in decoder_storm decoder_storm_plain; do
  strip --strip-debug -o "$folder/$program" "build/decoders/tests/decoders/$program"
done
cp tests/decoders/run.sh "$folder/"
git describe --always --dirty=+ --abbrev=10 --exclude '*' >"$folder/commit"
du -sh "$folder"
