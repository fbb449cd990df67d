"""Requests of every bad sort, and what has to be true of each answer: `make fuzz`, and a little of it in the tests.

words.py, hostile.py what they are made of; schemas.py objects of any kind; mutated.py requests of the parity corpus,
changed; dice.py one request after the other; running.py sends them into a server and judges what comes back; wires.py
does so over sockets.
"""
