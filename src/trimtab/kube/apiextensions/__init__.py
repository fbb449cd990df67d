"""Versions of the API group apiextensions.k8s.io, each a module."""
