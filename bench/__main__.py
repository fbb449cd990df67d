"""`python -m bench CONTEST …` (apiserver, client, informer, local, queue, reconcile): run a contest, print its table.

`python -m bench informer --json …` and `python -m bench reconcile --json …` take part in one instead: they do the work
and print what it took.
"""

import os
import sys

from bench.informer import program as informer
from bench.reconcile import program as reconcile
from trimtab.errors import TrimtabError


def main() -> int:
    """Run what is asked for."""
    arguments = sys.argv[1:] or ["client"]
    try:
        for program in (informer, reconcile):
            if program.asked_for(arguments):
                program.main(arguments[1:])
                sys.stdout.flush()
                os._exit(0)  # all is said; threads and connections that still watch need no farewell
        from bench import contest  # noqa: PLC0415 (a contestant goes without all that it imports)

        return contest.main(arguments)
    except TrimtabError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
