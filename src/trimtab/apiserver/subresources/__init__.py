"""What hangs below Pods and is no part of them: bindings, evictions, and what only their nodes can tell.

Here is what is asked by creating something that is stored nowhere, and what is passed on to whoever runs the Pods.
Parts of an object that are written apart, such as its status, are written as all is (`writing.py`).
"""
