"""Versions of the API group scheduling.k8s.io, each a module."""
