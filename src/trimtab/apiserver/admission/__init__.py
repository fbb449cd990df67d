"""Who else has a say in what is written: webhooks and policies of the cluster, and what the server itself holds back.

`gate` is the station itself: it changes, then, when the object has been checked, it refuses. What clients may do at all
is decided before, in `access`.
"""
