"""The reconcilers' contest: what a controller costs, from the start of its manager until all is as it should be.

A contestant is a process with one controller of ConfigMaps. All of them print the same line, whatever they are written
in: see `job`.
"""
