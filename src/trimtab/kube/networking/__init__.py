"""Versions of the API group networking.k8s.io, each a module."""
