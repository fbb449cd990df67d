"""Versions of the API group apiregistration.k8s.io, each a module."""
