"""No value of a client names a file of the machine, to be read or to be written, outside of the directory set aside for it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.security.exposed import MCP_HEADERS, Exposed, exposed, request, statuses
from tests.security.test_outward import called

SECRET = "the-content-of-another-file-8c1f"

LONG = "a" * 300

PATHS = (
    "../out.json", "a/../../out.json", "./../out.json", "..", ".", "", " ", "/", "/tmp/out.json", "//tmp/out.json", "~/out.json",
    "~root/out.json", "link/out.json", "linked.json", "folder/link/out.json", "x\u0000.json", "x\n.json", "..\\out.json",
    "C:\\out.json", "C:out.json", "\\\\host\\share\\out.json", "a\\..\\..\\out.json", LONG, "a/" * 2000 + "x", "b/" * 32 + "x",
    "folder", "folder/", "pipe", "\ud800.json", "\u202e.json", "kept.json", "kept.json/x",
)  # fmt: skip
"""Values of `outputPath`, none of which is a new file below the root."""

ENCODED = ("%2e%2e%2fout.json", "..%2fout.json", "%2Fetc%2Fx.json", "....//out.json", "…/out.json", "．．/out.json")
"""Those that only look as if: they are names of files below the root."""


def furnished(home: Path) -> Path:
    """Make a root with a way out of it in every form, and a file outside that nobody may see."""
    root, outside = home / "results", home / "outside"
    (root / "folder").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.json").write_text(f'{{"type": "{SECRET}"}}')
    (root / "link").symlink_to(outside)
    (root / "folder" / "link").symlink_to(outside)
    (root / "linked.json").symlink_to(outside / "out.json")
    (root / "kept.json").write_text("kept")
    os.mkfifo(root / "pipe")
    return root


def files(home: Path) -> set[str]:
    """Return every file there is but those of the journal."""
    return {
        str(path.relative_to(home)) for path in home.rglob("*") if not path.name.startswith(("booster.db", "owners"))
    }


def solve(server: Exposed, door: str, **fields: Any) -> Any:
    """Ask for a solve through one of the doors that take files; return status and text."""
    body = {"task": "6 * 7?", "iterations": 1, **fields}
    if door == "api":
        reply = server.client.post("/api/sessions", content=json.dumps(body), headers=MCP_HEADERS)
        return reply.status_code, reply.text
    headers = MCP_HEADERS | {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "solve"}
    reply = server.client.post("/mcp", content=json.dumps(called("solve", body)), headers=headers)
    return 400 if '"isError":true' in reply.text or reply.status_code == 400 else 200, reply.text


@pytest.mark.parametrize("door", ["api", "mcp"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_no_path_leads_out_of_the_root(tmp_path: Path, door: str, overwrite: bool) -> None:
    """Refused before anything is paid, never turned into another path, and without saying where the root is."""
    root = furnished(tmp_path)
    before = files(tmp_path)
    with exposed(tmp_path, output_root=root) as server:
        for path in PATHS:
            if path == "kept.json" and overwrite:
                continue
            status, said = solve(server, door, outputPath=path, overwrite=overwrite)

            assert status == 400, path
            assert str(tmp_path) not in said, path
        assert server.client.get("/api/sessions").json()["sessions"] == []
    assert files(tmp_path) == before
    assert (root / "kept.json").read_text() == "kept"


@pytest.mark.parametrize("door", ["api", "mcp"])
def test_what_only_looks_like_a_way_out_is_a_name_below_the_root(tmp_path: Path, door: str) -> None:
    """Nothing is decoded twice; what comes back names the file as the client did."""
    root = furnished(tmp_path)
    before = files(tmp_path)
    with exposed(tmp_path, output_root=root) as server:
        for path in ENCODED:
            status, said = solve(server, door, outputPath=path)

            assert status == 200, said
            assert str(tmp_path) not in said
    made = files(tmp_path) - before
    assert all(name.startswith("results/") for name in made)
    assert len([name for name in made if (tmp_path / name).is_file()]) == len(ENCODED)


@pytest.mark.parametrize("door", ["api", "mcp"])
def test_without_a_root_nothing_is_written(tmp_path: Path, door: str) -> None:
    """Whatever the path."""
    furnished(tmp_path)
    before = files(tmp_path)
    with exposed(tmp_path) as server:
        for path in ("out.json", "results/out.json", *PATHS[:12], *ENCODED):
            assert solve(server, door, outputPath=path)[0] == 400
    assert files(tmp_path) == before


@pytest.mark.parametrize("door", ["api", "mcp"])
def test_no_schema_is_read_from_a_file(tmp_path: Path, door: str) -> None:
    """That `@` names a file is for the command line: here it is text, and no schema."""
    furnished(tmp_path)
    secret = tmp_path / "outside" / "secret.json"
    values = [
        f"@{secret}",
        "@/etc/passwd",
        "@/dev/stdin",
        {"$ref": f"file://{secret}"},
        {"$ref": str(secret)},
        f" @{secret}",
    ]
    checks: list[Any] = [{"kind": "json_schema", "value": value} for value in values]
    checks += [
        f"json_schema:@{secret}",
        {"kind": f"json_schema:@{secret}"},
        {"kind": "json_schema", "options": {"file": str(secret)}},
    ]
    with exposed(tmp_path) as server:
        for check in checks:
            status, said = solve(server, door, checks=[check])

            assert status == 400, check
            assert SECRET not in said
            assert "root:" not in said


def test_no_address_leads_to_a_file(tmp_path: Path) -> None:
    """Neither what the viewer loads nor ids of sessions and models are paths."""
    furnished(tmp_path)
    names = (
        "../viewer.py", "..%2fviewer.py", "%2e%2e/%2e%2e/pages.py", "..%5c..%5cpages.py", "....//pages.py", "/etc/passwd", "%2fetc%2fpasswd",
        "viewer.js/../../pages.py", "viewer.js%00.css", "~root/.profile", "file:///etc/passwd", f"{tmp_path}/outside/secret.json", LONG,
    )  # fmt: skip
    bases = ("/static/", "/sessions/", "/api/sessions/", "/v1/models/", "/", "/events?sessionId=", "/scheduler/")
    with exposed(tmp_path) as server:
        for base in bases:
            for name in names:
                received = server.wire(request("GET", base + name))

                assert statuses(received)[0] in (307, 400, 404), base + name
                assert not any(text in received for text in (b"root:", b"import ", SECRET.encode(), b"site-packages"))
        for name in names:
            for ending in ("/export", "/summary"):
                assert statuses(server.wire(request("GET", f"/api/sessions/{name}{ending}")))[0] in (307, 400, 404)
