#!/usr/bin/env bash
# Rebuilds every published table on a laptop: no GPU, no key, no network but for the set-up.
#
#   scripts/reproduce.sh [DATA]
#
# DATA, where given, holds the corpora that you downloaded (docs/datasets.md); without it the tables of real messages and
# of LongMemEval are left out. A model's answers come from .cache/llm alone: runs of a model that was not asked before are
# left out too, and named. Tables go to results/reproduced; an earlier try goes on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:-}
out=results/reproduced
make --no-print-directory setup
mkdir -p "$out"

play() { # NAME OPTION...
  local name=$1; shift
  if [[ -e $out/$name/run.json ]]; then set -- --resume "$out/$name"; else set -- "$@" --out "$out/$name"; fi
  echo "== $name: thymus-eval $*"
  .venv/bin/thymus-eval "$@" > /dev/null
  .venv/bin/thymus-report "$out/$name" --out "$out/$name" --plot --html "$out/$name/page.html" > /dev/null
}

play headline
play suites --suite all
if [[ -n $data ]]; then
  play real --suite real --data "$data"
  .venv/bin/thymus-eval --suite longmemeval --data "$data/longmemeval" --out "$out/longmemeval" > "$out/longmemeval.txt"
else
  echo "== real, longmemeval: left out (no folder of data was named)"
fi
for model in ${THYMUS_MODELS:-}; do
  play "model-${model//[^a-zA-Z0-9.-]/_}" --llm "$model" --judge "$model" --offline
done
[[ -n ${THYMUS_MODELS:-} ]] || echo "== models: left out (name those in .cache/llm, as THYMUS_MODELS=\"ollama:qwen3:4b\")"
echo "Tables, pictures and pages: $out"
