"""Kubernetes controllers in Python: write one function that makes the world match an object."""

__version__ = "0.1.0.dev0"
