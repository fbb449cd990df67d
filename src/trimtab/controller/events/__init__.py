"""What controllers tell people: events of events.k8s.io/v1, which `kubectl describe` shows beside the object.

Here belongs how occurrences become events and how those get to the server. What is worth telling is decided by
controllers.

```
ctx.event(...)
  → Recorder.event       recorder.py   a bounded queue, and workers that send
  → Aggregator.observe   series.py     pure: is it new, or one more of a series; is it worth a request now
  → create, or PATCH of the series
```
"""

from trimtab.controller.events.metrics import EventsCollector
from trimtab.controller.events.recorder import Recorder
from trimtab.controller.events.series import Aggregator, Occurrence

__all__ = ["Aggregator", "EventsCollector", "Occurrence", "Recorder"]
