"""Fingerprints of the streams, so that a change of an environment cannot go unnoticed."""

import hashlib

from benchmarks.scheduler.streams import Stream

STREAM_HASHES = {
    "seed51": "d4dba7154a5172c5",
    "seed51_indep": "56391c7be009f87f",
    "seed53_free": "367d07e7a7c406b2",
    "stationary": "06b662e232855505",
    "nonlinear": "9260300cd2e53257",
    "drift": "f9d166cf33d3e7c6",
    "recurring": "35eef91e831db635",
    "recurring3": "a797c01aa8b4830b",
    "domains": "61340c5e60d79787",
    "noisy": "032b5bf052e464da",
    "delayed": "a712b7a83c3a6c3c",
    "adversarial": "d6e00cbe7abaa7ce",
    "pollution": "5f925d6f46701a1b",
    "rare": "547702306ddb9baa",
    "rare_partial": "55a21ef9a0f5a742",
    "partial_s1": "b5032fc8dfb2d056",
    "partial_s2fail": "d89685e484738e8c",
    "silent": "a9bfab1b10015286",
    "selfreport": "c3e7dcd0986bc229",
    "nosignal": "d4079f7b66f8914a",
}
"""Family -> fingerprint of seed 0."""


def fingerprint(stream: Stream) -> str:
    """Return 16 hexadecimal digits over everything that was drawn."""
    digest = hashlib.sha256()
    for task in stream.tasks:
        for step in task:
            x = step.signals
            row = (x.criticality_hint, x.difficulty_hint, x.progress, step.critical, step.regime, step.luck)
            digest.update(repr(row).encode())
        digest.update(b"|")
    return digest.hexdigest()[:16]
