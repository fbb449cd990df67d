"""Who asks, and what they may do: tokens, impersonation, RBAC, and the reviews by which clients ask about both.

`attributes` says what a request is about before anybody knows whether that is there. `rbac` decides, from `rules` that
it keeps compiled; `escalation` refuses to grant what the granter does not hold. `bootstrap` puts the roles there that
every cluster has (`roles.jsonl`, generated). `tokens` issues and reads the tokens of service accounts, `impersonation`
lets some ask as others, `reviews` answers. `access` joins them for the server. What admission does belongs elsewhere.
"""
