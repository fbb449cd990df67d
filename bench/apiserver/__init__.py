"""The API server inside beside kube-apiserver and etcd: what a write, an event, a list and a held Pod cost the server.

contest.py says what is measured; servers.py starts who takes part; driving.py asks them, over HTTPS or in the process.
"""
