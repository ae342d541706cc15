"""The cloud's folder: its two private keys, the request that asks to certify them, and its settings.

The cloud has no place for the Paillier factors or the federation secret: nothing here reads or writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cloud_service.places import PLACES
from cloud_service.protection import Protection
from cloud_service.settings import SETTINGS_FILE, TEMPLATE
from machine.files import PUBLIC, read_file, write_file
from shared.crypto import certificates
from shared.crypto.certificates import Role, Subject
from shared.crypto.identity import IdentityKey
from shared.crypto.wrapping import UnwrappingKey
from shared.errors import InputError, numbered
from shared.ids import CLOUD

IDENTITY_FILE: Final = "identity.pem"
RSA_FILE: Final = "rsa.pem"
REQUEST_FILE: Final = "cloud.csr"
_MAX_KEY_BYTES: Final = 2**14


@dataclass(frozen=True, slots=True)
class CloudKeyPair:
    """The cloud's own private keys: it signs with one and unwraps mask seeds with the other.

    `folder`: where further RSA keys lie while the key is being changed; which one counts, the certificate says.
    """

    identity: IdentityKey = field(repr=False)
    unwrapping: UnwrappingKey = field(repr=False)
    folder: Path | None = None
    _found: dict[str, UnwrappingKey] = field(default_factory=dict, repr=False, compare=False)

    def find(self, fingerprint: str) -> UnwrappingKey | None:
        """The RSA key of this fingerprint; looked for on disk if it is not known yet, so that no restart is needed."""
        if self.unwrapping.public.fingerprint == fingerprint:
            return self.unwrapping
        if fingerprint not in self._found and self.folder is not None:
            self._found.update(rsa_keys(self.folder))
        return self._found.get(fingerprint)

    def forget(self, fingerprint: str) -> None:
        """Drop a key whose file was deleted."""
        self._found.pop(fingerprint, None)


def create(folder: Path, key_file: Path | None = None) -> Subject:
    """Make the folder (0700) with fresh keys (0600), the certificate request and commented settings.

    Args: key_file: to encrypt the keys under; None for the one that the surroundings name, if they do.
    Raises: InputError: there are keys already, or no key in the file.
    """
    if (folder / IDENTITY_FILE).exists() or (folder / RSA_FILE).exists():
        raise InputError(
            "there are keys here already; they are never overwritten",
            where=str(folder),
            remedy="Choose another folder.",
        )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    keys = CloudKeyPair(IdentityKey.generate(), UnwrappingKey.generate())
    request = certificates.create_request(
        keys.identity, CLOUD, Role.CLOUD, keys.unwrapping.public.fingerprint
    )
    key_file = key_file or PLACES.find_key_file()
    protection = Protection(folder) if key_file is None else Protection.begin(folder, key_file)
    protection.write(folder / IDENTITY_FILE, keys.identity.to_pem())
    protection.write(folder / RSA_FILE, keys.unwrapping.to_pem())
    write_file(folder / REQUEST_FILE, request, mode=PUBLIC)
    if not PLACES.settings_path(folder).exists():  # those of a system's service may be there already
        write_file(folder / SETTINGS_FILE, TEMPLATE.encode())
    return certificates.parse_request(request)


def load_keys(folder: Path) -> CloudKeyPair:
    """The keys of a folder. Raises: InputError: missing, readable by others, or not keys of the right kind."""
    identity = folder / IDENTITY_FILE
    rsa = next(iter(_rsa_files(folder)), folder / RSA_FILE)
    with numbered("C009"):
        return CloudKeyPair(
            IdentityKey.from_pem(_read_private(identity), where=str(identity)),
            UnwrappingKey.from_pem(_read_private(rsa), where=str(rsa)),
            folder,
        )


def rsa_keys(folder: Path) -> dict[str, UnwrappingKey]:
    """Every RSA key of the folder by its fingerprint. Raises: InputError: readable by others, or no key."""
    keys = [UnwrappingKey.from_pem(_read_private(path), where=str(path)) for path in _rsa_files(folder)]
    return {key.public.fingerprint: key for key in keys}


def _rsa_files(folder: Path) -> list[Path]:
    """`rsa.pem` first, where it is still there; a name that vanishes meanwhile was deleted on purpose."""
    return sorted(folder.glob("rsa*.pem"), key=lambda path: (path.name != RSA_FILE, path.name))


def add_rsa_key(folder: Path) -> UnwrappingKey:
    """A new RSA key beside the others, `rsa-` and the start of its fingerprint; on disk before this returns."""
    key = UnwrappingKey.generate()
    path = folder / f"rsa-{key.public.fingerprint[:16]}.pem"
    Protection.of(folder).write(path, key.to_pem())
    return key


def write_request(folder: Path, identity: IdentityKey, fingerprint: str) -> Subject:
    """The request that asks to certify the identity with the RSA key of this fingerprint."""
    request = certificates.create_request(identity, CLOUD, Role.CLOUD, fingerprint)
    write_file(folder / REQUEST_FILE, request, mode=PUBLIC)
    return certificates.parse_request(request)


def delete_rsa_key(folder: Path, fingerprint: str) -> str | None:
    """Delete the file of a key; its name, or None where there is none."""
    for path in _rsa_files(folder):
        if UnwrappingKey.from_pem(_read_private(path), where=str(path)).public.fingerprint == fingerprint:
            path.unlink(missing_ok=True)
            return path.name
    return None


def protect(folder: Path, key_file: Path) -> None:
    """Encrypt the private keys of a folder, or change the key that opens them.

    Raises: InputError: no key in the file, or the present one is not at hand.
    """
    protection = Protection.begin(folder, key_file)
    _convert(folder, protection, protection)


def unprotect(folder: Path) -> None:
    """Keep the private keys of a folder as plain files again. Raises: InputError: its key is not at hand."""
    before = Protection.of(folder)
    _convert(folder, before, Protection(folder))
    before.end()


def _convert(folder: Path, before: Protection, after: Protection) -> None:
    for path in (folder / IDENTITY_FILE, *_rsa_files(folder)):
        after.write(path, before.read(path, max_bytes=_MAX_KEY_BYTES, remedy="Make the keys first."))


def _read_private(path: Path) -> bytes:
    with numbered("C007"):
        content = read_file(
            path, max_bytes=_MAX_KEY_BYTES, remedy=f"Make the keys first: privet cloud init {path.parent}"
        )
    if path.stat().st_mode & 0o077:
        raise InputError(
            "other users can read this private key",
            where=str(path),
            remedy=f"Run: chmod 600 {path}",
            number="C008",
        )
    return Protection.of(path.parent).open(content, path.name)
