"""The tokens of service accounts: signed statements of who somebody is, for whom, and until when.

They are JSON Web Tokens signed with ES256. A token is good as long as its time lasts and its account, and the object
that it is bound to, are those that it was issued for. The key is made when it is first needed: who has no service
accounts does not need `cryptography`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.access.impersonation import AUTHENTICATED, account_groups
from trimtab.apiserver.access.rbac import account_name
from trimtab.apiserver.messages import CREDENTIAL, User
from trimtab.apiserver.objects import decode
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings
from trimtab.errors import TrimtabError

Json: TypeAlias = dict[str, Any]

ISSUER: Final = "https://kubernetes.default.svc"
_CLAIM: Final = "kubernetes.io"
_LONGEST: Final = 16 << 10  # characters of a token
_HALF: Final = 32  # bytes of each of the two numbers of a signature
_LEEWAY: Final = timedelta(minutes=1)
_SHORTEST_LIFE: Final = 600
_LONGEST_LIFE: Final = 1 << 32
_BOUND: Final = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


class BadToken(TrimtabError):
    """A token that is not good, and why."""


@dataclass(frozen=True, slots=True)
class Known:
    """Whom a good token is of, and for which of the audiences that were asked about."""

    user: User
    audiences: tuple[str, ...]


class Tokens:
    """Issues tokens and reads them."""

    def __init__(self, store: Store, around: Surroundings, key: bytes | None = None) -> None:
        self._store = store
        self._around = around
        self._pem = key
        self._key: Any = None

    def use(self, key: bytes) -> None:
        """Sign with this key (PEM, of the curve P-256) instead of one that is made."""
        self._pem, self._key = key, None

    def issue(self, namespace: str, name: str, request: Json) -> Json:
        """The answer to a TokenRequest for a service account."""
        given = cast("Json", request.get("metadata") or {})
        spec = cast("Json", request.get("spec") or {})
        _check_identity(given, namespace, name)
        account = self._get("serviceaccounts", f"{namespace}/{name}")
        if account is None:
            raise statuses.not_found("serviceaccounts", "", name)
        _check_uid(given, account["metadata"]["uid"], name)
        seconds = 3600 if spec.get("expirationSeconds") is None else spec["expirationSeconds"]
        _check_life(seconds)
        audiences = list(spec.get("audiences") or [ISSUER])
        now = self._around.now()
        claim: Json = {"namespace": namespace, "serviceaccount": _ref(account)}
        bound = cast("Json | None", spec.get("boundObjectRef"))
        if bound is not None:
            claim.update(self._bind(namespace, name, bound))
        until = now + timedelta(seconds=seconds)
        at = int(now.timestamp())
        body = {
            "aud": audiences, "exp": at + seconds, "iat": at, "iss": ISSUER, "jti": self._around.uid(), _CLAIM: claim,
            "nbf": at, "sub": account_name(namespace, name),
        }  # fmt: skip
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": name, "namespace": namespace, "uid": account["metadata"]["uid"],
                "creationTimestamp": self._around.stamp(),
                "managedFields": given.get("managedFields") or [],
            },
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
            "status": {"token": self._signed(body), "expirationTimestamp": until.strftime("%Y-%m-%dT%H:%M:%SZ")},
        }  # fmt: skip

    def read(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> Known:
        """Whom a token is of. BadToken where it is none of ours, or no longer good."""
        body = self._verified(token)
        meant = tuple(each for each in body["aud"] if each in audiences)
        if not meant:
            shown = " ".join(map(causes.quoted, body["aud"]))
            wanted = " ".join(map(causes.quoted, audiences))
            raise BadToken(f"token audiences [{shown}] is invalid for the target audiences [{wanted}]")
        now = self._around.now().timestamp()
        if now >= body["exp"]:
            raise BadToken("service account token has expired")
        claim = body[_CLAIM]
        namespace, ref = claim["namespace"], claim["serviceaccount"]
        account = self._get("serviceaccounts", f"{namespace}/{ref['name']}")
        self._check_account(ref, account)
        if self._is_gone(cast("Json", account)):
            raise BadToken(f"service account {namespace}/{ref['name']} has been deleted")
        extra: dict[str, Sequence[str]] = {CREDENTIAL: [f"JTI={body['jti']}"]}
        for (_, kind), plural in _BOUND.items():
            there = claim.get(kind.lower())
            if there is None:
                continue
            key = there["name"] if kind == "Node" else f"{namespace}/{there['name']}"
            found = self._get(plural, key)
            if kind != "Node" or "pod" not in claim:
                self._check_bound(kind, there, found)
            extra |= _shown_extra(kind, there)
        name = account_name(namespace, ref["name"])
        groups = (*account_groups(namespace), AUTHENTICATED)
        return Known(User(name, groups, ref["uid"], extra), meant)

    def _check_account(self, ref: Json, found: Json | None) -> None:
        if found is None:
            raise BadToken(f'serviceaccounts "{ref["name"]}" not found')
        uid = found["metadata"]["uid"]
        if uid != ref["uid"]:
            raise BadToken(f"service account UID ({uid}) does not match claim ({ref['uid']})")

    def _check_bound(self, kind: str, ref: Json, found: Json | None) -> None:
        """What a token is bound to has to be there, and not to have been about to go for long."""
        if found is None or self._is_gone(found):
            raise BadToken("service account token has been invalidated")
        uid = found["metadata"]["uid"]
        if uid != ref["uid"]:
            what = kind.lower()
            raise BadToken(f"{what} UID ({uid}) does not match service account {what} ref claim ({ref['uid']})")

    def _is_gone(self, obj: Json) -> bool:
        at = obj["metadata"].get("deletionTimestamp")
        return bool(at) and datetime.fromisoformat(at) < self._around.now() - _LEEWAY

    def _bind(self, namespace: str, account: str, bound: Json) -> Json:
        version, kind, name = (bound.get(key) or "" for key in ("apiVersion", "kind", "name"))
        plural = _BOUND.get((version, kind))
        if plural is None:
            raise statuses.bad_request(f"cannot bind token to object of type {_type_of(version, kind)}")
        found = self._get(plural, name if kind == "Node" else f"{namespace}/{name}")
        if found is None:
            raise statuses.not_found(plural, "", name)
        uid = found["metadata"]["uid"]
        if bound.get("uid") not in (None, "", uid):
            why = (
                f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
            raise statuses.conflict(kind, "", name, why)
        made: Json = {kind.lower(): _ref(found)}
        if kind == "Pod":
            spec = cast("Json", found.get("spec") or {})
            if spec.get("serviceAccountName") != account:
                why = (
                    f"cannot bind token for serviceaccount {causes.quoted(account)} to pod running with different "
                    f"serviceaccount name."
                )
                raise statuses.bad_request(why)
            if on := spec.get("nodeName"):
                node = self._get("nodes", on)
                made["node"] = {"name": on} if node is None else _ref(node)
        return made

    def public_key(self) -> Json:
        """By what others can check the signatures, as a JSON Web Key."""
        key, identity = self._signer()
        numbers = key.public_key().public_numbers()
        x, y = (_packed(number.to_bytes(_HALF, "big")) for number in (numbers.x, numbers.y))
        return {"use": "sig", "kty": "EC", "kid": identity, "crv": "P-256", "alg": "ES256", "x": x, "y": y}

    def _get(self, bucket: str, key: str) -> Json | None:
        record = self._store.get(bucket, key)
        return None if record is None else decode(record.data)

    # Signatures

    def _signed(self, body: Json) -> str:
        key, identity = self._signer()
        head = {"alg": "ES256", "kid": identity}
        text = f"{_packed(msgspec.json.encode(head))}.{_packed(msgspec.json.encode(body))}"
        return f"{text}.{_packed(_sign(key, text.encode()))}"

    def _verified(self, token: str) -> Json:
        """What a token says, if it was signed here. Everything in it may be hostile until that is known."""
        parts = token.split(".")
        if len(parts) != 3 or len(token) > _LONGEST or (self._pem is None and self._key is None):
            raise BadToken("")
        try:
            head, body, signature = (_unpacked(part) for part in parts)
            given = msgspec.json.decode(head, type=dict[str, Any])
        except (ValueError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise BadToken("") from error
        key, _ = self._signer()
        if given.get("alg") != "ES256" or not _is_signed(key, f"{parts[0]}.{parts[1]}".encode(), signature):
            raise BadToken("")
        return msgspec.json.decode(body, type=dict[str, Any])

    def _signer(self) -> tuple[Any, str]:
        if self._key is None:
            self._key = _load(self._pem)
        return self._key


def _load(pem: bytes | None) -> tuple[Any, str]:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - only who issues tokens needs it
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key: Any = serialization.load_pem_private_key(pem, None) if pem else ec.generate_private_key(ec.SECP256R1())
    spki = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key, _packed(hashlib.sha256(spki).digest())


def _sign(key: Any, text: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    pair = utils.decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
    return b"".join(number.to_bytes(_HALF, "big") for number in pair)


def _is_signed(key: Any, text: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    if len(signature) != 2 * _HALF:
        return False
    pair = (int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big"))
    try:
        key.public_key().verify(utils.encode_dss_signature(*pair), text, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unpacked(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _ref(obj: Json) -> Json:
    return {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}


def _type_of(version: str, kind: str) -> str:
    group, slash, short = version.rpartition("/")
    return f"{group if slash else ''}/{short}, Kind={kind}"


def _shown_extra(kind: str, ref: Json) -> dict[str, Sequence[str]]:
    if kind == "Secret":
        return {}
    prefix = f"authentication.kubernetes.io/{kind.lower()}"
    known = (name for name in ("name", "uid") if name in ref)
    return {f"{prefix}-{name}": [ref[name]] for name in known}


def _check_identity(given: Json, namespace: str, name: str) -> None:
    if given.get("name") not in (None, "", name):
        about = causes.invalid("metadata.name", given["name"], "must match the service account name if specified")
        raise statuses.invalid("TokenRequest", "authentication.k8s.io", name, [about])
    if given.get("namespace") not in (None, "", namespace):
        why = "must match the service account namespace if specified"
        about = causes.invalid("metadata.namespace", given["namespace"], why)
        raise statuses.invalid("TokenRequest", "authentication.k8s.io", name, [about])


def _check_uid(given: Json, uid: str, name: str) -> None:
    wanted = given.get("uid") or uid
    if wanted != uid:
        why = f"the UID in the token request ({wanted}) does not match the UID of the service account ({uid})"
        raise statuses.conflict("TokenRequest", "authentication.k8s.io", name, why)


def _check_life(seconds: Any) -> None:
    why = ""
    if seconds < _SHORTEST_LIFE:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_LIFE:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        about = causes.invalid("spec.expirationSeconds", seconds, why)
        raise statuses.invalid("TokenRequest", "authentication.k8s.io", "", [about])
