"""Versions of the API group node.k8s.io, each a module."""
