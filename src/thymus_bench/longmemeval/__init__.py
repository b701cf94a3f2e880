"""LongMemEval under the protocol of Utility Under Attack: what of its clean accuracy does a memory keep when poisoned?

``python -m thymus_bench.longmemeval DATA`` runs it; ``docs/how-to/longmemeval.md`` says where the data come from and
how it is measured.
"""

from thymus_bench.longmemeval.run import run

__all__ = ["run"]
