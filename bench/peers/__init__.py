"""The contestants written in Python: what each would be used like, no faster and no slower."""
