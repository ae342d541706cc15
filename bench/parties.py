"""Three real compute parties, one process each, over the direct transport (TLS on loopback): `run_three`.

    results = run_three("bench.mpc_programs:products", {"times": 3}, shares={"x": x, "y": y}, binary={"key": keys})
    results[0].value, results[0].wall_seconds, results[0].costs["sort"].rounds, results[0].seconds["sort"].waited

The program is `module:function`, called as `function(party, **arguments, **shares)` in every process; `arguments` are
JSON values, `shares` arrays of uint32 or uint64 that are dealt as `Share`s, `binary` unsigned arrays that are dealt as
`BinaryShare`s. What it returns may be anything that can be pickled, such as a share: `opened([r.value for r in
results])` puts three shares together. `log=True` writes the log of frames as an agent does. `relay` leads the frames
through a cloud instead, in which the three are the roster of a computing job.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench.party import NAMES, PartyResult, Relay
from hospital_agent.links.tls import JobCertificate
from shared.crypto.agreement import generate_private, public_of
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share, split, split_binary
from shared.rng import random_bytes

_ROOT = Path(__file__).parents[1]


def run_three(
    program: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    shares: Mapping[str, Words] | None = None,
    binary: Mapping[str, Words] | None = None,
    log: bool = False,
    relay: Relay | None = None,
) -> list[PartyResult]:
    """Run a program at three parties; see the top of this file. Raises: RuntimeError: a party ended badly."""
    with tempfile.TemporaryDirectory() as folder:
        write_shares(Path(folder), shares or {}, binary or {})
        tasks = tasks_for(Path(folder), program, arguments or {}, log=log, relay=relay)
        with _processes() as processes:
            for process, task in zip(processes, tasks, strict=True):
                _tell(process, task)
            ports = [json.loads(_answer(process)) for process in processes]
            for process in processes:
                _tell(process, ports)
            ended = _ends(processes)
        if any(ended):
            raise RuntimeError(f"the three parties ended with {ended}; what they say stands above")
        return [pickle.loads((Path(folder) / f"{index}.result").read_bytes()) for index in range(3)]


def opened(shares: Sequence[Share | BinaryShare]) -> Words:
    """The values that three parties' shares stand for."""
    if isinstance(shares[0], BinaryShare):
        return np.asarray(shares[0].own ^ shares[1].own ^ shares[2].own)
    return np.asarray(shares[0].own + shares[1].own + shares[2].own)


def tasks_for(
    folder: Path, program: str, arguments: Mapping[str, Any], *, log: bool, relay: Relay | None = None
) -> list[dict[str, Any]]:
    """What each party is told first. Fresh keys of a job that no cloud knows."""
    privates = [generate_private() for _ in NAMES]
    mh = random_bytes(32)
    common = {
        "folder": str(folder),
        "job": random_bytes(16).hex(),
        "mh": mh.hex(),
        "publics": [public_of(private).hex() for private in privates],
        "certificates": [JobCertificate.of(private, mh=mh).sha256 for private in privates],
        "program": program,
        "arguments": dict(arguments),
        "log": log,
        "relay": None if relay is None else asdict(relay),
    }
    return [{**common, "index": index, "private": private.hex()} for index, private in enumerate(privates)]


def write_shares(folder: Path, shares: Mapping[str, Words], binary: Mapping[str, Words]) -> None:
    """Deal the inputs into one file a party."""
    files: list[dict[str, Words]] = [{}, {}, {}]
    for name, values in shares.items():
        _add(files, f"arithmetic/{name}", split(values, random_bytes))
    for name, values in binary.items():
        _add(files, f"binary/{name}", split_binary(values, random_bytes))
    for index, arrays in enumerate(files):
        with (folder / f"{index}.npz").open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]  # the names are ours, none is an option


def _add(files: list[dict[str, Words]], name: str, dealt: Sequence[Share | BinaryShare]) -> None:
    for arrays, share in zip(files, dealt, strict=True):
        arrays[f"{name}/own"], arrays[f"{name}/next"] = share.own, share.next


def start_party(**options: Any) -> subprocess.Popen[bytes]:
    """A party's process; its task is still to be told."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", "from bench.party import main; main()"],
        cwd=_ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )


@contextmanager
def _processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = [start_party() for _ in NAMES]
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def _ends(processes: Sequence[subprocess.Popen[bytes]]) -> list[int | None]:
    """Exit codes; when one party fails, nobody waits for the others."""
    while True:
        ended = [process.poll() for process in processes]
        if any(ended) or None not in ended:
            return ended
        time.sleep(0.02)


def _tell(process: subprocess.Popen[bytes], what: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(what).encode() + b"\n")
    process.stdin.flush()


def _answer(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError("a party ended before it began; what it says stands above")
    return line
