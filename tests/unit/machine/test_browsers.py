"""What browsers are given: cookies that no script sees, and files that never run as a page."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from machine.browsers import file_of, hand_cookie, json_file


@pytest.mark.parametrize("is_https", [False, True])
@pytest.mark.parametrize("is_lax", [False, True])
def test_no_script_sees_a_cookie_and_no_other_site_has_it_sent(is_https: bool, is_lax: bool) -> None:
    answer = Response()
    hand_cookie(answer, "name", "value", is_https=is_https, is_lax=is_lax)
    parts = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "path=/", "samesite=lax" if is_lax else "samesite=strict"} <= parts
    assert ("secure" in parts) is is_https
    assert not any(part.startswith(("max-age", "expires", "domain")) for part in parts)


def test_a_file_is_kept_and_never_shown() -> None:
    for answer in (
        file_of(b"<script>", "page-1.html", "text/html"),
        json_file({"name": "Müller"}, "page-1.html"),
    ):
        assert answer.headers["content-disposition"] == 'attachment; filename="page-1.html"'
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    assert "Müller".encode() in bytes(answer.body)
