"""The scheduler of the local cluster: it finds a node for each Pod, or says in Kubernetes' words why there is none.

```
a Pod                    wanted.py      what it asks of a node, read once
  → fits(pod, machine)   fits.py        why one node will not do; relations.py where that depends on other Pods
  → best of those        scoring.py
  → Decision             deciding.py    a node, or the reasons counted; preempting.py who could make room
  → a binding            scheduler.py   the shell
```

`board.py` is what the scheduler knows: the nodes, and what is on them, the Pods too that it has only just bound.
"""
