"""The walk from a question to an answer about a patient, as people take it: by the pages, in a browser.

Journey(stage, browser, looks).whole()
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import httpx
from playwright.sync_api import Browser, expect

from tests.support.browsing import PASSWORD, address_in, code_of
from tests.support.chromium import Tab
from tests.support.clinic import CLASSES, NAMES
from tests.support.looking import Looks
from tests.support.stages import STEWARD, THREE, Stage

STUDY: Final = "inflammations"
QUESTION: Final = "Which of two inflammations of the urinary system does a patient have?"
PATIENT: Final = {"nausea": "1", "lumbar pain": "1", "urine pushing": "1"}
_LINES: Final = "\n".join(f"{name}: 0, 1" for name in NAMES)
_LIT: Final = "[...document.querySelectorAll('[role=treeitem].tree-lit')].map((item) => item.dataset.place)"
_SHOWN: Final = "document.querySelectorAll('[role=treeitem]').length"
_NOTE_CHANGES: Final = """() => {
  window.changes = {};
  document.body.addEventListener("htmx:beforeRequest", (event) => {
    const cause = event.detail.requestConfig.triggeringEvent?.type ?? "clock";
    window.changes[cause] = (window.changes[cause] ?? 0) + 1;
  });
}"""
_JOB_SECONDS: Final = 240


@dataclass
class Journey:
    """One walk. `job`: the one that was started on the way."""

    stage: Stage
    browser: Browser
    looks: Looks
    job: str = ""
    _tabs: list[Tab] = field(default_factory=list)

    def whole(self) -> None:
        """Every step."""
        for step in (
            self.sign_in_with_second_factor,
            self.create_study,
            self.approve_everywhere,
            self.start_job,
            self.watch_to_the_end,
            self.look_at_the_tree,
            self.download,
            self.try_a_patient,
        ):
            step()

        for tab in self._tabs:
            self.looks.found += tab.faults
            tab.close()

    @cached_property
    def coordinator(self) -> Tab:
        """Of cora."""
        self.stage.add_person("cora", "coordinator")
        return self._tab()

    @cached_property
    def analyst(self) -> Tab:
        """Of ana, who needs no second factor."""
        self.stage.add_person("ana", "analyst")
        tab = self._tab()
        tab.go(f"{self.stage.cloud}/sign-in?next=/jobs/{self.job}/result")
        tab.type_into({"name": "ana", "password": PASSWORD})
        tab.led_on_by(lambda: tab.page.keyboard.press("Enter"))
        assert tab.path == f"/jobs/{self.job}/result"
        return tab

    def sign_in_with_second_factor(self) -> None:
        """By keyboard: name and password, then the code of a second factor that was not there before."""
        tab = self.coordinator
        tab.go(f"{self.stage.cloud}/")
        assert tab.path == "/sign-in"
        self.looks.at(tab, "01-sign-in")
        tab.type_into({"name": "cora", "password": PASSWORD})
        tab.led_on_by(lambda: tab.page.keyboard.press("Enter"))
        self.looks.at(tab, "02-second-factor", weigh=False)
        code = code_of(address_in(tab.page.content()))
        tab.type_into({"password": PASSWORD, "code": code})
        tab.led_on_by(lambda: tab.page.keyboard.press("Enter"))
        assert tab.path == "/"
        self.looks.at(tab, "03-overview", weigh=False)

    def create_study(self) -> None:
        """Question, records, hospitals, mode, rules, summary."""
        tab, page = self.coordinator, self.coordinator.page
        tab.go(f"{self.stage.cloud}/studies/new")
        page.fill("#question", QUESTION)
        page.fill("#id", STUDY)
        page.check("#synthetic-yes")
        self._next("04-study-question")
        page.fill("#lines", _LINES)
        page.fill("#class_name", "diagnosis")
        page.fill("#class_labels", ", ".join(CLASSES))
        self._next("05-study-records")
        for name in THREE:
            page.check(f"#members-{name}")
        page.fill("#records", "120")
        self._next("06-study-hospitals")
        page.check("#profiles-hardened")
        self._next("07-study-mode")
        for name in ("min_node", "min_child"):
            page.fill(f"#{name}", "1")
        page.fill("#max_depth", "6")
        page.check("#disclosure-counts")
        page.check("#publish_tree-yes")
        self._next("08-study-rules")
        self.looks.at(tab, "09-study-summary", weigh=False)
        tab.led_on_by(lambda: page.click("form[action$='/create'] button"))
        assert tab.path == f"/studies/{STUDY}"
        expect(page.locator("main")).to_contain_text(QUESTION)
        self.looks.at(tab, "10-study", weigh=False)

    def _next(self, name: str) -> None:
        tab, before = self.coordinator, self.coordinator.path
        self.looks.at(tab, name, weigh=False)
        tab.led_on_by(lambda: tab.page.click("button[value=next]"))
        assert tab.path != before, tab.page.locator("main").inner_text()

    def approve_everywhere(self) -> None:
        """Each steward at home; the first by keyboard alone, the others by mouse."""
        for name in THREE:
            self._approve(name, self._tab())
        self._house.go(f"{self.stage.houses[THREE[0]]}/house/studies/{STUDY}")
        self.looks.at(self._house, "13-house-approved")

    def _approve(self, name: str, tab: Tab) -> None:
        page, is_first = tab.page, name == THREE[0]
        self._until_asked(tab, self.stage.houses[name])
        if is_first:
            self.looks.at(tab, "11-house-study")
        tab.led_on_by(lambda: page.click(f"a[href='/house/studies/{STUDY}/approve']"))
        if is_first:
            self.looks.at(tab, "12-house-approve", weigh=False)
            tab.type_into({"person": STEWARD, "password": PASSWORD})
            tab.tab_to("section.binding button")
            tab.led_on_by(lambda: page.keyboard.press("Enter"))
        else:
            page.fill("#person", STEWARD)
            page.fill("#password", PASSWORD)
            tab.led_on_by(lambda: page.click("section.binding button"))
        assert tab.path == f"/house/studies/{STUDY}"
        expect(page.locator("main")).to_contain_text("pproved")

    def _until_asked(self, tab: Tab, house: str) -> None:
        """The agent is asked over its own connection, some time after the study was made."""
        self._until(lambda: tab.context.request.get(f"{house}/house/studies/{STUDY}").ok)
        tab.go(f"{house}/house/studies/{STUDY}")

    @staticmethod
    def _until(holds: Callable[[], bool], seconds: float = 60) -> None:
        """Look again and again, without drawing a page each time."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"not so after {seconds} s"
            time.sleep(0.05)

    def start_job(self) -> None:
        """As soon as the cloud has heard of all approvals; looked at before, confirmed after."""
        tab, page = self.coordinator, self.coordinator.page
        form = f"{self.stage.cloud}/studies/{STUDY}/jobs/new"
        free = re.compile(r'name="invited" value="\w+"(?! disabled)')
        self._until(lambda: len(free.findall(tab.context.request.get(form).text())) == len(THREE))
        tab.go(form)
        for name in THREE:
            page.check(f"#invited-{name}")
        self.looks.at(tab, "14-job-new")
        tab.led_on_by(lambda: page.click("button[value=check]"))
        self.looks.at(tab, "15-job-check", weigh=False)
        with self.stage.silent(THREE[-1]):
            tab.led_on_by(lambda: page.click("button[value=start]"))
            assert re.fullmatch(r"/jobs/[0-9a-f]+", tab.path), tab.path
            self.job = tab.path.rpartition("/")[2]
            self._begin_to_watch()

    def _begin_to_watch(self) -> None:
        """While one hospital is silent: the page says for whom the job waits."""
        page = self.coordinator.page
        page.evaluate(_NOTE_CHANGES)
        expect(page.locator("#now .panels")).to_contain_text(THREE[-1])
        expect(page.locator("#now progress")).to_be_visible()
        self.looks.at(self.coordinator, "16-job-waits", weigh=False)

    def watch_to_the_end(self) -> None:
        """The page changes by itself: it is never loaded again, and the stream tells it, not the clock."""
        page = self.coordinator.page
        done = page.locator(f"#now a[href='/jobs/{self.job}/result']")
        expect(done).to_be_visible(timeout=_JOB_SECONDS * 1000)
        changes = page.evaluate("window.changes")
        assert changes is not None, "the page was loaded again"
        assert changes["sse:changed"] >= 1, f"the stream told nothing: {changes}"
        expect(page.locator("[data-notice]")).to_have_count(0)  # that the job is started is news no more
        if self.looks.is_thorough:  # spoken aloud, though not at once
            expect(page.locator("[role=status][data-announce-here]")).to_contain_text(
                "finished", timeout=8000
            )
        self.looks.at(self.coordinator, "17-job-done", weigh=False)
        self.coordinator.led_on_by(done.click)
        self.looks.at(self.coordinator, "18-result", weigh=False)

    def look_at_the_tree(self) -> None:
        """Collapse, hover, highlight, search; and the same by keys."""
        tab, page = self.analyst, self.analyst.page
        tab.go(f"{self.stage.cloud}/jobs/{self.job}/tree")
        every = page.evaluate(_SHOWN)
        assert every > len(CLASSES)
        page.click("[data-tree-do=close]")
        assert page.evaluate(_SHOWN) == 1
        page.click("[data-tree-do=open]")
        assert page.evaluate(_SHOWN) == every
        page.locator("[role=treeitem]").last.hover()
        expect(page.locator("[data-tree-details]")).to_contain_text("Answers")
        page.locator("[data-tree-rule]").first.click()
        assert len(page.evaluate(_LIT)) >= 2
        page.fill("[data-tree-search] input", "both")
        expect(page.locator("[data-tree-hits]")).to_contain_text(" of ")
        self.looks.at(tab, "19-tree")
        self._walk_the_tree_by_keys(every)

    def _walk_the_tree_by_keys(self, every: int) -> None:
        tab, page = self.analyst, self.analyst.page
        page.reload()
        tab.tab_to("[role=treeitem]")
        assert page.evaluate("document.activeElement.dataset.place") == "0"
        assert page.evaluate("document.activeElement.getAttribute('aria-label')")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.place") != "0"
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(_SHOWN) == 1
        page.keyboard.press("ArrowRight")
        assert page.evaluate(_SHOWN) == every

    def download(self) -> None:
        """The picture from the picture, the files from the page of files."""
        page = self.analyst.page
        self._is_svg(self._saved(lambda: page.click("[data-tree-do=svg]")))
        self.analyst.go(f"{self.stage.cloud}/jobs/{self.job}/downloads")
        self.looks.at(self.analyst, "20-downloads")
        tree = json.loads(self._saved(lambda: page.click("a[href$='/downloads/json']")).read_text())
        assert all(word in json.dumps(tree) for word in (CLASSES[1], NAMES[1]))
        pmml = ElementTree.parse(self._saved(lambda: page.click("a[href$='/downloads/pmml']"))).getroot()
        assert pmml.tag.endswith("}PMML")
        self._is_svg(self._saved(lambda: page.click("a[href$='/downloads/svg']")))

    def _saved(self, click: Callable[[], Any]) -> Path:
        with self.analyst.page.expect_download() as saving:
            click()
        return saving.value.path()

    @staticmethod
    def _is_svg(path: Path) -> None:
        assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"

    def try_a_patient(self) -> None:
        """At a hospital: the answer is the API's, and its path is lit."""
        tab, page, house = self._house, self._house.page, self.stage.houses[THREE[0]]
        form = f"{house}/house/models/{self.job}/try"
        self._until(lambda: tab.context.request.get(form).ok)  # it keeps the tree once it has verified it
        tab.go(form)
        for name, value in PATIENT.items():
            page.get_by_label(name, exact=True).select_option(label=value)
        tab.led_on_by(lambda: page.click(f"form[action*='/{self.job}/try'] button"))
        self.looks.at(tab, "21-patient", weigh=False)
        asked = httpx.post(f"{house}/v1/models/{self.job}/predict", json={"record": PATIENT}, trust_env=False)
        assert asked.status_code == 200, asked.text
        (answer,) = asked.json()["predictions"]
        assert page.locator("#answer-heading strong").inner_text() == answer["class"]
        assert len(page.evaluate(_LIT)) == len(answer["steps"]) + 1
        assert not any(value in page.url for value in PATIENT)

    @property
    def _house(self) -> Tab:
        return self._tabs[1]

    def _tab(self) -> Tab:
        self._tabs.append(Tab.open(self.browser, weighs=self.looks.is_thorough))
        return self._tabs[-1]
