"""Versions of the API group batch, each a module."""
