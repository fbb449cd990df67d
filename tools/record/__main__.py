"""Records what a real kube-apiserver answers, for tests that replay it without one: `tools/record cel custom`.

What to ask is in the tests' data, written by hand or found by a differ; what was answered is written beside it.
"""

from __future__ import annotations

import sys

import cel
import custom
import differ
from server import serving

RECORDERS = {"cel": cel.record, "custom": custom.record}


def main() -> None:
    """Record what is named on the command line, or everything; `differ` looks for what is not recorded yet."""
    names = sys.argv[1:] or list(RECORDERS)
    with serving() as server:
        if names[0] == "differ":
            differ.run(server)
            return
        for name in names:
            RECORDERS[name](server)


main()
