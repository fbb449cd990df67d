"""Volumes and the claims on them. Nothing is behind a volume here: whatever a class asks for is there at once.

`matching.py` says which volume a claim gets, `binding.py` brings the two together and makes volumes that are not there;
`claim_protection.py` and `volume_protection.py` keep what is used from going.
"""
