"""From a question to an answer about a patient, in Chromium: the whole way, by the pages alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chromium import needs_chromium, opened_browser
from tests.support.journey import Journey
from tests.support.looking import SCREENSHOTS, Looks
from tests.support.programs import Founded
from tests.support.stages import stage_in_threads, stage_of_programs

pytestmark = needs_chromium


def test_from_a_question_to_an_answer(tmp_path: Path) -> None:
    with stage_in_threads(tmp_path) as stage, opened_browser() as browser:
        looks = Looks(SCREENSHOTS)
        Journey(stage, browser, looks).whole()
        looks.check()


@pytest.mark.long
def test_the_same_with_programs_as_people_run_them(founded_federation: Founded, tmp_path: Path) -> None:
    looks = Looks(SCREENSHOTS, is_thorough=True)
    with stage_of_programs(founded_federation, tmp_path) as stage, opened_browser() as browser:
        Journey(stage, browser, looks).whole()
    looks.check()
