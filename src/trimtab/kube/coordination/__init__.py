"""Versions of the API group coordination.k8s.io, each a module."""
