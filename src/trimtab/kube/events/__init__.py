"""Versions of the API group events.k8s.io, each a module."""
