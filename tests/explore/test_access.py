"""Who may talk to the server of explore."""

from __future__ import annotations

import http.client
from contextlib import closing

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from equirl.lab.explore.access import Gate
from explore_kit import PATIENCE, running

TOKEN = "s3cret-token"


def objection(gate=None, kind="http", method="GET", path="/", query="", **headers):
    gate = gate or Gate(None, TOKEN, 8642)
    headers = {"host": "127.0.0.1:8642", **headers}
    held = [(name.encode(), value.encode()) for name, value in headers.items() if value is not None]
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "headers": held}
    return gate.objection(scope)


def test_the_token_opens_the_gate():
    assert objection(query=f"token={TOKEN}") is None
    assert objection(path=f"/static/{TOKEN}/main.js") is None
    own = "http://127.0.0.1:8642"
    assert objection(kind="websocket", query=f"token={TOKEN}", origin=own) is None


@pytest.mark.parametrize(
    "query",
    ["", "token=", "token=wrong", f"token={TOKEN}x", f"token=x&token={TOKEN}", f"other={TOKEN}", "token=%00%ff"],
)
def test_without_the_token_nothing_opens(query):
    assert "token" in objection(query=query)


@pytest.mark.parametrize("path", ["/static/wrong/main.js", f"/{TOKEN}/main.js", f"/static//{TOKEN}", "/static/", "/"])
def test_a_file_needs_the_token_in_its_path(path):
    assert "token" in objection(path=path)


@pytest.mark.parametrize(
    "host",
    ["evil.example:8642", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8642.evil.example", "", "[::1", "127.0.0.1:x", None],
)
def test_a_name_that_is_not_this_servers_is_refused(host):
    assert "name" in objection(query=f"token={TOKEN}", host=host)


@pytest.mark.parametrize("host", ["localhost:8642", "LOCALHOST:8642", "[::1]:8642"])
def test_loopback_has_several_names(host):
    assert objection(query=f"token={TOKEN}", host=host) is None


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:8642.evil"])
def test_another_page_is_refused_even_with_the_token(kind, origin):
    assert "another page" in objection(kind=kind, query=f"token={TOKEN}", origin=origin)


def test_a_socket_must_say_where_it_comes_from():
    assert "which page" in objection(kind="websocket", query=f"token={TOKEN}")


def test_nothing_is_posted_here():
    assert objection(method="POST", query=f"token={TOKEN}") is not None


def test_beyond_loopback_addresses_and_the_machines_name_are_names():
    gate = Gate(None, TOKEN, 8642, "0.0.0.0")
    assert objection(gate, query=f"token={TOKEN}", host="192.168.1.7:8642") is None
    assert "name" in objection(gate, query=f"token={TOKEN}", host="evil.example:8642")


@pytest.fixture(scope="module")
def server():
    with running() as found:
        yield found


def fetched(server, path, method="GET", **headers):
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as line:
        line.request(method, path, headers={"Host": f"127.0.0.1:{server.port}", **headers})
        with line.getresponse() as answer:
            return answer.status, dict(answer.getheaders()), answer.read()


def test_the_page_and_its_files_are_handed_out_with_strict_headers(server):
    status, headers, body = fetched(server, f"/?token={server.token}")
    assert status == 200
    assert b"<!doctype html>" in body
    assert b"{{" not in body
    assert "default-src 'none'" in headers["content-security-policy"]
    for name in server.static:
        status, headers, body = fetched(server, f"/static/{server.token}/{name}")
        assert (status, body) == (200, server.static[name])
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/static/{}/../index.html", "/static/{}/..%2f..%2fpage_link.py", "/static/{}/%2e%2e/access.py",
     "/static/{}//etc/passwd", "/static/{}/main.js%00", "/static/{}/nothing.js", "/docs?token={}",
     "/openapi.json?token={}"],
)  # fmt: skip
def test_no_other_file_is_handed_out(server, path):
    status, _, body = fetched(server, path.format(server.token))
    assert status in (403, 404)
    assert b"import" not in body


def test_refusals_say_why(server):
    assert fetched(server, "/")[0] == 403
    assert b"open the address that equirl explore printed" in fetched(server, "/?token=wrong")[2]
    assert fetched(server, f"/?token={server.token}", "POST")[0] == 403


def test_a_wrong_socket_is_refused_before_it_opens(server):
    own = f"http://127.0.0.1:{server.port}"
    wrong = [(server.token, "http://evil.example"), ("wrong", own), ("", own), (server.token, None)]
    for token, origin in wrong:
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(f"ws://127.0.0.1:{server.port}/page?token={token}", origin=origin, proxy=None),
        ):
            pass


def test_nothing_on_the_page_leads_to_another_host(server):
    for name, content in server.static.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        assert "//cdn" not in text, name
