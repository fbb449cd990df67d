"""The bench: Trimtab beside its peers, in one run, against one real control plane.

`python -m bench CONTEST` measures clients, informers, work queues or controllers. A *scenario* is some work; its
*contestants* do it one after the other, each in a process of its own, which does the set-up unmeasured and then prints
what the work cost as one line of JSON. Any program that does so can take part: those of Python are in `bench.peers`,
those of Go in `bench/peers/go`.

CPU seconds of the contestant's process are what counts; on machines that others use too, wall time is noise.
"""
