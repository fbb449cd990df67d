"""Versions of the API group discovery.k8s.io, each a module."""
