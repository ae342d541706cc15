"""A ward's resources for the acute inflammations: a mapping, a patient's Bundle, and a clinical system that asks."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

LOINC = "http://loinc.org"
SCT = "http://snomed.info/sct"
ICD = "http://hl7.org/fhir/sid/icd-10"
UCUM = "http://unitsofmeasure.org"
PATIENT = "pat-7f3a"
ISSUER = "https://ehr.hospital.example"
MAPPING: dict[str, Any] = {
    "v": 1,
    "name": "inflammations",
    "attributes": [
        {
            "name": "nausea",
            "resource": "Condition",
            "take": "present",
            "codes": [f"{ICD}|R11*"],
            "present": "1",
            "absent": "0",
        },
        {
            "name": "lumbar pain",
            "resource": "Observation",
            "take": "value",
            "codes": [f"{SCT}|279039007"],
            "values": [{"value": "1", "texts": ["true"]}, {"value": "0", "texts": ["false"]}],
        },
        {
            "name": "urine pushing",
            "resource": "Observation",
            "take": "value",
            "codes": [f"{LOINC}|98000-1"],
            "unit": "1",
            "bins": {"cuts": ["2"], "values": ["0", "1"]},
        },
        {
            "name": "micturition pains",
            "resource": "QuestionnaireResponse",
            "take": "value",
            "link": "pain",
            "questionnaire": "https://hospital.example/Questionnaire/urology",
            "values": [
                {"value": "1", "codes": [f"{SCT}|373066001"]},
                {"value": "0", "other": True},
            ],
        },
        {
            "name": "burning of urethra",
            "resource": "MedicationRequest",
            "take": "present",
            "codes": ["http://www.nlm.nih.gov/research/umls/rxnorm|7980"],
            "present": "1",
            "absent": "0",
            "drafts": True,
        },
    ],
}


def subject(patient: str = PATIENT) -> dict[str, Any]:
    """Whose resource it is."""
    return {"reference": f"Patient/{patient}"}


def observation(code: tuple[str, str], date: str, **more: Any) -> dict[str, Any]:
    """A final Observation."""
    known = {
        "resourceType": "Observation",
        "id": more.pop("id", f"o-{date}"),
        "status": "final",
        "code": {"coding": [{"system": code[0], "code": code[1]}]},
        "subject": subject(),
        "effectiveDateTime": date,
    }
    return known | more


LUMBAR = observation((SCT, "279039007"), "2026-11-20", id="lumbar", valueBoolean=True)
PUSHING = observation(
    (LOINC, "98000-1"),
    "2026-11-21",
    id="pushing",
    valueQuantity={"value": 7, "unit": "1", "system": UCUM, "code": "1"},
)
NAUSEA = {
    "resourceType": "Condition",
    "id": "nausea",
    "code": {"coding": [{"system": ICD, "code": "R11.2"}]},
    "subject": subject(),
    "recordedDate": "2026-11-01",
    "verificationStatus": {
        "coding": [
            {"system": "http://terminology.hl7.org/CodeSystem/condition-ver-status", "code": "confirmed"}
        ]
    },
}
ANSWERS = {
    "resourceType": "QuestionnaireResponse",
    "id": "urology",
    "status": "completed",
    "questionnaire": "https://hospital.example/Questionnaire/urology|2",
    "subject": subject(),
    "authored": "2026-11-22T09:30:00+01:00",
    "item": [
        {
            "linkId": "symptoms",
            "item": [{"linkId": "pain", "answer": [{"valueCoding": {"system": SCT, "code": "373066001"}}]}],
        }
    ],
}
DRAFT = {
    "resourceType": "MedicationRequest",
    "id": "draft-1",
    "status": "draft",
    "intent": "order",
    "medicationCodeableConcept": {
        "coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "7980"}]
    },
    "subject": subject(),
}
WORDS: dict[str, str] = {"nausea": "1", "lumbar pain": "1", "urine pushing": "1", "micturition pains": "1"}


def bundle(*resources: dict[str, Any], kind: str = "searchset") -> dict[str, Any]:
    """A Bundle of these."""
    return {"resourceType": "Bundle", "type": kind, "entry": [{"resource": one} for one in resources]}


def prefetch(**changes: Any) -> dict[str, Any]:
    """What a client sends along for the service of the mapping."""
    known = {
        "conditions": bundle(NAUSEA),
        "observations": bundle(LUMBAR, PUSHING),
        "questionnaireresponses": bundle(ANSWERS),
        "medicationrequests": None,
    }
    return known | changes


def question(hook: str = "patient-view", **changes: Any) -> dict[str, Any]:
    """A request of CDS Hooks, of a client that writes a member of version 3.0 too."""
    context: dict[str, Any] = {"userId": "Practitioner/9", "patientId": PATIENT, "encounterId": "e-1"}
    if hook == "order-select":
        context |= {
            "selections": ["MedicationRequest/draft-1"],
            "draftOrders": bundle(DRAFT, kind="collection"),
        }
    known = {
        "hook": hook,
        "hookInstance": str(uuid.uuid4()),
        "context": context,
        "prefetch": prefetch(),
        "extension": {"com.example.later": True},
    }
    return known | changes


def services_file(folder: Path, model: str, study: str, *, clients: bool = False, **changes: Any) -> Path:
    """The file of services, and what it names, in a folder."""
    (folder / "mapping.json").write_text(json.dumps(changes.pop("mapping", MAPPING)))
    lines = [f'[[mappings]]\nstudy = "{study}"\nfile = "mapping.json"\n']
    for hook in ("patient-view", "order-select"):
        lines.append(
            f'[[services]]\nid = "bladder-{hook}"\nhook = "{hook}"\nmodel = "{model}"\ntitle = "Acute inflammations"\n'
            f'description = "What patients with such findings had."\nuncovered = "{changes.get("uncovered", "card")}"\n'
            'usage_requirements = "Needs the urology questionnaire."\n'
            'topic = {system = "https://hospital.example/topics", code = "urology", display = "Urology"}\n'
        )
    if clients:
        (folder / "ehr.jwks.json").write_text(json.dumps({"keys": [KEY.as_dict(private=False)]}))
        lines.append(f'[[clients]]\niss = "{ISSUER}"\njwks = "ehr.jwks.json"\n')
    path = folder / "services.toml"
    path.write_text("\n".join(lines))
    return path


KEY = ECKey.generate_key("P-384", parameters={"kid": "k1", "use": "sig", "alg": "ES384"})


def token(
    audience: str, now: int, key: Any = KEY, header: dict[str, Any] | None = None, **changes: Any
) -> str:
    """A client's token for an address. `changes`: to the claims; None takes one out."""
    claims = {
        "iss": ISSUER,
        "aud": audience,
        "iat": now,
        "exp": now + 300,
        "jti": str(uuid.uuid4()),
    } | changes
    told = {"alg": "ES384", "kid": "k1", "typ": "JWT"} | (header or {})
    return jwt.encode(
        told,
        {name: value for name, value in claims.items() if value is not None},
        key,
        algorithms=[told["alg"]],
    )
