"""A TLS certificate for this machine, trusted by whoever is given its file."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

FAR_NAME: Final = "cloud.example.test"
"""A name that no name server knows: whoever reaches it was led there by a proxy."""


def self_signed(folder: Path) -> Path:
    """Write `tls.crt` and `tls.key` for this machine and `FAR_NAME` into the folder; the path of the former."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.DNSName(FAR_NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    certificate = builder.add_extension(names, critical=False).sign(key, SHA256())
    (folder / "tls.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "tls.key").write_bytes(pem)
    return folder / "tls.crt"


@dataclass(frozen=True)
class Authority:
    """Certifies clients for mutual TLS. `pem`: its own certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def found(cls, name: str) -> Authority:
        """A new one."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(name)
        builder = _for_a_day(subject, subject, key).add_extension(
            x509.BasicConstraints(True, 0), critical=True
        )
        return cls(key, builder.sign(key, SHA256()))

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def client(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write a client's certificate and key into the folder; their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _for_a_day(_named(name), self.certificate.subject, key)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = builder.add_extension(usage, critical=False).sign(self.key, SHA256())
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
        paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return paths


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _for_a_day(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    serial = x509.random_serial_number()
    return x509.CertificateBuilder(issuer, subject, key.public_key(), serial, now, now + timedelta(days=1))
