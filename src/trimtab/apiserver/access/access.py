"""The two stations before all others: who is asking, and may they. Nobody is anonymous."""

from __future__ import annotations

from trimtab.apiserver import statuses
from trimtab.apiserver.access.attributes import attributes_of, refusal
from trimtab.apiserver.access.bootstrap import make_roles
from trimtab.apiserver.access.impersonation import Impersonation, wanted_of
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.access.reviews import Reviews
from trimtab.apiserver.access.tokens import BadToken, Tokens
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.identity import Identities
from trimtab.apiserver.messages import Request, User
from trimtab.apiserver.options import Query
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings


class Access:
    """Who may do what on one server."""

    def __init__(self, store: Store, catalogue: Catalogue, around: Surroundings) -> None:
        self.identities = Identities()
        self.rbac = Rbac(store)
        self.tokens = Tokens(store, around)
        self.reviews = Reviews(self.rbac, self.tokens, self.identities, around)
        self._impersonation = Impersonation(self.rbac)
        make_roles(store, catalogue, around)

    def user_of(self, request: Request, query: Query) -> User:
        """As whom to go on with a request; refused where nobody knows who asks, or where they may not ask that."""
        user = self._authenticated(request)
        wanted = wanted_of(request.headers)
        if wanted is not None:
            user = self._impersonation.impersonated(attributes_of(user, request, query), wanted)
        if MASTERS not in user.groups:
            asked = attributes_of(user, request, query)
            decision = self.rbac.decide(asked)
            if not decision.allowed:
                raise refusal(asked, decision.reason)
        return user

    def _authenticated(self, request: Request) -> User:
        if request.user is not None:
            return request.user
        scheme, _, token = request.header("authorization").partition(" ")
        token = token.strip()
        if scheme.lower() == "bearer" and token:
            user = self.identities.holder(token)
            if user is not None:
                return user
            try:
                return self.tokens.read(token).user
            except BadToken as error:
                raise statuses.unauthorized() from error
        raise statuses.unauthorized()
