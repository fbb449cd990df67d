"""A process: start and stop order, leader election, health, metrics, logs, signals.

What belongs here is being one process of perhaps several. What controllers do in it is theirs.

`manager` puts it together; `lifecycle` says in which order `parts` start and stop. Who leads: `election` (decides),
`leading` (asks), `fence` (holds back whoever does not), `clocks`. What it tells: `health`, `metrics`, `requests`,
`serving` (over HTTP) and `logs`. What it is told: `signals`.
"""

from trimtab.manager.election import Election, Timing
from trimtab.manager.fence import Fence, NotLeading
from trimtab.manager.health import Health
from trimtab.manager.leading import LeaderElector, LeadershipLost
from trimtab.manager.lifecycle import Lifecycle, Part, Phase, Stop
from trimtab.manager.logs import configure_logs
from trimtab.manager.manager import LeaderElection, Manager
from trimtab.manager.serving import Address
from trimtab.manager.signals import stop_on_signals

__all__ = [
    "Address",
    "Election",
    "Fence",
    "Health",
    "LeaderElection",
    "LeaderElector",
    "LeadershipLost",
    "Lifecycle",
    "Manager",
    "NotLeading",
    "Part",
    "Phase",
    "Stop",
    "Timing",
    "configure_logs",
    "stop_on_signals",
]
