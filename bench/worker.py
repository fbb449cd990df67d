"""`python -m bench.worker PEER …`: a contestant written in Python. Prints its Cost; the harness starts it."""

import argparse
import importlib
import os
import sys
from typing import NoReturn

from bench.work import Job

PEERS = ("aiohttp", "kubernetes", "kubernetes_aio", "pyreqwest", "trimtab")


def main() -> NoReturn:
    """Do one job."""
    parser = argparse.ArgumentParser("python -m bench.worker", description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--scenario", choices=("patch", "get", "list"), required=True)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", required=True)
    for number in ("count", "in-flight", "objects", "page"):
        parser.add_argument(f"--{number}", type=int, required=True)
    options = vars(parser.parse_args())
    peer = importlib.import_module(f"bench.peers.with_{options.pop('peer')}")  # only the one that is measured
    sys.stdout.buffer.write(peer.run(Job(**options)).line())
    sys.stdout.flush()
    os._exit(0)  # not through the interpreter's end: there pyreqwest 0.15 aborts one process in four


if __name__ == "__main__":
    main()
