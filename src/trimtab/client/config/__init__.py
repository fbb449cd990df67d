"""Which server to talk to, and as whom: kubeconfig files, service accounts, credentials that rotate, TLS, proxies.

What belongs here ends with a `Config`. Nothing here opens a connection.
"""

from trimtab.client.config.errors import ConfigError
from trimtab.client.config.loading import load_config
from trimtab.client.config.model import Config, Impersonate

__all__ = ["Config", "ConfigError", "Impersonate", "load_config"]
