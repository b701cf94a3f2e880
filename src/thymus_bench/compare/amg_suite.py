# mypy: ignore-errors
"""The suite's side: run ``amg-bench`` where agent-memory-guard is installed and pass each call to the host.

``python -I amg_suite.py`` writes one JSON object a line, ``{"call": [method, …]}`` for each call of the suite's
adapter, reads the host's answer, and ends with ``{"card": …, "failed": …}``. Nothing of the suite is here.
"""

import json
import os
import sys

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome
from agent_memory_guard.bench.harness import run_suite
from agent_memory_guard.bench.scenarios import default_corpus
from agent_memory_guard.bench.scoring import score_report

_OUTCOMES = {"stored": "STORED", "altered": "REDACTED", "held": "QUARANTINED", "refused": "BLOCKED"}


def main():
    """Keep the pipe for calls alone."""
    calls = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def call(*what):
        calls.write(json.dumps({"call": what}) + "\n")
        calls.flush()
        return json.loads(sys.stdin.readline())["answer"]

    class Adapter(MemorySystemAdapter):
        name, version = call("name")

        def __init__(self):
            call("reset")

        def remember(self, key, value, *, source_class="external_tool"):
            return getattr(RememberOutcome, _OUTCOMES[call("remember", key, str(value), source_class)])

        def recall(self, key):
            return call("recall", key) or None

        def context_reset(self):
            call("context_reset")

    corpus = default_corpus()
    report = run_suite(Adapter, corpus)
    card = score_report(report)
    failed = [run.scenario_id for run in report.runs if not run.passed]
    calls.write(json.dumps({"card": card.to_dict(), "failed": failed}) + "\n")
    calls.flush()


if __name__ == "__main__":
    main()
