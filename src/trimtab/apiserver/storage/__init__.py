"""What is kept: bytes under keys, every version of them since the last compaction, with one revision for all.

It knows keys and bytes and nothing of Kubernetes. `Store` is the whole of it, in memory; a `Journal` behind it makes it
last, such as `Database` on SQLite.
"""

from trimtab.apiserver.storage.journal import Database, Journal, StorageFailed
from trimtab.apiserver.storage.records import Compacted, Future, Occupied, Record
from trimtab.apiserver.storage.store import Store

__all__ = ["Compacted", "Database", "Future", "Journal", "Occupied", "Record", "StorageFailed", "Store"]
