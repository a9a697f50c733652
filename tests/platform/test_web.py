"""The page of the web UI, its files, and what a request leaves in the log."""

import gzip
import logging
from pathlib import Path

import pytest
from django.test import AsyncClient, Client
from pytest_django.fixtures import Settings

PAGES = (
    "/",
    "/login",
    "/signup",
    "/reset",
    "/reset/a-key",
    "/verify/a-key",
    "/c/01a23217-d9cb-7701-a15d-c3aca6caf685",
)
SCRIPT = "app/assets/index-Ab3_-9xZ.js"


@pytest.fixture
def dist(settings: Settings, tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>built</title>")
    script = tmp_path / "assets/index-Ab3_-9xZ.js"
    script.write_text("let it = 1;" * 50)
    script.with_suffix(".js.gz").write_bytes(gzip.compress(script.read_bytes()))
    settings.FRONTEND_DIST = tmp_path
    settings.STATICFILES_DIRS = [("app", tmp_path)]
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_ui_is_the_one_file(client: Client, dist: Path, page: str) -> None:
    response = client.get(page)
    assert response.content == b"<title>built</title>"
    assert "no-store" in response["Cache-Control"]
    assert response.cookies["csrftoken"].value
    assert "default-src 'self'" in response["Content-Security-Policy"]


def test_a_new_build_is_served_at_once(client: Client, dist: Path) -> None:
    client.get("/")
    page = dist / "index.html"
    page.write_text("<title>again</title>")
    assert client.get("/").content == b"<title>again</title>"


def test_a_ui_that_was_not_built_says_what_to_do(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    response = client.get("/")
    assert response.status_code == 503
    assert b"make up" in response.content


def test_other_addresses_are_not_the_page(client: Client, dist: Path) -> None:
    assert client.get("/c/not-a-key").status_code == 404
    assert client.post("/login").status_code == 405


def test_hashed_files_are_kept_forever_and_come_compressed(client: Client, dist: Path) -> None:
    response = client.get(f"/static/{SCRIPT}", headers={"accept-encoding": "gzip"})
    body = b"".join(response)  # whitenoise streams it
    assert gzip.decompress(body) == (dist / "assets/index-Ab3_-9xZ.js").read_bytes()
    assert response["Content-Encoding"] == "gzip"
    assert "immutable" in response["Cache-Control"]


async def test_files_come_whole_over_asgi(dist: Path) -> None:
    response = await AsyncClient().get(f"/static/{SCRIPT}")
    assert response.content == (dist / "assets/index-Ab3_-9xZ.js").read_bytes()
    assert response["Content-Type"].startswith("text/javascript")
    assert (await AsyncClient().get("/static/app/none.js")).status_code == 404


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [record.msg for record in caplog.records if isinstance(record.msg, dict)]


async def test_a_request_leaves_one_line_with_its_id_and_no_key(
    caplog: pytest.LogCaptureFixture, dist: Path
) -> None:
    with caplog.at_level(logging.INFO):
        response = await AsyncClient().get("/reset/a-secret-key?q=private+words")
    [line] = [entry for entry in logged(caplog) if entry["event"] == "request_finished"]
    assert line["request_id"] == response["X-Request-ID"]
    assert (line["method"], line["route"], line["status"]) == ("GET", "reset/<path:key>", 200)
    assert "a-secret-key" not in caplog.text
    assert "private" not in caplog.text


async def test_a_refusal_leaves_one_line_too_and_no_key(caplog: pytest.LogCaptureFixture, dist: Path) -> None:
    with caplog.at_level(logging.INFO):
        assert (await AsyncClient().delete("/verify/a-secret-key")).status_code in {403, 405}
        assert (await AsyncClient().get("/nowhere/a-secret-key")).status_code == 404
        assert (await AsyncClient().get("/api/v1/conversations/a-secret-key")).status_code == 404
    assert len([entry for entry in logged(caplog) if entry["event"] == "request_finished"]) == 3
    assert "a-secret-key" not in caplog.text
