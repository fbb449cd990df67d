"""The local clusters' contest: what a cluster costs that runs on somebody's laptop, from its start on.

A contestant is a cluster with nodes that are simulated: `trimtab dev`, or a real control plane with kwok's nodes. Its
processes are measured from outside; the same client asks each for the same Deployment.
"""
