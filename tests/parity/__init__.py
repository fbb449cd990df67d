"""Scripts of requests that are sent to two API servers, whose answers have to be equal.

A script is a list of steps; `$NS` in it is a namespace of the script's own, and `$3.metadata.uid` what the answer to
the fourth step (the first is 0) has there.
"""
