"""Kubernetes' own conformance tests against the local cluster: `make conformance`."""
