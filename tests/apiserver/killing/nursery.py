"""A process that has imported the server, and has another one born for each line that it reads.

A line is the arguments of the program, with tabs between. The answer is the process's id; what the program prints
follows it. It remembers few changes, so that it forgets some of them all the time.
"""

from __future__ import annotations

import os
import sys

from trimtab.apiserver import program
from trimtab.apiserver.server import Server
from trimtab.apiserver.storage import Store

REMEMBERED = 200


def main() -> None:
    defaults = Store.__init__.__kwdefaults__
    assert defaults is not None
    defaults["most_remembered"] = REMEMBERED
    Server()  # reads what is known of the built-in kinds, once for all
    for line in sys.stdin:
        born = os.fork()
        if born == 0:
            os._exit(program.main(line.strip().split("\t")))
        print(born, flush=True)
        os.waitpid(born, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    main()
