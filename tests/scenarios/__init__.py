"""What happens in a cluster, step by step: scenarios played on the local one and on a real control plane, and compared.

`scripts/` has the corpus, a file for each area; docs/reference/scenarios.md says how it is played and what is compared.
"""
