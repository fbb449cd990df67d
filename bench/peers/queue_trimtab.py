"""Trimtab's work queue as its controllers have it: `python -m bench.peers.queue_trimtab --count N --waiting N`."""

import argparse
import asyncio
import sys
from importlib.metadata import version

from bench.cost import Cost, Meter
from trimtab.queue import AsyncWorkQueue, Cause, WorkQueue


async def work(count: int, waiting: int) -> Cost:
    """Put keys into a queue with what caused them, take each and say that it is done, as one worker does."""
    queue = WorkQueue(clock=asyncio.get_running_loop().time)
    get = AsyncWorkQueue(queue).get
    keys = [f"bench/object-{number}" for number in range(waiting)]

    async def turns(number: int) -> None:
        for _ in range(number):
            for key in keys:
                queue.add(key, Cause("ConfigMap", key, "1234567", ("spec",)))
            for _ in keys:
                item = await get()
                assert item is not None
                queue.done(item.key)

    await turns(max(1, count // waiting // 10))
    meter = Meter.start()
    await turns(count // waiting)
    return meter.stop(count, f"trimtab {version('trimtab')}")


def main() -> None:
    """Do it, and print what it cost."""
    parser = argparse.ArgumentParser("python -m bench.peers.queue_trimtab", description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--waiting", type=int, required=True)
    options = parser.parse_args()
    sys.stdout.buffer.write(asyncio.run(work(options.count, options.waiting)).line())


if __name__ == "__main__":
    main()
