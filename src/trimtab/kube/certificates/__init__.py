"""Versions of the API group certificates.k8s.io, each a module."""
