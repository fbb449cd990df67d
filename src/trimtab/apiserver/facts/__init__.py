"""What is known of the built-in kinds: facts that a real API server told, and their reader. No behaviour of kinds.

`kubernetes.jsonl` is generated (`make generate`), `reader.py` finds in it, `schema.py` makes typed trees of OpenAPI,
`defaulting.py` fills in what a kind takes for what was left out.
"""

from trimtab.apiserver.facts.defaulting import with_defaults
from trimtab.apiserver.facts.reader import Defaults, Facts, ResourceFacts, StrategyFacts, kubernetes
from trimtab.apiserver.facts.schema import TIMES, Schema

__all__ = ["TIMES", "Defaults", "Facts", "ResourceFacts", "Schema", "StrategyFacts", "kubernetes", "with_defaults"]
