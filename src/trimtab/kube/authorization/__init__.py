"""Versions of the API group authorization.k8s.io, each a module."""
