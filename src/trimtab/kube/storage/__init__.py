"""Versions of the API group storage.k8s.io, each a module."""
