"""Nodes without machines: they say that they are ready, and let Pods begin, run, end, crash and go.

What belongs here stands in for kubelets. Nothing runs: what a container does follows from what the Pod says
(`behaviour.py`) and from the time. `lives.py` is pure: from a Pod as it is to what becomes of it next.
"""
