"""How a contestant written in Python knows that it is done."""

from collections.abc import Callable
from time import time_ns

from bench.reconcile.job import Job


class Settling:
    """Hears of each object that is as it should be, and calls `finished` when all are.

    `value` is what the annotation should be, written by no earlier run; empty where nothing is to be written.
    """

    def __init__(self, job: Job) -> None:
        self.value = str(time_ns()) if job.mode == "patch" else ""
        self.wanted = job.objects
        self.finished: Callable[[], object] = lambda: None
        self._settled: set[str] = set()

    def settled(self, name: str) -> None:
        """Note that this object is as it should be."""
        self._settled.add(name)
        if len(self._settled) == self.wanted:
            self.finished()
