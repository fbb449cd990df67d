"""Versions of the API group authentication.k8s.io, each a module."""
