"""`trimtab check`."""

from __future__ import annotations

from pathlib import Path

from trimtab.client import ApiError, Client, Retry, load_config
from trimtab.errors import TrimtabError


async def reach(kubeconfig: Path | None, context: str | None) -> str:
    """Ask the server who it is and for whom it takes us. Once: who checks wants to know how it is now."""
    config = load_config(kubeconfig, context)
    async with Client(config, retry=Retry(attempts=1), timeout=15.0) as client:
        try:
            version = await client.version()
            user = await client.whoami()
        except ApiError as error:
            raise TrimtabError(f"{config.server} ({config.source}): {error}") from error
    groups = ", ".join(user.groups) or "no groups"
    return (
        f"server     {config.server} ({config.source})\n"
        f"version    Kubernetes {version.git_version} on {version.platform}\n"
        f"user       {user.username} ({groups})\n"
        f"namespace  {client.namespace}"
    )
