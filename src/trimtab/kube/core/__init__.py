"""Versions of the API group core, each a module."""
