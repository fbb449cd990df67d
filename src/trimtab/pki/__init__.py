"""Certificates for servers on loopback, and the kubeconfigs that go with them. Needs the extra `testing`."""

from trimtab.pki.authority import CertificateAuthority, Issued
from trimtab.pki.kubeconfig import kubeconfig, write_kubeconfig

__all__ = ["CertificateAuthority", "Issued", "kubeconfig", "write_kubeconfig"]
