"""What no schema tells of the built-in kinds: defaults out of other fields, what is checked, what cannot change.

`rules` finds what a kind has of that; `defaults` completes what was sent, before anybody looks at it. The others check,
a group of kinds each: `pods`, with `containers`, `volumes` and `affinity`, is what all templates are made of too;
`claims`, `disks`, `sources` and `storage` are about storage; `ingresses`, `netpolicies` and `endpoints` about the
network; `quotas`, `budgets`, `scaling` and `scheduling` about how much there may be of what; `flow`, `certificates` and
`registration` about the server itself; `devices`, `deviceclaims` and `deviceslices` about devices, and who gets them.
The words are those of kube-apiserver: `make parity` asks it (area `kinds`), and the tests hold us to that. Here are
pure functions on objects as they are stored.
"""
