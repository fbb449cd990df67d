"""Objects in Kubernetes' protobuf, which Go's typed clients prefer for built-in kinds.

What a field is called and which number it has, the types of Go say (`facts/fields.py`); what it holds, its schema.
"""
