"""The authority's folder: what is in it, how it is read, and in which order it is written.

    root.key                      the root's Ed25519 key                      private
    root.crt                      its certificate                             public
    federation.json               the newest signed document                  public; says which epoch counts
    certificates/ID.HASH.crt      what was issued; the document says which    public
    epochs/0001.secrets           p, q, G of an epoch; kept after a rotation  private
                                  (key mode threshold: every share and G; p and q are forgotten once dealt)
    epochs/0001.json              who was given them, and since when          for the authority's own use
    out/                          bundles to hand out                         sealed or public

Private files are 0600 in folders of 0700, and under a passphrase if one was chosen. `federation.json` is
always written last: what an interrupted command left behind is named by no document, and is replaced.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar

from pydantic import Field

from machine.files import PUBLIC, make_private_folder, read_file, sync_folder, write_file
from shared.crypto import certificates
from shared.crypto.certificates import Certificate
from shared.crypto.identity import IdentityKey
from shared.crypto.passphrase import is_protected, protect, unprotect
from shared.errors import InputError, PeerError, numbered
from shared.protocol.enrolment import fingerprint, keys_of, verify_federation
from shared.protocol.key_shares import holders_of
from shared.wire.base import Count, Id, WireModel
from shared.wire.enrolment import (
    MAX_FEDERATION_BYTES,
    MAX_MEMBERS,
    DealtSecrets,
    Epoch,
    Federation,
    FederationSecrets,
    Member,
    SignedFederation,
)
from trusted_authority.passphrases import PassphraseSource

_MAX_SMALL_BYTES: Final = 2**16
_MAX_SECRETS_BYTES: Final = 2**20
_ROOMS: Final = ("certificates", "epochs", "out")
_RESTORE: Final = "Restore the authority's folder from a backup."

Stored = TypeVar("Stored", bound=WireModel)


class EpochRecord(WireModel):
    """When an epoch's key was made (Unix seconds), and which agents' bundles of it were ever written."""

    epoch: Epoch
    created: Count
    holders: Annotated[list[Id], Field(max_length=2 * MAX_MEMBERS)]


@dataclass(frozen=True, slots=True)
class Vault:
    """An open folder. Reading a private file may ask for the passphrase, once."""

    folder: Path
    passphrases: PassphraseSource = field(default_factory=PassphraseSource, repr=False)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """A new folder, made under another name until `publish`, so that a half-made one never counts.

        Raises: InputError: something is there already.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                "there is something here already, and nothing is overwritten",
                where=str(folder),
                remedy="Name a new folder, or use the one that is there with `privet authority show`.",
                number="T006",
            )
        staging = folder.with_name(f".{folder.name}.unfinished")
        if staging.exists():
            shutil.rmtree(staging)
        with numbered("T002"):
            for room in (staging, *(staging / name for name in _ROOMS)):
                make_private_folder(room)
        return cls(staging)

    def publish(self, folder: Path) -> Self:
        """Give a new folder its name."""
        self.folder.replace(folder)
        sync_folder(folder.parent)
        return replace(self, folder=folder)

    @classmethod
    def open(cls, folder: Path, passphrases: PassphraseSource | None = None) -> Self:
        """An existing folder.

        Raises: InputError: not one that `init` finished, or others may enter it.
        """
        if not (folder / "federation.json").is_file():
            raise InputError(
                "no federation in this folder",
                where=str(folder),
                remedy="Found one with `privet authority init FOLDER --name NAME`.",
                number="T001",
            )
        with numbered("T002"):
            make_private_folder(folder)
        return cls(folder, passphrases or PassphraseSource())

    @property
    def out(self) -> Path:
        """Where bundles are written unless the user names another folder."""
        return self.folder / "out"

    def document(self) -> SignedFederation:
        """The newest federation document, checked against the root certificate in this folder.

        Raises: InputError: damaged.
        """
        document = self._stored("federation.json", SignedFederation, MAX_FEDERATION_BYTES)
        try:
            verify_federation(document, fingerprint(self.root_certificate()))
        except PeerError as error:
            raise self._damaged("federation.json", error) from None
        return document

    def federation(self) -> Federation:
        """What the newest document says."""
        return self.document().federation

    def root_certificate(self) -> bytes:
        """The root certificate, DER."""
        name = "root.crt"
        try:
            return certificates.from_pem(self._read(name))
        except PeerError as error:
            raise self._damaged(name, error) from None

    def root_key(self) -> IdentityKey:
        """The root's private key.

        Raises: InputError: damaged, another passphrase, or not the key of the certificate beside it.
        """
        with numbered("T003"):
            key = IdentityKey.from_pem(self._read_private("root.key"), where=str(self.folder / "root.key"))
        if key.public != certificates.root_public_key(self.root_certificate()):
            raise self._damaged("root.key", "it does not belong to root.crt")
        return key

    def certificate(self, member: Member) -> Certificate:
        """A member's certificate, the one that the document names."""
        name = _certificate_file(member.id, member.certificate_sha256)
        try:
            der = certificates.from_pem(self._read(name))
            certificate = certificates.verify(der, self.root_certificate())
        except PeerError as error:
            raise self._damaged(name, error) from None
        return certificate

    def secrets(self, epoch: int) -> FederationSecrets:
        """The private part of an epoch whose key every agent holds whole."""
        return self._secrets(epoch, FederationSecrets)

    def dealt_secrets(self, epoch: int) -> DealtSecrets:
        """The private part of an epoch whose key was dealt in shares."""
        return self._secrets(epoch, DealtSecrets)

    def _secrets(self, epoch: int, model: type[Stored]) -> Stored:
        name = _epoch_file(epoch, "secrets")
        try:
            return model.parse(self._read_private(name), what=name, max_bytes=_MAX_SECRETS_BYTES)
        except PeerError as error:
            raise self._damaged(name, error) from None

    def current_secrets(self, federation: Federation) -> FederationSecrets | DealtSecrets:
        """The private part of a document's key, known to belong to it.

        Raises: InputError: damaged or swapped; such a file must never be handed out.
        """
        if federation.threshold is not None:
            return self._current_dealt(federation)
        secrets = self.secrets(federation.epoch)
        try:
            keys_of(secrets, federation)
        except PeerError as error:
            raise self._damaged(_epoch_file(federation.epoch, "secrets"), error) from None
        return secrets

    def _current_dealt(self, federation: Federation) -> DealtSecrets:
        dealt = self.dealt_secrets(federation.epoch)
        fits = (dealt.epoch, dealt.key_id) == (federation.epoch, federation.key_id)
        if not fits or dealt.shares.keys() != holders_of(federation).keys():
            raise self._damaged(
                _epoch_file(federation.epoch, "secrets"), "its shares are not those of the document's key"
            )
        return dealt

    def epoch_record(self, epoch: int) -> EpochRecord:
        """Since when an epoch is, and who was given its key."""
        return self._stored(_epoch_file(epoch, "json"), EpochRecord, MAX_FEDERATION_BYTES)

    def write_root(self, key: IdentityKey, certificate: bytes, passphrase: str | None) -> None:
        """The root of a new folder."""
        self._write_private("root.key", key.to_pem(), passphrase)
        write_file(self.folder / "root.crt", certificates.to_pem(certificate), mode=PUBLIC)

    def write_certificate(self, certificate: Certificate) -> None:
        """A newly issued certificate; it counts once the document names it."""
        path = self.folder / _certificate_file(certificate.id, certificate.sha256)
        write_file(path, certificates.to_pem(certificate.der), mode=PUBLIC)

    def write_secrets(self, secrets: FederationSecrets | DealtSecrets, passphrase: str | None) -> None:
        """The private part of a new epoch."""
        self._write_private(_epoch_file(secrets.epoch, "secrets"), secrets.canonical(), passphrase)

    def write_epoch_record(self, record: EpochRecord) -> None:
        """Who was given the key of an epoch; written before any bundle is."""
        write_file(self.folder / _epoch_file(record.epoch, "json"), record.canonical())

    def write_document(self, document: SignedFederation) -> None:
        """The step that makes all that was written before it count."""
        write_file(self.folder / "federation.json", document.canonical(), mode=PUBLIC)

    def is_protected(self) -> bool:
        """Whether the private files are under a passphrase."""
        return is_protected(self._read("root.key"))

    def passphrase(self) -> str | None:
        """The passphrase of this folder, or None if it has none."""
        return self.passphrases.get() if self.is_protected() else None

    def _write_private(self, name: str, content: bytes, passphrase: str | None) -> None:
        stored = content if passphrase is None else protect(content, passphrase, name=name)
        write_file(self.folder / name, stored)

    def _read_private(self, name: str) -> bytes:
        content = self._read(name, _MAX_SECRETS_BYTES)
        with numbered("T004"):
            return self._opened(content, name)

    def _opened(self, content: bytes, name: str) -> bytes:
        return unprotect(content, self.passphrases.get(), name=name) if is_protected(content) else content

    def _read(self, name: str, max_bytes: int = _MAX_SMALL_BYTES) -> bytes:
        with numbered("T005"):
            return read_file(self.folder / name, max_bytes=max_bytes, remedy=_RESTORE)

    def _stored(self, name: str, model: type[Stored], max_bytes: int) -> Stored:
        try:
            return model.parse(self._read(name, max_bytes), what=name, max_bytes=max_bytes)
        except PeerError as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, error: PeerError | str) -> InputError:
        return InputError(
            f"this file is damaged ({error})", where=str(self.folder / name), remedy=_RESTORE, number="T003"
        )


def _epoch_file(epoch: int, kind: str) -> str:
    return f"epochs/{epoch:04d}.{kind}"


def _certificate_file(member: str, sha256: str) -> str:
    return f"certificates/{member}.{sha256[:16]}.crt"
