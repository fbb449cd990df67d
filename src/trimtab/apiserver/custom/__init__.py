"""Custom resources: what a definition says, and what that makes of its objects.

`definitions` checks a definition (`schemacheck` and `structure` its schemas, `defaults` their defaults), `conditions`
leads its status, `definition` compiles it: each version's schema becomes functions that prune (`pruning`), default
(`defaulting`), check values (`validating`), lists (`lists`), embedded resources (`embedded`) and rules (`rules`, on
`cel`). `columns`, `scale` and `publishing` are what others see. What belongs here knows nothing of requests or storage.
"""
