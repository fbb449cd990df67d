"""CEL, the expression language of Kubernetes: rules of custom resources, admission policies, match conditions.

An expression is parsed (`parser`, `macros`), checked (`checker`, `linting`), its worst cost told (`estimate`), and made
into closures (`planning`, `folding`), which `program` runs. `declared` reads JSON with a schema as values. Its answers,
its costs and its words are those of kube-apiserver. What belongs here knows nothing of requests or storage.
"""
