"""Requests of strangers to the server of explore: odd, half-sent, too many. None is a 500 or shuts others out."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from equirl.lab.explore.access import Arrivals
from explore_kit import running

PATIENCE = 30.0  # seconds after which a test gives up
NEVER = 3600.0
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
HANDSHAKE = UPGRADE + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def server():
    with running() as found:
        yield found


@pytest.fixture
def complaints():
    """Errors that a server logs: each would be a traceback on the terminal."""
    heard = []

    class Listener(logging.Handler):
        def emit(self, record):
            heard.append(record.getMessage())

    listener, loggers = Listener(logging.ERROR), [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(listener)
    yield heard
    for logger in loggers:
        logger.removeHandler(listener)


def line_to(server):
    return closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))


def request(server, target="/", method="GET", version="HTTP/1.1", more="", body=""):
    """The bytes of a request; {} in its target is the token."""
    head = f"{method} {target.replace('{}', server.token)} {version}\r\nHost: 127.0.0.1:{server.port}\r\n"
    return f"{head}{more}\r\n{body}".encode("latin-1")


def until_closed(line):
    """What a server sends until it hangs up."""
    got = b""
    try:
        while more := line.recv(65536):
            got += more
    except ConnectionResetError:  # it hung up on what was still on its way
        pass
    return got


def answer(line):
    """One answer, whole."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = line.recv(65536)
        assert more, got
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    size = next(int(row.split(b":")[1]) for row in head.split(b"\r\n") if row.lower().startswith(b"content-length"))
    while len(body) < size:
        body += line.recv(65536)
    return int(head.split()[1])


def status_of(server, raw):
    with line_to(server) as line:
        line.sendall(raw)
        return answer(line)


def many(n):
    return "&".join(f"a{i}=1" for i in range(n))


REFUSED = "400 or 405"  # by the version of websockets
STRANGE = {  # what is asked, and the answer
    "twelve parameters and no token": ({"target": f"/?{many(12)}"}, 403),
    "twelve parameters and the token": ({"target": f"/?{many(12)}&token={{}}"}, 200),
    "five thousand parameters": ({"target": f"/?{many(5000)}"}, 403),
    "the token five thousand times": ({"target": "/?" + "&".join(["token=x"] * 5000)}, 403),
    "a long value": ({"target": "/?token=" + "x" * 60_000}, 403),
    "a long path": ({"target": "/" + "x" * 60_000 + "?token={}"}, 404),
    "broken escapes": ({"target": "/%zz%?%=%f&token=%"}, 403),
    "escapes that are no UTF-8": ({"target": "/static/%ed%a0%80/%ff?token=%ff%fe%00"}, 403),
    "escapes that are no UTF-8, and the token": ({"target": "/%ff%00?token={}"}, 404),
    "bytes that are no ASCII": ({"target": "/?token=\xff"}, 400),
    "headers that are no ASCII": ({"more": "x: \xff\r\nOrigin: \xfe\r\n"}, 403),
    "thousands of headers": ({"more": "".join(f"x{i}: 1\r\n" for i in range(3000))}, 403),
    "no path": ({"target": "*", "method": "OPTIONS"}, 403),
    "a proxy's method": ({"target": "127.0.0.1:80", "method": "CONNECT"}, 403),
    "a method that is none": ({"method": "!#$"}, 403),
    "another version": ({"version": "HTTP/9.9"}, 403),
    "a size below nothing": ({"more": "Content-Length: -5\r\n"}, 400),
    "two sizes": ({"more": "Content-Length: 5\r\nContent-Length: 6\r\n"}, 400),
    "a body that never comes": ({"method": "POST", "more": "Content-Length: 5\r\n"}, 403),
    "a body that is none": ({"method": "POST", "more": CHUNKED, "body": "ZZZ\r\n\r\n"}, 400),
    "a body that is none, and the token": ({"target": "/?token={}", "more": CHUNKED, "body": "ZZZ\r\n\r\n"}, 400),
    "a socket with twelve parameters": ({"target": f"/page?{many(12)}", "more": HANDSHAKE}, 403),
    "a socket without a key": ({"target": "/page?token={}", "more": UPGRADE}, 400),
    "a socket that posts": ({"target": "/page", "method": "POST", "more": HANDSHAKE}, REFUSED),
    "a socket with a long path": ({"target": "/page?token=" + "x" * 9000, "more": HANDSHAKE}, 400),
    "a socket with a body": ({"target": "/page", "more": HANDSHAKE + "Content-Length: 5\r\n"}, 400),
    "a socket with many headers": (
        {"target": "/page", "more": HANDSHAKE + "".join(f"x{i}: 1\r\n" for i in range(300))}, 400,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STRANGE)
def test_a_strange_request_is_answered_and_no_error_of_the_server(server, complaints, case):
    asked, status = STRANGE[case]
    with line_to(server) as line:
        line.sendall(request(server, **asked))
        found = line.recv(65536)
        if status not in (200, 404):  # a stranger keeps no connection
            found += until_closed(line)
    told = int(found.split()[1])
    assert told in (400, 405) if status == REFUSED else told == status
    assert status_of(server, request(server, "/?token={}")) == 200
    assert complaints == []


@pytest.mark.parametrize("raw", [b"\0" * 100, b"\r\n" * 3, b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"x" * 99])
def test_bytes_that_are_no_request_are_a_400(server, complaints, raw):
    with line_to(server) as line:
        line.sendall(raw)
        assert until_closed(line).startswith(b"HTTP/1.1 400")
    assert complaints == []


def test_nonsense_after_a_request_ends_the_connection_without_an_error(server, complaints):
    with line_to(server) as line:
        line.sendall(request(server, "/?token={}") + b"\0\0\r\n\r\n")
        assert until_closed(line).startswith(b"HTTP/1.1 200")
    assert complaints == []


@contextmanager
def half_sent(server, n):
    """Connections that sent half of a request each."""
    with ExitStack() as opened:
        lines = [opened.enter_context(line_to(server)) for _ in range(n)]
        for line in lines:
            with suppress(ConnectionError):  # given up already
                line.sendall(b"GET / HTTP/1.1\r\nHost: ")
        yield lines


def test_hundreds_of_half_sent_requests_shut_nobody_out(server):
    with half_sent(server, 490):  # more than the server serves at once
        assert status_of(server, request(server, "/?token={}")) == 200


def test_one_more_half_sent_request_drops_the_longest_waiting():
    with running(arrivals=Arrivals(seconds=NEVER, most=3)) as server, half_sent(server, 3) as lines:
        assert status_of(server, request(server, "/?token={}")) == 200
        assert until_closed(lines[0]) == b""
        lines[2].sendall(f"127.0.0.1:{server.port}\r\n\r\n".encode())
        assert answer(lines[2]) == 403


def test_half_sent_requests_are_given_up_after_their_time():
    with running(arrivals=Arrivals(seconds=0.2)) as server:
        with half_sent(server, 40) as lines:
            assert [until_closed(line) for line in lines] == [b""] * 40
        server.arrivals.seconds = NEVER
        assert server.arrivals.timers == {}
        assert status_of(server, request(server, "/?token={}")) == 200


def test_a_connection_without_a_byte_is_given_up_after_its_time():
    with running(arrivals=Arrivals(seconds=0.2)) as server, line_to(server) as line:
        assert until_closed(line) == b""


@pytest.mark.parametrize("rest", ["GET / HTTP/1.1\r\n", "12"], ids=["the next head", "the body"])
def test_what_comes_after_an_answer_has_the_same_time(rest):
    with running(arrivals=Arrivals(seconds=NEVER)) as server, line_to(server) as line:
        size = "" if rest.startswith("GET") else "Content-Length: 5\r\n"
        line.sendall(request(server, "/?token={}", more=size))
        assert answer(line) == 200
        server.arrivals.seconds = 0.2
        line.sendall(rest.encode())
        assert until_closed(line) == b""


def test_bytes_that_trickle_in_do_not_prolong_the_time():
    with running(arrivals=Arrivals(seconds=0.3)) as server, half_sent(server, 1) as (line,):
        line.settimeout(0.05)
        for _ in range(200):
            try:
                line.sendall(b"x")
                if not line.recv(1):
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("every byte bought more time")
