"""What key mode threshold costs beside the shared key: `python -m bench.threshold`, one round of each, all checked.

One hospital does all of its work on its own cores; what the others send is made by the product as well, but not timed.
Figures are CPU seconds of one hospital, and the bytes of big numbers that one hospital sends and receives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from bench.rounds import SECRET, Round, Spent, run_round, timed
from hospital_agent.keyring.cipher import MeteredCipher
from hospital_agent.keyring.share_cipher import MeteredShare
from shared.crypto.agreement import public_of
from shared.crypto.safe_primes import safe_prime
from shared.crypto.sealed_partials import Place, open_partial, seal_partial
from shared.crypto.threshold import ThresholdKey, decode_partial, encode_partial, is_proven
from shared.crypto.threshold_dealing import Dealt, deal
from shared.ids import AgentId
from shared.protocol.layout import base64_length
from shared.rng import random_below
from shared.secure_tree.aggregate import valid_sums
from shared.secure_tree.masks import self_mask_sums
from shared.secure_tree.threshold_opening import check_sums, open_partials
from tests.support.threshold_keys import safe_primes
from tests.support.toy_keys import fixed_key

SLOTS: Final = 1000
GREATEST_COUNT: Final = 1000


@dataclass(frozen=True, slots=True)
class ThresholdRound:
    """One hospital's CPU seconds: hide its counts; check the sum and decrypt its part; open with everybody's parts.

    prove: of naming a liar, the check of one other hospital's proof, which an honest round never makes.
    """

    hospitals: int
    ciphertexts: int
    hide: Spent
    part: Spent
    open: Spent
    prove: Spent
    sent_bytes: int
    received_bytes: int

    @property
    def hospital(self) -> Spent:
        """All that one hospital does in an honest round."""
        return self.hide + self.part + self.open


def run_threshold_round(dealt: Dealt, hospitals: int, slots: int = SLOTS) -> ThresholdRound:
    """Play a round and check its sums."""
    played, key = Round.among(hospitals), dealt.key
    context, public, names = played.context, key.public, played.context.agents
    ciphers = {
        name: MeteredShare.create(key, index, dealt.shares[index - 1])
        for index, name in enumerate(names, start=1)
    }
    own = names[0]
    counts = {name: [random_below(GREATEST_COUNT) for _ in range(slots)] for name in names}
    built, hiding = timed(lambda: played.contribution(ciphers[own], own, counts[own]))
    contributions = {
        name: built if name == own else played.contribution(ciphers[name], name, counts[name])
        for name in names
    }
    sums = played.sum_of(public, contributions)
    self_sums = self_mask_sums(context, played.seeds, len(sums), public.n)
    rows = [contributions[name] for name in names]

    def decrypt_part() -> bytes:
        check_sums(public, context, rows, self_sums, sums)
        valid = valid_sums(public, context, slots, sums)
        return encode_partial(key, ciphers[own].partial(valid, context.ctx))

    mine, part = timed(decrypt_part)
    valid = valid_sums(public, context, slots, sums)
    contents = {
        name: mine if name == own else encode_partial(key, ciphers[name].partial(valid, context.ctx))
        for name in names
    }
    sealed = _sealed(played, contents, own)

    def open_all() -> list[int]:
        came = {
            name: decode_partial(key, index, len(sums), sealed[name])
            for index, name in enumerate(names, start=1)
        }
        return open_partials(key, context, SECRET, slots, valid, came)

    opened, opening = timed(open_all)
    if opened != [sum(cells) for cells in zip(*counts.values(), strict=True)]:
        raise RuntimeError("the sums are wrong")
    proving = _proof_cost(key, valid, contents[names[1]], context.ctx)
    for cipher in ciphers.values():
        cipher.close()
    return ThresholdRound(
        hospitals, len(sums), hiding, part, opening, proving, *_traffic(key, hospitals, len(sums))
    )


def _sealed(played: Round, contents: Mapping[AgentId, bytes], own: AgentId) -> dict[AgentId, bytes]:
    """Through the seals that keep them from the cloud, as `own` opens them."""
    context, publics = played.context, {n: public_of(k) for n, k in played.privates.items()}
    place = Place(context.mh, context.ctx, played.privates[own])
    found = {own: contents[own]}
    for name in contents.keys() - {own}:
        theirs = Place(context.mh, context.ctx, played.privates[name])
        box = seal_partial(theirs, name, contents[name], {n: k for n, k in publics.items() if n != name})
        found[name] = open_partial(place, own, name, publics[name], box.content, box.keys[own])
    return found


def _proof_cost(key: ThresholdKey, sums: Sequence[int], content: bytes, ctx: bytes) -> Spent:
    given = decode_partial(key, 2, len(sums), content)
    holds, spent = timed(lambda: is_proven(key, given, sums, ctx))
    if not holds:
        raise RuntimeError("an honest proof does not hold")
    return spent


def _deal(bits: int) -> Dealt:
    return deal(safe_prime(bits // 2), safe_prime(bits // 2), 3, 3)


def _traffic(key: ThresholdKey, hospitals: int, count: int) -> tuple[int, int]:
    """Bytes of big numbers as base64: sent and received by one hospital."""
    contribution = count * base64_length(key.public.ciphertext_bytes)
    own_part = base64_length(key.partial_bytes(count)) + 80 * (hospitals - 1)
    self_sums = count * base64_length(key.public.modulus_bytes)
    aggregate = contribution + hospitals * contribution + self_sums
    return contribution + own_part, aggregate + hospitals * own_part


def main(
    bits: Annotated[list[int] | None, typer.Option(help="Key lengths.")] = None,
    hospitals: Annotated[list[int] | None, typer.Option(help="Hospitals, all of them needed.")] = None,
    slots: Annotated[int, typer.Option(help="Counts of the round.")] = SLOTS,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the figures here.")] = None,
) -> None:
    """Print the table."""
    table = Table(
        *("key", "hospitals", "ciphertexts", "mode", "hide", "own part", "open", "all", "times"),
        *("proof", "sent KB", "received KB"),
        title=f"One round of {slots} counts, CPU seconds of one hospital",
    )
    found = []
    for size in bits or (2048, 3072):
        _, dealing = timed(partial(_deal, size))
        for count in hospitals or (3, 5):
            dealt = deal(*safe_primes(size), count, count)
            cipher = MeteredCipher.create(fixed_key(size))
            shared, _ = run_round(cipher, count, slots)
            cipher.close()
            mine = run_threshold_round(dealt, count, slots)
            contribution = mine.ciphertexts * base64_length(dealt.key.public.ciphertext_bytes)
            table.add_row(
                *(str(size), str(count), str(mine.ciphertexts), "shared", f"{shared.hide.cpu:.3f}", "-"),
                *(f"{shared.open.cpu:.3f}", f"{shared.hospital.cpu:.3f}", "1", "-"),
                *(f"{contribution / 1000:.0f}", f"{contribution / 1000:.0f}"),
            )
            table.add_row(
                *("", "", "", "threshold", f"{mine.hide.cpu:.3f}", f"{mine.part.cpu:.3f}"),
                *(f"{mine.open.cpu:.3f}", f"{mine.hospital.cpu:.3f}"),
                *(f"{mine.hospital.cpu / shared.hospital.cpu:.1f}", f"{mine.prove.cpu:.3f}"),
                *(f"{mine.sent_bytes / 1000:.0f}", f"{mine.received_bytes / 1000:.0f}"),
            )
            found.append({"bits": size, "shared": asdict(shared), "threshold": asdict(mine)})
        table.caption = f"{table.caption or ''} dealing {size} bits: {dealing.cpu:.1f} s;"
    Console(width=130).print(table)
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    typer.run(main)
