"""Scripts of requests that are sent to two API servers, whose answers have to be equal.

`python -m tests.parity` plays them against a real kube-apiserver, twice, and against the embedded one. What differs
between the two runs of the real one is masked, and nothing else.

The way of a script: scripts/ → playing (through sending) → canonical → comparing → verdicts and their table
"""
