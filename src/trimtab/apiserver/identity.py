"""The station that finds out who is asking. Nobody is anonymous."""

from __future__ import annotations

import hmac

from trimtab.apiserver import statuses
from trimtab.apiserver.messages import Request, User

AUTHENTICATED = "system:authenticated"


class Identities:
    """The bearer tokens that are known. Who comes with a client certificate, the way in knows."""

    def __init__(self) -> None:
        self._tokens: dict[str, User] = {}

    def add_token(self, token: str, user: User) -> None:
        """Take whoever has this token for that user."""
        self._tokens[token] = user

    def user_of(self, request: Request) -> User:
        """Who it is. Refused where nobody knows."""
        if request.user is not None:
            return request.user
        scheme, _, token = request.header("authorization").partition(" ")
        user = self.owner_of(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise statuses.unauthorized()
        return user

    def owner_of(self, token: str) -> User | None:
        """Whose token it is."""
        given = token.encode("utf-8", "replace")
        for known, user in self._tokens.items():
            if hmac.compare_digest(known.encode(), given):
                return user
        return None
