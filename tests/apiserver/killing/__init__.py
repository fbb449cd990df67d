"""The server is killed at any moment, and what it had acknowledged has to be there: a little of it in the tests, and
`make kills` for a thousand.

nursery.py has servers born in milliseconds; killing.py kills them, and compares.
"""
