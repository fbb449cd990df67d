"""What is known of the built-in kinds: facts that a real API server told, and their reader. No behaviour of kinds.

`kubernetes.jsonl` is generated (`make generate`), `reader.py` finds in it, `schema.py` makes typed trees of OpenAPI.
"""

from trimtab.apiserver.facts.reader import Facts, ResourceFacts, kubernetes
from trimtab.apiserver.facts.schema import Schema

__all__ = ["Facts", "ResourceFacts", "Schema", "kubernetes"]
