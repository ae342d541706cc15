"""The program that a standalone file runs on its tables; read with `shared.tree.prediction`, whose answers it gives.

It is a text, not a module, because it is written into files that run without Privet, under Python 3.8 as well.
"""

from __future__ import annotations

from typing import Final

PROGRAM: Final = r'''
import csv
import json
import math
import os
import re
import sys
import unicodedata
from bisect import bisect_left
from datetime import date
from decimal import Decimal
from fractions import Fraction

@DATA@

IN_PARTS = -2
NUMBER = re.compile(r"[+-]?([0-9]{1,64}(\.[0-9]{0,64})?|\.[0-9]{1,64})([eE][+-]?[0-9]{1,3})?")
TRUE = ("true", "True", "TRUE", "yes", "Yes", "YES", "y", "1")
FALSE = ("false", "False", "FALSE", "no", "No", "NO", "n", "0")
POINTS = [None if points is None else [Decimal(point) for point in points] for _, _, points, _ in FIELDS]
CODES = [
    None if values is None else {value: code for code, value in enumerate(values)} for _, values, _, _ in FIELDS
]


def predict(record):
    """The answer for a record, a dict by the names of attributes; what is left out, None or blank is missing.

    Returns a dict: "class"; "share" and "counts" of the training records at the place of the answer, None where the
    study does not show them; "node", the place; "stopped_at", the attribute without a usable value where the walk ended
    early; "parted_at", the attribute without a value from where on all branches answered, each by its training records.
    Raises ValueError: no finite number where one is due; or no usable value in a tree that keeps no class for that.
    """
    record, place, stopped_at = as_study(record), 0, None
    while len(NODES[place]) > 3:
        field, votes = NODES[place][3], NODES[place][7]
        code = encode(field, record.get(FIELDS[field][0]))
        if code == IN_PARTS and votes:
            return in_parts(record, place)
        if code is None or code == IN_PARTS:
            stopped_at = FIELDS[field][0]
            break
        place = kid(place, code)
    label, share, counts = NODES[place][:3]
    if label is None:
        raise ValueError("attribute %a: no usable value, and this tree keeps no class for that" % stopped_at)
    counts = None if counts is None or not any(map(Fraction, counts)) else dict(zip(CLASSES, map(shown, counts)))
    return answer(CLASSES[label], share, counts, place, stopped_at, None)


def as_study(record):
    """The record as the study's data contract reads it; what the contract does not take is left as it is."""
    named = {}
    for name, value in record.items():
        own = COLUMNS.get(name, name)
        if own in named:
            raise ValueError("attribute %a: it is given twice, also as %a" % (own, name))
        named[own] = value
    named = derive(named)
    for field, rule in enumerate(RULES):
        name = FIELDS[field][0]
        if rule is not None and name in named:
            named[name] = as_listed(named[name], *rule)
    return named


@DERIVE@
def as_listed(value, spelling, empty, texts, prefixes, rest):
    """The listed value that a field means, a blank text where it stands for missing."""
    if value is None or isinstance(value, bool):
        return value
    text = spelled(str(value), spelling)
    if text in empty:
        return ""
    if not texts:
        return value
    code = as_code(str(value), spelling)
    starts = [prefix for prefix in prefixes if code.startswith(prefix)]
    found = texts.get(text, prefixes[max(starts, key=len)] if starts else rest)
    return value if found is None else found


def spelled(text, spelling):
    """The one form of all texts that are the same: as numbers, or without case, accents and repeated blanks."""
    text = text.strip()
    if spelling == "number" and NUMBER.fullmatch(text):
        text = format(Decimal(text), "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    if spelling == "folded":
        apart = unicodedata.normalize("NFKD", text)
        return " ".join("".join(each for each in apart if not unicodedata.combining(each)).casefold().split())
    return text


def as_code(text, spelling):
    """The form in which texts and prefixes are compared."""
    return spelled(text, "exact" if spelling == "number" else spelling)


def rule_of(spelling, missing, texts, prefixes, rest):
    """How a field is read, its texts in their one form."""
    empty = {""} | {spelled(code, spelling) for code in missing}
    listed = {spelled(text, spelling): value for text, value in texts.items()}
    return spelling, empty, listed, {as_code(text, spelling): value for text, value in prefixes.items()}, rest


def answer(label, share, counts, place, stopped_at, parted_at):
    """What `predict` returns."""
    return {
        "class": label,
        "share": share,
        "counts": counts,
        "node": place,
        "stopped_at": stopped_at,
        "parted_at": parted_at,
    }


def kid(place, code):
    """The place that a code leads to."""
    _, kind, rank, kids = NODES[place][3:7]
    if kind == "each":
        return kids[code]
    return kids[int(code > rank if kind == "up_to" else code == rank)]


def in_parts(record, start):
    """All branches answer, each as heavily as training records went there."""
    votes, pending = [Fraction(0)] * len(CLASSES), [(start, Fraction(1))]
    while pending:
        place, share = pending.pop()
        if len(NODES[place]) > 3:
            code = encode(NODES[place][3], record.get(FIELDS[NODES[place][3]][0]))
            if code is not None and code != IN_PARTS:
                pending.append((kid(place, code), share))
                continue
            if code == IN_PARTS and NODES[place][7]:
                sizes = [(each, size(each)) for each in NODES[place][6]]
                whole = sum(number for _, number in sizes)
                pending.extend((each, share * number / whole) for each, number in sizes if number)
                continue
        label, _, counts = NODES[place][:3]
        for number in range(len(votes)):
            part = Fraction(counts[number]) / size(place) if size(place) else Fraction(number == label)
            votes[number] += share * part
    return answer(CLASSES[votes.index(max(votes))], float(max(votes)), None, start, None, FIELDS[NODES[start][3]][0])


def size(place):
    """Training records at a place, parts of records included."""
    return sum(map(Fraction, NODES[place][2] or ()), Fraction(0))


def shown(count):
    """A count as people are shown it."""
    return round(float(Fraction(count)), 2) if isinstance(count, str) else count


def encode(field, value):
    """The code of a value, None where it is missing or not listed; IN_PARTS where all branches are to answer."""
    name, values, points, missing = FIELDS[field]
    if isinstance(value, (float, Decimal)) and not math.isfinite(value):
        raise ValueError("attribute %a: NaN and infinity are not values" % name)
    if isinstance(value, str) and not value.strip() and (values is None or value not in CODES[field]):
        value = None
    if value is None:
        return missing
    if points is not None:
        text = str(value).strip()
        if isinstance(value, bool) or NUMBER.fullmatch(text) is None:
            raise ValueError("attribute %a: expected a finite decimal number such as 37.5" % name)
        return bisect_left(POINTS[field], Decimal(text))
    code = next((CODES[field][text] for text in spellings(value) if text in CODES[field]), None)
    return IN_PARTS if missing == IN_PARTS and code == len(values) - 1 else code


def spellings(value):
    """How a value may stand among the listed ones: 1 as `1` or `1.0`, true as `true`, `yes`, `1`."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, (float, Decimal)) and value == int(value):
        return (str(value), str(int(value)))
    return (str(value), "%d.0" % value) if isinstance(value, int) else (str(value),)


def main():
    """Records as CSV on standard input, answers as CSV on standard output; about the tree with --about."""
    if "--about" in sys.argv[1:]:
        print(json.dumps(ABOUT, indent=1))
        return 0
    sys.stdin.reconfigure(encoding="utf-8-sig", newline="")
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    rows = csv.DictReader(sys.stdin)
    given = derived_too({COLUMNS.get(name, name) for name in rows.fieldnames or []})
    absent = [name for name, _, _, _ in FIELDS if name not in given]
    if absent:
        sys.stderr.write("The header has no column %a.\n" % absent[0])
        return 3
    writer = csv.writer(sys.stdout)
    writer.writerow([CLASS_NAME, "share", "node", "stopped_at"])
    for number, row in enumerate(rows, start=1):
        try:
            found = predict(row)
        except ValueError as error:
            sys.stderr.write("Record %d: %s.\n" % (number, error))
            return 3
        told = (found["class"], found["share"], found["node"], found["stopped_at"] or found["parted_at"])
        writer.writerow(["" if each is None else each for each in told])
    sys.stderr.write(ABOUT["notice"] + "\n")
    if "records" in ABOUT:
        sys.stderr.write(ABOUT["records"] + "\n")
    return 0


RULES = [None if reads is None else rule_of(*reads) for reads in READS]

if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has enough, such as `head`; nothing is left to be said on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
'''
