"""Encryption between the machines of a cluster: certificates, and the addresses that need them."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from exaln.errors import InputError


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files: the certificate authority of the cluster, and the certificate and key of this process."""

    ca: str
    cert: str
    key: str

    @staticmethod
    def of(ca: str | None, cert: str | None, key: str | None) -> Certificates | None:
        """The certificates of the options; None if none is given, InputError if some are missing."""
        if ca is None and cert is None and key is None:
            return None
        if ca is None or cert is None or key is None:
            raise InputError("--tls-ca, --tls-cert and --tls-key go together; give all three")
        for path in (ca, cert, key):
            if not Path(path).is_file():
                raise InputError(f"{path}: no such file")
        return Certificates(ca, cert, key)

    @staticmethod
    def in_folder(folder: Path) -> Certificates:
        """The paths for the certificates of a cluster that is its own authority; `make` writes the files."""
        return Certificates(*(str(folder / name) for name in ("ca.pem", "cert.pem", "key.pem")))

    @staticmethod
    def temporary(folder: Path) -> Certificates:
        """New certificates in a folder, written."""
        certificates = Certificates.in_folder(folder)
        certificates.make()
        return certificates

    def make(self) -> None:
        """Write new certificates, as files that only this user can read."""
        made = _security().Security.temporary()
        texts = (made.tls_ca_file, made.tls_worker_cert, made.tls_worker_key)
        for path, text in zip((self.ca, self.cert, self.key), texts, strict=True):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)

    def for_dask(self) -> Any:
        """The certificates as distributed.security.Security, for every role."""
        roles = {
            f"tls_{role}_{part}": getattr(self, part)
            for role in ("client", "scheduler", "worker")
            for part in ("cert", "key")
        }
        return _security().Security(tls_ca_file=self.ca, require_encryption=True, **roles)


def require_safe(address: str, certificates: Certificates | None, *, insecure: bool) -> None:
    """InputError for an address of another machine without encryption (unless `insecure`), or without certificates."""
    try:
        scheme, host, _ = urlsplit(address).scheme, urlsplit(address).hostname, urlsplit(address).port
    except ValueError:
        scheme, host = "", None
    if scheme not in ("tcp", "tls") or not host:
        raise InputError(f"{address}: not the address of a Dask scheduler, which begins with tls:// or tcp://")
    if scheme == "tls" and certificates is None:
        raise InputError(f"{address} needs certificates: --tls-ca, --tls-cert and --tls-key")
    if scheme == "tcp" and not insecure and not is_loopback(address):
        raise InputError(
            f"{address} is not encrypted, and anyone who can reach it can run programs on all workers; "
            "use tls:// with certificates, or --insecure in a network that you trust"
        )


def is_loopback(address: str) -> bool:
    """True if only this machine can reach an address.

    >>> is_loopback("tcp://127.0.0.1:8786"), is_loopback("tcp://10.0.0.1:8786"), is_loopback("tcp://localhost:1")
    (True, False, True)
    """
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _security() -> Any:
    from exaln.cluster.requirements import configure_dask

    configure_dask()
    import distributed.security

    return distributed.security
