"""Versions of the API group meta, each a module."""
