"""`App`: what somebody declares. Nothing runs here, and nothing of a run is kept here: an app may run several times."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trimtab.controller.declaration import Controller, DeclarationError, Finalizer, check_name
from trimtab.controller.mappings import KeyMapping
from trimtab.controller.options import DeclaresOptions, Options
from trimtab.controller.predicates import Predicate, as_predicate
from trimtab.controller.results import Result
from trimtab.kube.wire import K
from trimtab.queue import ItemExponential, Limiter

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from trimtab.controller.context import Context
    from trimtab.kube.dynamic import Dynamic
    from trimtab.kube.objects import Object

Answer: TypeAlias = "Awaitable[Result | None] | Result | None"
M = TypeVar("M", bound="Collector")
R_co = TypeVar("R_co", bound=Answer, covariant=True)


class App(DeclaresOptions):
    """A set of controllers under one name: `app = App("pod-restarter")`, then `@app.controller(Pod)`.

    The name goes into the name of the field manager, under which the app owns what it applies, so keep it.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        check_name(name, "app")
        self.name = name
        self.controllers: dict[str, Controller] = {}
        self.collectors: list[Callable[[Options], Collector]] = []

    def __repr__(self) -> str:
        return f"<App {self.name}: {', '.join(self.controllers) or 'no controllers yet'}>"

    def collector(self, make: Callable[[Options], M]) -> Callable[[Options], M]:
        """Declare metrics of the app's own: `make` makes what collects them, once in a run.

        What runs the app shows them beside its own; `ctx.once(make)` is the same collector.
        """
        self.collectors.append(make)
        return make

    def controller(
        self,
        kind: type[K],
        *,
        name: str = "",
        where: Predicate | Callable[[K], bool] | None = None,
        owns: Iterable[type[Object | Dynamic]] = (),
        reads: Iterable[type[Object | Dynamic]] = (),
        writes: Iterable[type[Object | Dynamic]] = (),
        watches: Mapping[type[Any], KeyMapping] | None = None,
        workers: int = 1,
        timeout: float | None = None,
        finalizer: Finalizer[K] | None = None,
        gone: Callable[[str, Context], Answer] | None = None,
        resync: float | None = None,
        gather: float = 0.0,
        limiter: Callable[[], Limiter] = ItemExponential,
        known_as: str = "",
    ) -> Callable[[Callable[[K, Context], R_co]], Callable[[K, Context], R_co]]:
        """Declare a controller: the function below makes the world match each object of this kind.

        It is called with the object and a `Context`, may be async or plain (then it runs in a thread), and returns
        nothing, `requeue(after=...)` or `terminal(...)`. It sees what is, not what happened, and is called again
        whenever that may have changed; never twice at once for one object.

        `where` says which objects it is about. What it touches is declared: it `owns` objects that it makes (their
        changes bring their owner here), `reads` others, `writes` what it need not see, and `watches` kinds whose
        changes concern objects that a mapping names. `finalizer` is what has to be done before an object may go, `gone`
        is called with the key of one that went. `workers` of them are at work at once, each for at most `timeout`
        seconds; every `resync` seconds all are looked at again; `limiter` makes what says how long a failure waits.
        `gather` is for objects that own many: what changes of other kinds, or of the object's status, waits for so many
        seconds, so that what changes together is one look. `known_as` is the name of its fields and its events, where
        several controllers are one to everybody else.
        """

        def declare(function: Callable[[K, Context], R_co]) -> Callable[[K, Context], R_co]:
            controller = Controller(
                app=self.name,
                name=name or self._name_for(function, kind),
                kind=kind,
                function=function,
                where=as_predicate(where),
                owns=tuple(owns),
                reads=tuple(reads),
                writes=tuple(writes),
                watches=dict(watches or {}),
                workers=workers,
                timeout=timeout,
                finalizer=finalizer,
                gone=gone,
                resync=resync,
                gather=gather,
                limiter=limiter,
                known_as=known_as,
            )
            if controller.name in self.controllers:
                raise DeclarationError(f"app {self.name} has two controllers {controller.name}: give one another name=")
            self.controllers[controller.name] = controller
            return function

        return declare

    def _name_for(self, function: Callable[..., Any], kind: type[Any]) -> str:
        """The function's name; where the function has a controller already, with the kind of this one."""
        named: Any = getattr(function, "__name__", type(function).__name__)
        name = str(named).strip("_<>").replace("_", "-").lower()
        other = self.controllers.get(name)
        if other is not None and other.function is function and other.kind is not kind:
            return f"{name}-{kind.resource.kind.lower()}"
        return name
