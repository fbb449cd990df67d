"""curl-me-that: a ConfigMap gets what a URL returns.

```
kubectl annotate configmap demo x-kv8s.io/curl-me-that=mydata=data.example.com
```

The annotation wants a key `mydata` with what `http://data.example.com` returns (`pairs.py` has the whole syntax). A URL
is fetched when it is new, when its interval has passed, or when its value was changed by hand; never because an event
came (`plan.py`). What was fetched is written down beside the value, in the same request (`record.py`). The fetching
itself, which must not reach what users may not reach, is in `fetch.py`; `look.py` has the steps.

The keys are owned by server-side apply: one that is no longer wanted goes by not being applied any more, and one that
somebody else owns is left to them (`ownership.py`). Whatever goes wrong leaves the data alone, and becomes an event.
"""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

from trimtab.controller import App, Context, Options, Requeue, annotated
from trimtab.controllers.curl_me_that.addresses import network
from trimtab.controllers.curl_me_that.fetch import Fetcher
from trimtab.controllers.curl_me_that.look import Look
from trimtab.controllers.curl_me_that.memory import Memory
from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS
from trimtab.controllers.curl_me_that.record import RECORD
from trimtab.kube.core.v1 import ConfigMap

__all__ = ["app", "fetcher", "memory"]


def positive(word: str) -> float:
    """A number of seconds, or of requests."""
    number = float(word)
    if not 0 < number < 1e9:
        raise ValueError("it has to be more than zero")
    return number


app = App("curl-me-that")
ALLOW_CIDR = app.option(
    "allow-cidr", "A network that may be fetched from though it is not public.", parse=network, many=True
)
TIMEOUT = app.option("fetch-timeout", "Seconds that a fetch may take.", default=10.0, parse=positive)
RATE = app.option("fetch-rate", "Requests a second to one host.", default=10.0, parse=positive)


def fetcher(options: Options) -> Fetcher:
    """The one who fetches, in a run."""
    return Fetcher(allowed=options[ALLOW_CIDR], timeout=options[TIMEOUT], rate=options[RATE])


def memory(_: Options) -> Memory:
    """What a run remembers."""
    return Memory(now=lambda: datetime.now(UTC), random=Random().random)  # noqa: S311  # spreads load


async def forget(key: str, ctx: Context) -> None:
    """The ConfigMap is gone, or asks for nothing."""
    ctx.once(memory).forget(key)


@app.controller(
    ConfigMap,
    where=annotated(ANNOTATIONS[0]) | annotated(ANNOTATIONS[1]) | annotated(RECORD),
    workers=32,
    gone=forget,
)
async def curl_me_that(config_map: ConfigMap, ctx: Context) -> Requeue | None:
    """Make the data of a ConfigMap what its annotation asks for."""
    if config_map.metadata.deletion_timestamp:
        return None
    look = Look(config_map, ctx, ctx.once(fetcher), ctx.once(memory))
    with look.remembering():
        plan = look.plan()
        await look.ask_whose_keys(plan)
        if config_map.immutable and (plan.fetch or plan.drop):
            look.complain("Immutable", "the ConfigMap is immutable: nothing can be written to it")
        else:
            await look.fetch(plan)
            await look.write(plan)
        return look.tell()
