"""What a server has a say in by itself when something is written: the admission plugins of a default kube-apiserver.

Here is what completes and refuses objects by what else is in the cluster: classes, limits, accounts, namespaces. What
an administrator configures as webhooks and policies is in `admission/`; what is wrong with an object alone, in
`builtin/`. One file a plugin, `chain.py` for the order in which they are asked.
"""
