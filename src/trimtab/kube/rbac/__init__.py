"""Versions of the API group rbac.authorization.k8s.io, each a module."""
