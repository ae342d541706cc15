"""Made-up patients, told in three ways: as OMOP tables, as FHIR resources, and as the flat table both should become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COLUMNS = ("sex", "age", "hypertension", "hba1c", "heart_failure")


@dataclass(frozen=True, slots=True)
class Patient:
    """`hba1c`: (date, percent), in any order; the latest counts."""

    sex: str
    born: int
    hypertension: bool
    heart_failure: bool
    hba1c: tuple[tuple[str, str], ...] = ()

    def flat(self) -> tuple[str, ...]:
        """One row of the flat table, a missing measurement empty."""
        latest = max(self.hba1c)[1] if self.hba1c else ""
        words = {True: "yes", False: "no"}
        return (self.sex, str(2025 - self.born), words[self.hypertension], latest, words[self.heart_failure])


PATIENTS = (
    Patient("female", 1950, True, True, (("2024-03-01", "7.1"), ("2024-09-01", "8.4"))),
    Patient("male", 1961, True, True, (("2023-01-05", "6.9"),)),
    Patient("female", 1972, False, False, (("2024-05-01", "5.2"), ("2022-05-01", "9.9"))),
    Patient("male", 1980, False, False),
    Patient("female", 1945, False, True, (("2024-02-02", "7.5"),)),
    Patient("male", 1990, True, False, (("2024-02-02", "5.6"),)),
    Patient("female", 1999, False, False),
    Patient("male", 1955, True, True, (("2024-12-01", "6.5"), ("2024-11-30", "5.0"))),
)


def csv_text() -> str:
    """The flat table."""
    return "\n".join(",".join(row) for row in (COLUMNS, *(patient.flat() for patient in PATIENTS))) + "\n"


def omop_statements() -> Iterator[str]:
    """SQL that makes and fills the tables of the OMOP CDM that the recipe reads."""
    yield "CREATE TABLE person (person_id INTEGER, gender_concept_id INTEGER, year_of_birth INTEGER)"
    yield (
        "CREATE TABLE condition_occurrence "
        "(condition_occurrence_id INTEGER, person_id INTEGER, condition_concept_id INTEGER, condition_start_date DATE)"
    )
    yield "CREATE TABLE concept_ancestor (ancestor_concept_id INTEGER, descendant_concept_id INTEGER)"
    yield (
        "CREATE TABLE measurement (measurement_id INTEGER, person_id INTEGER, measurement_concept_id INTEGER, "
        "measurement_date DATE, value_as_number NUMERIC(10, 2))"
    )
    # A concept is its own descendant; 319835 stands for a narrower kind of heart failure.
    yield "INSERT INTO concept_ancestor VALUES (320128, 320128), (316139, 316139), (316139, 319835)"
    event = 0
    for person, patient in enumerate(PATIENTS, start=1):
        gender = {"male": 8507, "female": 8532}[patient.sex]
        yield f"INSERT INTO person VALUES ({person}, {gender}, {patient.born})"
        narrow = 319835 if person % 2 else 316139
        for concept, is_there in (
            (320128, patient.hypertension),
            (narrow, patient.heart_failure),
            (4000, True),
        ):
            event += 1
            if is_there:
                yield f"INSERT INTO condition_occurrence VALUES ({event}, {person}, {concept}, DATE '2024-01-01')"
        for date, percent in patient.hba1c:
            event += 1
            yield f"INSERT INTO measurement VALUES ({event}, {person}, 3004410, DATE '{date}', {percent})"
        yield f"INSERT INTO measurement VALUES ({event + 1000}, {person}, 3004410, DATE '2025-01-01', NULL)"


def fhir_files() -> dict[str, str]:
    """NDJSON as a bulk export writes it, by file name."""
    resources: dict[str, list[Any]] = {"Patient": [], "Condition": [], "Observation": []}
    for number, patient in enumerate(PATIENTS, start=1):
        subject = {"reference": f"Patient/p{number}"}
        resources["Patient"].append(
            {
                "resourceType": "Patient",
                "id": f"p{number}",
                "gender": patient.sex,
                "birthDate": f"{patient.born}-06-01",
            }
        )
        for code, is_there, status in (
            ("I10", patient.hypertension, "confirmed"),
            ("I50.9", patient.heart_failure, "confirmed"),
            ("I50.1", not patient.heart_failure, "refuted"),
        ):
            if is_there:
                resources["Condition"].append(_condition(subject, code, status))
        for date, percent in patient.hba1c:
            resources["Observation"].append(_observation(subject, date, percent, "final"))
        resources["Observation"].append(_observation(subject, "2025-01-01", "99.0", "entered-in-error"))
    return {
        f"{kind}.ndjson": "".join(json.dumps(one) + "\n" for one in found)
        for kind, found in resources.items()
    }


def _condition(subject: dict[str, str], code: str, status: str) -> dict[str, Any]:
    return {
        "resourceType": "Condition",
        "subject": subject,
        "verificationStatus": {"coding": [{"code": status}]},
        "code": {
            "coding": [
                {"system": "http://snomed.info/sct", "code": "1"},
                {"system": "http://hl7.org/fhir/sid/icd-10", "code": code},
            ]
        },
    }


def _observation(subject: dict[str, str], date: str, percent: str, status: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "status": status,
        "subject": subject,
        "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4"}]},
        "effectiveDateTime": date,
        "valueQuantity": {"value": float(percent), "unit": "%"},
    }
