"""Versions of the API group apps, each a module."""
