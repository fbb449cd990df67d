"""Versions of the API group admissionregistration.k8s.io, each a module."""
