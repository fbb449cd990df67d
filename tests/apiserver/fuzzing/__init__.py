"""Requests of every bad sort, and what has to be true of each answer: `make fuzz`, and a little of it in the tests.

words.py, hostile.py what they are made of; dice.py one of them, mutated.py one of the parity corpus, changed; wires.py bytes
on sockets; running.py sends them, and judges what comes back.
"""
