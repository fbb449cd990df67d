"""The program."""

import sys

from trimtab.startup import begin


def start() -> int:
    """Import what it takes, and run."""
    begin()
    from trimtab.apiserver.program import main  # noqa: PLC0415 - which is most of the time that it takes to start

    return main()


sys.exit(start())
