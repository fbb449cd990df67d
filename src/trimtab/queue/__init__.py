"""The work queue: which key is worked on next, when, and why.

What belongs here is the order of work. What brings a key in (an informer's handlers) and what is then done with it
are a controller's.

`workqueue` decides, without I/O and with a clock that is given; `causes` is what it remembers of why; `limiters` say
how long a key that failed has to wait; `waiting` lets workers of an event loop wait; `metrics` tells Prometheus.
"""

from trimtab.queue.causes import Cause, Causes, What
from trimtab.queue.limiters import FastSlow, ItemExponential, Limiter, MaxOf, TokenBucket
from trimtab.queue.waiting import AsyncWorkQueue
from trimtab.queue.workqueue import LOW_PRIORITY, Item, WorkQueue

__all__ = [
    "LOW_PRIORITY",
    "AsyncWorkQueue",
    "Cause",
    "Causes",
    "FastSlow",
    "Item",
    "ItemExponential",
    "Limiter",
    "MaxOf",
    "TokenBucket",
    "What",
    "WorkQueue",
]
