"""Strangers are kept out: other pages, other names, other machines, and files that are not images of the run."""

import json
import os
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from legogcd.review.app import build_app
from legogcd.review.guard import MOST_BYTES, Guard
from legogcd.review.serve import hosts_of, is_local
from legogcd.review.session import Session
from legogcd.run.discovery import read_predictions

HOST = "127.0.0.1:8765"
PATHS = ["/", "/api/state", "/api/order?group=blue", "/api/images?ids=0", "/api/columns", "/api/map", "/api/queue"]
PATHS += ["/api/similar?ids=0", "/api/proposals?group=blue", "/api/round", "/api/events", "/thumb/0", "/image/0"]
WRITING = ["/api/edits", "/api/undo", "/api/redo", "/api/round", "/api/round/cancel", "/api/open_round", "/api/import"]


@pytest.fixture
def client(location) -> TestClient:
    """Nobody yet: no cookie, no origin."""
    return TestClient(Guard(build_app(Session(location, prepare=False)), [HOST], "right"), base_url=f"http://{HOST}")


def opened(client: TestClient) -> TestClient:
    client.get("/?token=right")
    return client


def test_every_path_is_there_in_the_list_of_those_tried(page) -> None:
    served = {route.path for route in page.client.app.app.routes if hasattr(route, "methods")}
    tried = {path.partition("?")[0] for path in [*PATHS, *WRITING]}
    named = {path.replace("{number}", "0").replace("{path:path}", "") for path in served}
    assert named == tried


def test_without_the_token_nothing_answers(client) -> None:
    for path in PATHS:
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert "legogcd review" in answer.json()["error"]
    for path in WRITING:
        assert client.post(path, json={}, headers={"origin": f"http://{HOST}"}).status_code == 401
    for wrong in ("", "wrong", "right ", "RIGHT", "%00", "é"):
        assert client.get("/", params={"token": wrong}).status_code == 401
    assert client.get("/api/state?token=right").status_code == 401, "the key opens the front door only"


def test_the_token_gives_a_cookie_no_script_and_no_other_page_can_use(client) -> None:
    answer = client.get("/?token=right", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "right" not in cookie
    assert client.get("/api/state").status_code == 200
    client.cookies.clear()
    for value in ("", "wrong", '"', "a;b", "\\"):
        assert client.get("/api/state", headers={"cookie": f"legogcd-review-8765={value}"}).status_code == 401


def test_a_foreign_host_is_refused_with_the_right_cookie_too(client) -> None:
    opened(client)
    for host in ("evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", f"{HOST}.evil", ""):
        assert client.get("/api/state", headers={"host": host}).status_code == 421, host
        assert client.get("/?token=right", headers={"host": host}).status_code == 421, host


def test_another_origin_changes_nothing(client, location) -> None:
    opened(client)
    for origin in (
        None,
        "null",
        "https://evil.example",
        f"https://{HOST}",
        "http://127.0.0.1:1",
        f"http://{HOST}.evil",
    ):
        headers = {} if origin is None else {"origin": origin}
        for path in WRITING:
            assert client.post(path, json={}, headers=headers).status_code == 403, (origin, path)
    assert not (location.run / "edits.jsonl").exists()


def test_requests_that_browsers_mark_as_cross_site_are_refused(client) -> None:
    opened(client)
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert client.get("/api/state", headers={"sec-fetch-site": site}).status_code == status
        assert client.get("/thumb/0", headers={"sec-fetch-site": site}).status_code == status


def test_forms_and_other_methods_are_refused(client) -> None:
    opened(client)
    same = {"origin": f"http://{HOST}"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = client.post("/api/undo", content=b"{}", headers={**same, "content-type": kind})
        assert answer.status_code == 415
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.request(method, "/api/state", headers=same).status_code == 405


def test_bodies_are_bounded_whatever_length_they_claim(client) -> None:
    opened(client)
    same = {"origin": f"http://{HOST}", "content-type": "application/json"}
    assert client.post("/api/import", content=b" " * (MOST_BYTES + 1), headers=same).status_code == 413
    pieces = (b" " * 1_000_000 for _ in range(6))  # sent without a length
    assert client.post("/api/import", content=pieces, headers=same).status_code == 413
    for length in ("-1", "1e9", "\xb2".encode("latin-1"), "99999999999999999999"):
        assert client.post("/api/undo", content=b"{}", headers={**same, "content-length": length}).status_code == 413
    text = "path,label\n" + "x" * (MOST_BYTES - 1000)
    answer = client.post("/api/import", content=json.dumps({"name": "a", "text": text}).encode(), headers=same)
    assert answer.status_code == 422, "large, but not too large"


FOREIGN = [
    "/../guard.py",
    "/..%2f..%2fguard.py",
    "/%2e%2e/%2e%2e/pyproject.toml",
    "/static/..%5c..%5cguard.py",
    "//etc/passwd",
    "/%2fetc%2fpasswd",
    "/thumb/..%2f..%2fetc%2fpasswd",
    "/thumb/%00",
    "/thumb/1e3",
    "/image/0/../../../etc/passwd",
    "/image/blue%2f00.png",
    "/api/images?ids=0,/etc/passwd",
    "/api/similar?ids=../../etc/passwd",
    "/docs",
    "/openapi.json",
]


def test_no_path_of_the_browser_is_opened(client) -> None:
    opened(client)
    for path in FOREIGN:
        answer = client.get(path)
        assert answer.status_code in (404, 422), (path, answer.status_code, answer.text[:100])
        assert "root:" not in answer.text
        assert answer.json()["error"]


def test_links_and_names_that_lead_out_of_the_images_are_not_followed(location, another_page, tmp_path) -> None:
    secret = tmp_path / "secret.png"
    inside = Path(location.images) / read_predictions(location.run)["path"][0]
    secret.write_bytes(inside.read_bytes())
    table = (location.run / "predictions.csv").read_text()
    (location.run / "manifest.json").unlink()
    (location.run / "predictions.csv").write_text(
        table.replace("blue/00.png", os.path.relpath(secret, location.images))
    )
    page = another_page(location)
    for path in ("/thumb/0", "/image/0"):
        answer = page.client.get(path)
        assert answer.status_code == 404, answer.text
        assert "secret" not in answer.text


def test_every_answer_forbids_what_a_page_does_not_need(client) -> None:
    def checked(answer) -> None:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy, "nothing comes from elsewhere"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers

    checked(client.get("/api/state"))
    opened(client)
    for path in (path for path in PATHS if path != "/api/events"):
        checked(client.get(path))
    checked(client.get("/nothing"))
    checked(client.post("/api/undo", json={}, headers={"origin": "null"}))


def test_hostile_names_are_text_in_json(client, location) -> None:
    opened(client)
    hostile = '</script><img src=x onerror="alert(1)">\u2028'.replace("\u2028", "")
    edit = {"edit": "move", "images": [0], "into": hostile}
    answer = client.post("/api/edits", json={"version": 0, "edit": edit}, headers={"origin": f"http://{HOST}"})
    assert answer.headers["content-type"] == "application/json"
    assert hostile in [group["id"] for group in answer.json()["state"]["groups"]]
    assert client.get("/api/order", params={"group": hostile}).json()["ids"] == [0]
    missing = client.get("/api/order", params={"group": "<b>nobody</b>"})
    assert missing.status_code == 422
    assert missing.headers["content-type"] == "application/json"


def test_the_page_itself_has_no_script_or_style_inside_and_asks_nobody_else(client) -> None:
    text = opened(client).get("/").text
    assert "<script>" not in text
    assert "<style" not in text
    assert " onclick=" not in text
    assert "//" not in text.replace("<!doctype", "").replace("http://www.w3.org", "")


def test_only_this_machine_unless_the_user_insists(run_cli, location) -> None:
    assert is_local("127.0.0.1")
    assert is_local("::1")
    assert is_local("localhost")
    assert not is_local("0.0.0.0")
    assert not is_local("192.168.1.5")
    done = run_cli("review", location.run, "--images", location.images, "--host", "0.0.0.0", "--no-browser")
    assert done.exit_code == 2
    assert "--expose" in done.stderr
    assert hosts_of("127.0.0.1", 80) == ["127.0.0.1:80", "localhost:80", "[::1]:80"]
    assert f"{socket.gethostname()}:80" in hosts_of("0.0.0.0", 80)
    assert "evil:80" not in hosts_of("0.0.0.0", 80)
