"""The informers' contest: what it costs to know what a server holds, to hear of its changes, and to read from that.

A contestant is a process that syncs one informer, says what that took, hears of changes while the harness's writer
makes them, and reads. All of them print the same lines, whatever they are written in: see `lines`.
"""
