"""Finding out which server to talk to, and as whom, in the order that controller-runtime follows."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from trimtab.client.config.contexts import config_of_context
from trimtab.client.config.errors import ConfigError, FileMissingError, shown
from trimtab.client.config.incluster import in_cluster, in_cluster_config
from trimtab.client.config.kubeconfig import read_kubeconfig, read_kubeconfigs
from trimtab.client.config.model import Config


def load_config(
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Config:
    """Return the configuration to use.

    From the file `kubeconfig`, else from those that $KUBECONFIG lists, else from the service account of the Pod around
    this process, else from ~/.kube/config. `context` chooses one other than the current; as a service account has no
    contexts, naming one passes over it. `clock` tells when files are due to be read again.
    """
    if kubeconfig:
        return config_of_context(read_kubeconfig(Path(kubeconfig).expanduser()), context, clock=clock)
    if listed := [Path(path) for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]:
        merged = read_kubeconfigs(listed)
        if merged is None:
            raise ConfigError(f"$KUBECONFIG names {', '.join(map(shown, listed))}, and there is no such file")
        return config_of_context(merged, context, clock=clock)
    if context is None and in_cluster(os.environ):
        return in_cluster_config(os.environ, clock=clock)
    default = Path("~/.kube/config").expanduser()
    try:
        found = read_kubeconfig(default)
    except FileMissingError as error:
        raise ConfigError(
            f"no cluster to talk to: {shown(default)} does not exist, $KUBECONFIG is not set, "
            "and this is not a Pod with a service account; name a kubeconfig"
        ) from error
    return config_of_context(found, context, clock=clock)
