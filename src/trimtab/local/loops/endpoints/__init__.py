"""Where a Service leads: its Pods' addresses and ports, in EndpointSlices and in Endpoints, which they came after.

`members.py` says which Pods and which of their ports, `slicing.py` how many go into which slice, `subsets.py` what
Endpoints say of the same. `slices.py` and `legacy.py` are the two controllers.
"""
