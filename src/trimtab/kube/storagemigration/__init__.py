"""Versions of the API group storagemigration.k8s.io, each a module."""
