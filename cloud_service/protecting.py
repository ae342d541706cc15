"""`privet cloud protect`: encrypting the private keys of the cloud's folder, and back."""

from __future__ import annotations

import typer

from cloud_service.places import Folder
from machine.arguments import NewKeyFile, RemoveKey, check_key
from shared.reports import Report

UNPROTECTED = (
    "the private keys of this folder are not encrypted: `privet cloud protect` with a key file does it"
)


def add_to(app: typer.Typer) -> None:
    """The command, among the cloud's others."""
    app.command()(protect)


def protect(
    folder: Folder,
    key_file: NewKeyFile = None,
    remove: RemoveKey = False,
) -> Report:
    """Encrypt the private keys of a cloud's folder. Restart every replica with the key afterwards."""
    from cloud_service.protection import KEY_FILE
    from cloud_service.service import folder as folders

    check_key(key_file, remove=remove)
    if key_file is None:
        folders.unprotect(folder)
        return Report(
            {"folder": str(folder), "encrypted": False}, f"The private keys of {folder} are as plain files."
        )
    folders.protect(folder, key_file)
    text = (
        f"The private keys of {folder} are encrypted. Keep a copy of the key apart from the folder's backups, and the "
        f"file `protection` with the keys: without both they are lost.\n"
        f"Next: {KEY_FILE}={key_file} privet cloud serve {folder}"
    )
    return Report({"folder": str(folder), "encrypted": True}, text)
