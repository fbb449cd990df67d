"""Versions of the API group internal.apiserver.k8s.io, each a module."""
