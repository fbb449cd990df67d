"""Versions of the API group autoscaling, each a module."""
