"""What a server holds, kept here: reflector → store → indexes → informer → lister.

What belongs here is remembering objects and telling of changes. Asking the server is the client's; what to do about a
change is a controller's.

The way of a byte, one file a station: `feed` (it comes in, as `reflector` decides) → `pages` (a list is cut into its
items) → `intake` (split, stripped) → `packing` (compressed; what changed last waits for that in `latest`) → `store` →
`indexes` → `handlers` (told), `lister` (read; `hot` keeps what is read often, `digests` what is wanted of thousands,
`overlay` shows what was just written).
"""

from trimtab.cache.entry import Cached, Undecodable
from trimtab.cache.handlers import DeletedFinalStateUnknown
from trimtab.cache.informer import Informer, Registration
from trimtab.cache.informers import Informers, WatchHealth
from trimtab.cache.intake import Transform
from trimtab.cache.lister import Lister, NotSynced, NotWatched
from trimtab.cache.reflector import Reflector
from trimtab.cache.store import Change, Store

__all__ = [
    "Cached",
    "Change",
    "DeletedFinalStateUnknown",
    "Informer",
    "Informers",
    "Lister",
    "NotSynced",
    "NotWatched",
    "Reflector",
    "Registration",
    "Store",
    "Transform",
    "Undecodable",
    "WatchHealth",
]
