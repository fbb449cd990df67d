"""Who else has a say in what is written: webhooks and policies of the cluster, and what the server itself holds back.

`gate` is the station itself: it changes, then, when the object has been checked, it refuses. `requests` is a write as
others see it, `matching` and `conditions` tell for whom it is; `webhooks` asks those that `hooks` reads from their
configuration, by `calling` at `places`, and heeds their `verdicts`. `policies` checks the rules of the cluster in CEL,
which see what `expressions` shows them. What clients may do at all is decided before, in `access`.
"""
