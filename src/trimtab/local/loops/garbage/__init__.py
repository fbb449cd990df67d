"""The garbage collector: what an object owns goes with it, first, or is left behind, as its deletion asks.

It looks at objects of every kind, also of those that come while it runs. An app declares its kinds beforehand, so this
one loop is a part of the manager instead of an app.

```
an informer of each kind   collector.py   whole where another loop reads the kind anyway, else the metadata alone
  → Graph                  graph.py       pure: who owns whom, and what that means for one object now
  → one request            collector.py   delete, take a reference off, take a finalizer off
```
"""

from trimtab.local.loops.garbage.collector import part

__all__ = ["part"]
