"""Who else has a say in what is written: webhooks and policies of the cluster, and what the server itself holds back.

`gate` is the station itself: it changes, then, when the object has been checked, it refuses. `requests` is a write as
others see it, `matching` and `conditions` tell for whom it is. `webhooks` asks those that `hooks` reads from their
configuration, by `calling` at `places`, and heeds their `verdicts`; `mutations` makes the changes that policies want.
Who changes objects is asked a second time where others changed them after it (`rounds`). `policies` checks the rules of
the cluster. The expressions of both sorts of policies are compiled by `compiling`, see what `expressions` shows them,
and hold where `bindings` say. What is wrong with all these objects themselves is found by `hookchecks` and
`policychecks`, by the rules in `rulechecks`. What clients may do at all is decided before, in `access`.
"""
