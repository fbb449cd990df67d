"""The embedded API server: Kubernetes' API in the process. It knows `kube/` and nothing else of Trimtab."""
