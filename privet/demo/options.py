"""What the demo is asked to do, checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, Literal

from shared.errors import InputError
from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.pruning import Pruning
from shared.wire.secret import MAX_HEIGHT

Profile = Literal["hardened", "paper"]
Mode = Literal["ppsdt", "id3", "gain-ratio"]
KeyMode = Literal["shared", "threshold"]

MIN_HOSPITALS: Final = 3
MAX_HOSPITALS: Final = 64
"""Each hospital is a process of its own on this one machine; the protocol itself allows 1024."""
KEY_BITS: Final = (2048, 3072, 4096)
MIN_SIGMA: Final = 2
MAX_SIGMA: Final = 10_000


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """All options of `privet demo`. Without `files` the demo brings its own records.

    `class_column`, `drop`, keys of `cuts`: names, or positions from 1.
    `has_header`: None where the files tell, as an agent finds out.
    `keep`: where the federation's files stay afterwards. `direct`: compute parties connect to one another, past the
    cloud. `noise_sigma`: deviation of the noise on each sum, a decimal number; None for exact sums. `key_mode`: whether
    each hospital holds the whole Paillier key, or a share with which all of them together open a sum.
    `is_playground`: the hospitals take any study within the rules, and its tree may be published.
    """

    files: tuple[Path, ...] = ()
    class_column: str | None = None
    has_header: bool | None = None
    drop: tuple[str, ...] = ()
    cuts: Mapping[str, tuple[Decimal, ...]] = field(default_factory=dict)
    hospitals: int = MIN_HOSPITALS
    rules: GrowthRules = field(default_factory=GrowthRules)
    mode: Mode = "ppsdt"
    profile: Profile = "hardened"
    key_bits: int = 3072
    key_mode: KeyMode = "shared"
    keep: Path | None = None
    stay: bool = False
    direct: bool = False
    noise_sigma: str | None = None
    is_playground: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether the job works on shares."""
        return self.mode != "ppsdt"


def check_mode(mode: Mode, *, profile: Profile, criterion: Criterion | None, direct: bool) -> Criterion:
    """The criterion of a mode, once the other options are seen to fit it. Args: criterion: None where not given.

    Raises: InputError: an option of another mode.
    """
    if mode == "ppsdt":
        if direct:
            raise InputError(
                "only compute parties connect directly, and mode ppsdt has none.",
                where="--direct",
                remedy="Leave --direct out, or add --mode id3 or --mode gain-ratio.",
            )
        return criterion or "information-gain"
    if profile == "paper":
        raise _not_of(mode, "--profile paper")
    own: Criterion = "information-gain" if mode == "id3" else "gain-ratio"
    if criterion not in (None, own):
        raise _not_of(mode, f"--criterion {criterion}")
    return own


def check_pruning(method: Literal["collapse", "pessimistic"] | None, mode: Mode) -> Pruning | None:
    """The pruning, once the mode is seen to open the counts it needs; collapse needs none where a tree is opened.

    Raises: InputError: it does not.
    """
    if method is None:
        return None
    if mode != "ppsdt" and method != "collapse":
        raise _not_of(mode, f"--prune {method}")
    return Pruning(method)


def check_key_mode(key_mode: KeyMode, mode: Mode, profile: Profile) -> KeyMode:
    """The key mode, once mode and profile are seen to fit it. Raises: InputError: they use no key in shares."""
    if key_mode == "shared":
        return key_mode
    if mode != "ppsdt":
        raise _not_of(mode, "--key-mode threshold")
    if profile != "hardened":
        raise InputError(
            "profile paper needs a key that every hospital holds whole.",
            where="--key-mode",
            remedy="Leave out one of the two.",
        )
    return key_mode


def parse_sigma(text: str | None, mode: Mode, profile: Profile) -> str | None:
    """The deviation of the noise as decimal text, or None where none is asked for.

    Raises: InputError: no number from 2 to 10000, or another mode or profile, which add no noise.
    """
    if text is None:
        return None
    if mode != "ppsdt":
        raise _not_of(mode, "--noise-sigma")
    if profile != "hardened":
        raise InputError(
            "profile paper adds no noise.", where="--noise-sigma", remedy="Leave out one of the two."
        )
    try:
        sigma = Decimal(text.strip())
    except InvalidOperation:
        sigma = Decimal("NaN")
    if not (sigma.is_finite() and MIN_SIGMA <= sigma <= MAX_SIGMA):
        raise InputError(
            f"expected a number from {MIN_SIGMA} to {MAX_SIGMA}, got {text!r}.",
            where="--noise-sigma",
            remedy="For example: --noise-sigma 5.",
        )
    return f"{sigma:f}"


def _not_of(mode: Mode, option: str) -> InputError:
    return InputError(
        f"this is not an option of the mode {mode}.", where=option, remedy=f"Leave {option.split()[0]} out."
    )


def height_of(mode: Mode, text: str | None, *, split_on_zero_gain: bool) -> int | None:
    """Questions on a path: as asked, else 8, or the height 4 in mode gain-ratio, which needs one and at most 10.

    Raises: InputError: not a number, or no height that the mode has.
    """
    if mode != "gain-ratio":
        return parse_max_depth(text or "8")
    height = parse_max_depth(text or "4")
    if height is None or height > MAX_HEIGHT:
        raise InputError(
            f"mode gain-ratio grows a tree of a fixed height from 1 to {MAX_HEIGHT}.",
            where="--max-depth",
            remedy="For example: --max-depth 4.",
        )
    if split_on_zero_gain:
        raise _not_of(mode, "--split-on-zero-gain")
    return height


def check_own_records(files: tuple[Path, ...], described: Mapping[str, object]) -> None:
    """Refuse options that describe records where the demo brings its own. `described`: option to what was given.

    Raises: InputError: such an option without a file.
    """
    given = [option for option, value in described.items() if value]
    if given and not files:
        raise InputError(
            "this is for records of your own; the demo's records need none.",
            where=given[0],
            remedy=f"Add --data FILE, or leave {given[0]} out.",
        )


def hospital_count(asked: int | None, files: int) -> int:
    """How many hospitals take part: as asked, one for each of several files, three by default.

    Raises: InputError: fewer than three, more than this demo starts, or not one for each file.
    """
    count = asked if asked is not None else (files if files > 1 else MIN_HOSPITALS)
    if files > 1 and count != files:
        raise InputError(
            f"{files} files for {count} hospitals.",
            where="--hospitals",
            remedy="With several --data each file is one hospital; leave --hospitals out.",
        )
    if count < MIN_HOSPITALS:
        raise InputError(
            f"at least {MIN_HOSPITALS} hospitals are needed, got {count}: of two, each could subtract its own counts.",
            where="--data" if files > 1 else "--hospitals",
            remedy=f"Give {MIN_HOSPITALS} files or more, or one file, which is dealt to the hospitals."
            if files > 1
            else f"Ask for {MIN_HOSPITALS} or more.",
        )
    if count > MAX_HOSPITALS:
        raise InputError(
            f"at most {MAX_HOSPITALS} hospitals on one machine, got {count}.",
            where="--hospitals",
            remedy="Ask for fewer; real federations run on many machines (README.md).",
        )
    return count


def parse_max_depth(text: str) -> int | None:
    """A number of questions, or None for `none`. Raises: InputError: neither."""
    if text.strip().lower() == "none":
        return None
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= 1024:
        return int(text)
    raise InputError(
        f"expected a number from 1 to 1024 or none, got {text!r}.",
        where="--max-depth",
        remedy="For example: --max-depth 8.",
    )


def parse_cuts(texts: tuple[str, ...]) -> dict[str, tuple[Decimal, ...]]:
    """`COLUMN=POINT,POINT` of each text. Raises: InputError: another form, or a column twice."""
    cuts: dict[str, tuple[Decimal, ...]] = {}
    for text in texts:
        column, separator, points = text.rpartition("=")
        if not separator or not column or column in cuts:
            raise InputError(
                f"expected COLUMN=POINT,POINT, once for each column, got {text!r}.",
                where="--cut",
                remedy='For example: --cut "temperature=37.5,38".',
            )
        cuts[column] = tuple(_point(column, point) for point in points.split(","))
    return cuts


def _point(column: str, text: str) -> Decimal:
    try:
        point = Decimal(text.strip())
    except InvalidOperation:
        point = Decimal("NaN")
    if not point.is_finite():
        raise InputError(
            f"{text!r} is no number to cut {column!r} at.",
            where="--cut",
            remedy="Write numbers like 37.5, joined by commas.",
        )
    return point
