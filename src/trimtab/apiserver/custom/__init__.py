"""Custom resources: what their definitions say, and what that makes of their objects."""
