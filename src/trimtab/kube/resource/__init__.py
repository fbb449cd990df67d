"""Versions of the API group resource.k8s.io, each a module."""
