"""The keys in an agent's folder: made by `init`, completed by `join`, opened by `run`.

| file | content |
|---|---|
| `keys/identity.pem` | Ed25519 private key: signs envelopes |
| `keys/sealing.key` | X25519 private key, hex: opens the authority's bundles |
| `keys/selection.key` | 32 bytes: parts records for training and testing (`selection_key`) |
| `<id>.csr` | the certificate request that goes to the trusted authority |
| `root.sha256` | fingerprint of the root that a person read over the telephone |
| `bundles/<epoch>.bundle` | each bundle as it came; its secrets stay sealed at rest |
| `federation.json` | the newest signed federation document |

Where the folder is encrypted (`hospital_agent.protection`), the files in `keys` are, and with them what they open.

Old epochs are kept, so that a job that began under one can end under it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from hospital_agent.keyring.cipher import MeteredCipher
from hospital_agent.keyring.share_cipher import MeteredShare
from hospital_agent.protection import Protection
from machine.files import make_private_folder, read_file, write_file
from shared.crypto import agreement, certificates
from shared.crypto.certificates import Certificate, Role
from shared.crypto.identity import IdentityKey
from shared.crypto.paillier_private import PrivateKey
from shared.crypto.share_holder import ShareHolder
from shared.errors import InputError, PeerError, numbered
from shared.ids import AgentId, KeyId, is_valid_id
from shared.protocol import enrolment
from shared.protocol.agent_effects import HospitalKeys
from shared.protocol.key_shares import ShareKeys
from shared.protocol.profiles import RoundKeys
from shared.protocol.trust import Trust
from shared.wire.enrolment import (
    MAX_BUNDLE_BYTES,
    MAX_FEDERATION_BYTES,
    AgentBundle,
    Federation,
    SignedFederation,
)

IDENTITY_FILE: Final = "keys/identity.pem"
SEALING_FILE: Final = "keys/sealing.key"
_MAX_KEY_BYTES: Final = 4096


@dataclass(slots=True)
class Keyring:
    """One agent's keys. `federation` and `certificate` are None until it has joined."""

    folder: Path
    identity: IdentityKey = field(repr=False)
    sealing_private: bytes = field(repr=False)
    root_sha256: str | None = None
    federation: Federation | None = None
    certificate: Certificate | None = None
    _ciphers: dict[KeyId, RoundKeys] = field(default_factory=dict, repr=False)

    @classmethod
    def create(cls, folder: Path, agent: str, protection: Protection | None = None) -> Self:
        """Fresh keys in `folder` (0700) and the request `<id>.csr` beside them. Args: protection: None for plain files.

        Raises: InputError: a name that no agent may have, or there are keys already.
        """
        cls.check_new(folder, agent)
        ring = cls(folder, IdentityKey.generate(), agreement.generate_private())
        make_private_folder(folder / "keys")
        protection = protection or Protection(folder)
        protection.write(folder / IDENTITY_FILE, ring.identity.to_pem())
        protection.write(folder / SEALING_FILE, ring.sealing_private.hex().encode() + b"\n")
        sealing_public = agreement.public_of(ring.sealing_private).hex()
        request = certificates.create_request(ring.identity, AgentId(agent), Role.AGENT, sealing_public)
        write_file(folder / f"{agent}.csr", request)
        return ring

    @staticmethod
    def check_new(folder: Path, agent: str) -> None:
        """Make `folder` (0700) if it is missing, and see that it can take an agent's first keys.

        Raises: InputError: a name that no agent may have, or there are keys already.
        """
        if not is_valid_id(agent):
            raise InputError(
                "an agent's id is 1 to 64 of a-z, 0-9 and -, and neither cloud nor all", where="--id"
            )
        make_private_folder(folder)
        if (folder / "keys").exists():
            raise InputError(
                "there are keys already; new ones would need a new certificate",
                where=str(folder / "keys"),
                remedy="Name another folder, or delete this one for good.",
            )

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The keys that are there. Raises: InputError: none, or damaged."""
        remedy = "Make the agent with `privet agent init`, or restore the folder from a backup."
        with numbered("A004"):
            protection = Protection.of(folder)
            pem = protection.read(folder / IDENTITY_FILE, max_bytes=_MAX_KEY_BYTES, remedy=remedy)
            sealing = protection.read(folder / SEALING_FILE, max_bytes=_MAX_KEY_BYTES, remedy=remedy)
        with numbered("A005"):
            identity = IdentityKey.from_pem(pem, where=str(folder / IDENTITY_FILE))
            ring = cls(folder, identity, _raw_key(sealing, folder / SEALING_FILE))
        if (folder / "root.sha256").is_file():
            with numbered("A007"):
                ring._load_membership()
        return ring

    def reread(self) -> None:
        """Take what `join` has imported since, so that a renewed certificate needs no restart."""
        if (self.folder / "root.sha256").is_file():
            self._load_membership()

    @property
    def is_member(self) -> bool:
        """Whether a bundle has been imported."""
        return self.federation is not None

    def request_fingerprint(self, agent: str) -> str:
        """What the authority must see when it certifies `<id>.csr`, 64 hex digits."""
        remedy = "Make the agent with `privet agent init`."
        raw = read_file(self.folder / f"{agent}.csr", max_bytes=_MAX_KEY_BYTES, remedy=remedy)
        return enrolment.request_fingerprint(certificates.parse_request(raw))

    def join(self, bundle_file: Path, root_sha256: str | None, agent: str) -> Federation:
        """Import a bundle of the trusted authority, the first or a newer one.

        Args: root_sha256: the root's fingerprint as a person typed it, blanks allowed; None: the one known.
        Raises: InputError: no or another fingerprint, or no bundle of an agent. PeerError: the bundle does not hold
            (shared.protocol.enrolment).
        """
        root = self._expected_root(root_sha256)
        raw = read_file(
            bundle_file, max_bytes=MAX_BUNDLE_BYTES, remedy="Name the bundle that the authority sent."
        )
        _refuse_other_files(raw, bundle_file)
        opened, keys = self._open_bundle(raw, root)
        if opened.certificate.id != agent:
            raise InputError(
                f"the bundle is for {opened.certificate.id}, this agent is {agent}",
                where=str(bundle_file),
                remedy="Import the bundle that was made from this agent's own request.",
            )
        if self.federation is not None:
            enrolment.check_successor(self.federation, opened.federation)
        _check_key(keys)
        make_private_folder(self.folder / "bundles")
        write_file(self.folder / "bundles" / f"{keys.epoch}.bundle", raw)
        bundle = AgentBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)
        write_file(self.folder / "federation.json", bundle.bundle.federation.canonical())
        write_file(self.folder / "root.sha256", root.encode() + b"\n")
        self._load_membership()
        return opened.federation

    def renew(self, document: SignedFederation) -> bool:
        """Take a federation document as the cloud serves it; returns whether it is another than the one held.

        Raises: PeerError: not signed by the known root, inconsistent, or older.
        """
        known, root = self._membership()
        offered = enrolment.verify_federation(document, root)
        enrolment.check_successor(known, offered)
        if offered == known:
            return False
        write_file(self.folder / "federation.json", document.canonical())
        self.federation = offered
        return True

    def hospital_keys(self, key_id: str | None = None) -> HospitalKeys:
        """Round keys of the epoch with this Paillier key (None: the newest held), and whom to trust now.

        Raises: InputError: no bundle of that key was imported.
        """
        federation, root = self._membership()
        wanted = KeyId(key_id or self._newest_key())
        if wanted not in self._ciphers:
            self._load_epochs(root, wanted)
        return HospitalKeys(self._ciphers[wanted], enrolment.trust_of(federation))

    def hospital_trust(self) -> Trust:
        """Whom to believe now, by the newest federation document. Raises: InputError: not joined."""
        federation, _ = self._membership()
        return enrolment.trust_of(federation)

    def cipher(self, key_id: str) -> MeteredCipher | MeteredShare:
        """The metered cipher inside `hospital_keys(key_id)`."""
        cipher = self.hospital_keys(key_id).round_keys.cipher
        if not isinstance(cipher, (MeteredCipher, MeteredShare)):
            raise InputError("this key has no meter", where="keyring")
        return cipher

    def close(self) -> None:
        """End every process that holds a key."""
        for keys in self._ciphers.values():
            if isinstance(keys.cipher, (MeteredCipher, MeteredShare)):
                keys.cipher.close()

    @property
    def holds_newest_epoch(self) -> bool:
        """Whether the federation document's key is among the imported bundles."""
        federation, _ = self._membership()
        return (self.folder / "bundles" / f"{federation.epoch}.bundle").is_file()

    def _membership(self) -> tuple[Federation, str]:
        if self.federation is None or self.root_sha256 is None:
            raise InputError(
                "this agent has not joined a federation",
                where=str(self.folder),
                remedy="Run `privet agent join DIR --bundle FILE --root-sha256 HEX` with the authority's bundle.",
                number="A006",
            )
        return self.federation, self.root_sha256

    def _expected_root(self, fingerprint: str | None) -> str:
        root = None if fingerprint is None else enrolment.typed(fingerprint, where="--root-sha256")
        if root is None and self.root_sha256 is None:
            raise InputError(
                "the root's fingerprint is needed the first time",
                where="--root-sha256",
                remedy="Ask the trusted authority for it over the telephone and type it.",
            )
        if root is not None and self.root_sha256 not in (None, root):
            raise InputError(
                "this agent belongs to a federation with another root",
                where="--root-sha256",
                remedy="Make another agent folder for another federation.",
            )
        return root or str(self.root_sha256)

    def _load_membership(self) -> None:
        remedy = "Import the bundle again with `privet agent join`."
        root = (
            read_file(self.folder / "root.sha256", max_bytes=_MAX_KEY_BYTES, remedy=remedy).decode().strip()
        )
        raw = read_file(self.folder / "federation.json", max_bytes=MAX_FEDERATION_BYTES, remedy=remedy)
        document = SignedFederation.parse(raw, what="federation.json", max_bytes=MAX_FEDERATION_BYTES)
        self.federation = enrolment.verify_federation(document, root)
        self.root_sha256 = root
        newest = max(self._bundles(), key=lambda path: int(path.stem))
        opened, _ = self._open_bundle(read_file(newest, max_bytes=MAX_BUNDLE_BYTES, remedy=remedy), root)
        self.certificate = opened.certificate

    def _bundles(self) -> list[Path]:
        found = list((self.folder / "bundles").glob("[0-9]*.bundle"))
        if not found:
            raise InputError(
                "no bundle is left here",
                where=str(self.folder / "bundles"),
                remedy="Import it again with `privet agent join`.",
                number="A008",
            )
        return found

    def _open_bundle(
        self, raw: bytes, root: str
    ) -> tuple[enrolment.Enrolment, enrolment.FederationKeys | ShareKeys]:
        bundle = AgentBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)
        return enrolment.open_bundle(
            bundle, root, identity_public=self.identity.public, sealing_private=self.sealing_private
        )

    def _newest_key(self) -> str:
        newest = max(self._bundles(), key=lambda path: int(path.stem))
        raw = read_file(newest, max_bytes=MAX_BUNDLE_BYTES, remedy="")
        return AgentBundle.parse(
            raw, what=newest.name, max_bytes=MAX_BUNDLE_BYTES
        ).bundle.federation.federation.key_id

    def _load_epochs(self, root: str, wanted: KeyId) -> None:
        for path in self._bundles():
            _, keys = self._open_bundle(read_file(path, max_bytes=MAX_BUNDLE_BYTES, remedy=""), root)
            if keys.key_id == wanted:
                holders = keys.holders if isinstance(keys, ShareKeys) else {}
                self._ciphers[wanted] = RoundKeys(_cipher_of(keys), keys.secret, holders=holders)
                return
        raise InputError(
            "no bundle with this Paillier key was imported",
            where=str(self.folder / "bundles"),
            remedy="Import the newest bundle with `privet agent join`.",
            number="A008",
        )


def _check_key(keys: enrolment.FederationKeys | ShareKeys) -> None:
    """Raises: InputError: these are no factors of a key, or not the share that the document vouches for."""
    if isinstance(keys, ShareKeys):
        ShareHolder.create(keys.key, keys.index, keys.share)
    else:
        PrivateKey.create(keys.p, keys.q)


def _cipher_of(keys: enrolment.FederationKeys | ShareKeys) -> MeteredCipher | MeteredShare:
    """The key at work, whole or in part, once it is seen to be one. Raises: InputError: it is not."""
    if isinstance(keys, ShareKeys):
        return MeteredShare.create(keys.key, keys.index, keys.share)
    return MeteredCipher.create(PrivateKey.create(keys.p, keys.q))


def _refuse_other_files(raw: bytes, path: Path) -> None:
    """A slip of the hand, such as the cloud's bundle, is not a bundle that somebody has tampered with."""
    try:
        AgentBundle.parse(raw, what="bundle", max_bytes=MAX_BUNDLE_BYTES)
    except PeerError:
        raise InputError(
            "this is no bundle for a hospital's agent",
            where=str(path),
            remedy="Name the file ID.bundle that the authority made for this agent; if it is that, fetch it again.",
        ) from None


def _raw_key(text: bytes, path: Path) -> bytes:
    try:
        raw = bytes.fromhex(text.decode().strip())
    except ValueError:
        raw = b""
    if len(raw) != agreement.KEY_BYTES:
        raise InputError(
            "expected 64 hexadecimal digits", where=str(path), remedy="Restore the file from a backup."
        )
    return raw
