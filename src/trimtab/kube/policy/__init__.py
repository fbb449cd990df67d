"""Versions of the API group policy, each a module."""
