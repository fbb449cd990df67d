"""The bearer tokens that are known from the start. Who comes with a client certificate, the way in knows."""

from __future__ import annotations

import hmac

from trimtab.apiserver.messages import User


class Identities:
    """Who holds which of them."""

    def __init__(self) -> None:
        self._tokens: dict[str, User] = {}

    def add_token(self, token: str, user: User) -> None:
        """Take whoever has this token for that user."""
        self._tokens[token] = user

    def holder(self, token: str) -> User | None:
        """Whose token it is; None where it is nobody's."""
        given = token.encode(errors="replace")
        for known, user in self._tokens.items():
            if hmac.compare_digest(known.encode(), given):
                return user
        return None
