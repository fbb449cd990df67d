"""What one contestant is asked to do."""

from dataclasses import dataclass
from typing import Self

from bench.harness import BenchError


@dataclass(frozen=True)
class Resource:
    """What is watched."""

    group: str
    version: str
    plural: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `pods`, `configmaps` or GROUP/VERSION/PLURAL."""
        if text in ("pods", "configmaps"):
            return cls("", "v1", text)
        match text.split("/"):
            case [group, version, plural] if group and version and plural:
                return cls(group, version, plural)
            case _:
                raise BenchError(f"--resource {text} is not pods, configmaps or GROUP/VERSION/PLURAL")


@dataclass(frozen=True)
class Job:
    """What one contestant is asked to do."""

    kubeconfig: str
    resource: Resource
    namespace: str = ""  # everywhere, if empty
    events: int = 0  # updates to wait for
    reads: int = 0  # lists of the large ReplicaSet's Pods by label, and by owner; and a hundred times as many gets
    label: str = ""  # KEY=VALUE that finds them
    owner: str = ""  # the uid that finds them
    how: str = "cold"  # to read: whole objects, decoded anew; hot, kept decoded; or by a view
    objects: int = 0  # how many there are, for contestants that cannot tell when they know all
    uvloop: bool = False
