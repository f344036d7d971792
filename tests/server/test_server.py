"""The server by itself: it sends exactly what the script says, and ends cleanly."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.clock import Watch
from tests.server.loopback import Loopback
from tests.server.script import (
    BEFORE_HEADERS,
    Recorded,
    Reply,
    every,
    gzipped,
    html_page,
    json_reply,
    split_within,
    sse_reply,
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def _ask(server: Loopback, body: object = None) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
    try:
        connection.request("POST", "/v1/x", body=json.dumps(body), headers={"X-Mark": "seen"})
        reply = connection.getresponse()
        return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
    finally:
        connection.close()


def _raw(server: Loopback) -> list[bytes]:
    """Return what arrives on one connection, piece by piece as the kernel gives it."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"GET /raw HTTP/1.1\r\nhost: x\r\n\r\n")
        pieces: list[bytes] = []
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                return [*pieces, b"<reset>"]
            if not piece:
                return pieces
            pieces.append(piece)


def test_a_request_is_recorded_whole_and_answered_as_scripted(server: Loopback) -> None:
    server.play(json_reply({"answer": "für"}, status=201))
    status, headers, body = _ask(server, {"question": "ä"})
    assert (status, json.loads(body)) == (201, {"answer": "für"})
    assert headers["content-type"] == "application/json"
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/x")
    assert request.headers["x-mark"] == "seen"
    assert request.body == {"question": "ä"}
    server.settle()
    assert request.replied
    assert not request.left


def test_replies_come_in_order_and_the_last_one_stays(server: Loopback) -> None:
    server.play(json_reply({}, status=500), json_reply({}, status=200))
    assert [_ask(server)[0] for _ in range(3)] == [500, 200, 200]


def test_nothing_scripted_is_a_404(server: Loopback) -> None:
    assert _ask(server)[0] == 404


def test_one_connection_serves_many_requests(server: Loopback) -> None:
    server.play(json_reply({"n": 1}))
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
    for _ in range(3):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b'{"n": 1}'
    connection.close()
    assert [request.connection for request in server.requests] == [0, 0, 0]
    assert server.accepted == 1


def test_a_script_can_answer_by_the_request(server: Loopback) -> None:
    def script(request: Recorded) -> Reply:
        return json_reply({"echo": request.body})

    server.play_by(script)
    assert json.loads(_ask(server, [1, 2])[2]) == {"echo": [1, 2]}


def test_every_piece_of_a_stream_is_a_chunk_of_its_own(server: Loopback) -> None:
    events = [b"data: \xc3\xa9\r\n\r\n", b"data: [DONE]\r\n\r\n"]
    body = b"".join(events)
    cuts = split_within(body, b"\xc3\xa9", b"data:", b"\r\n")
    server.play(sse_reply(events, cuts=cuts, close=True))
    raw = b"".join(_raw(server))
    assert b"1\r\nd\r\n1\r\na\r\n1\r\nt\r\n1\r\na\r\n" in raw
    assert b": \xc3\r\n2\r\n\xa9\r\r\n2\r\n\n\r\r\n" in raw
    assert raw.endswith(b"0\r\n\r\n")
    assert _ask(server)[2] == body


def test_a_drop_before_the_headers_sends_nothing(server: Loopback) -> None:
    server.play(json_reply({}, drop_at=BEFORE_HEADERS))
    assert _raw(server) == []
    server.play(json_reply({}, drop_at=BEFORE_HEADERS, reset=True))
    assert _raw(server) == [b"<reset>"]


@pytest.mark.parametrize("framing", ["length", "chunked", "until_close"])
def test_a_drop_in_the_body_sends_that_many_bytes(server: Loopback, framing: str) -> None:
    server.play(Reply(body=b"0123456789", framing=framing, drop_at=4))  # type: ignore[arg-type]  # parametrised
    raw = b"".join(_raw(server))
    assert b"0123" in raw
    assert b"4567" not in raw
    assert b"\r\n0\r\n" not in raw


def test_an_untrue_length_is_announced_as_written(server: Loopback) -> None:
    server.play(Reply(body=b"abc", declared_length=10))
    raw = b"".join(_raw(server))
    assert b"content-length: 10\r\n" in raw
    assert raw.endswith(b"abc")


def test_a_gzip_body_unpacks_to_the_same_bytes(server: Loopback) -> None:
    server.play(gzipped(sse_reply([b"data: 1\n\n", b"data: 2\n\n"])))
    _, headers, body = _ask(server)
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(body) == b"data: 1\n\ndata: 2\n\n"


def test_a_page_is_html_whatever_its_status(server: Loopback) -> None:
    server.play(html_page(), html_page(502))
    for expected in (200, 502):
        status, headers, body = _ask(server)
        assert (status, headers["content-type"]) == (expected, "text/html; charset=utf-8")
        assert body.startswith(b"<!doctype html>")


def test_waits_are_where_the_script_says(server: Loopback) -> None:
    server.play(
        json_reply({}, wait_s=0.1), Reply(body=b"abcd", cuts=every(1, b"abcd"), pause_s=0.03)
    )
    watch, began = Watch(), time.monotonic()
    _ask(server)
    assert time.monotonic() - began >= 0.1
    assert watch.stop() < 0.3
    watch, began = Watch(), time.monotonic()
    assert _ask(server)[2] == b"abcd"
    assert time.monotonic() - began >= 0.09
    assert watch.stop() < 0.3
    server.play(Reply(body=b"", head_pause_s=0.002))
    began = time.monotonic()
    _ask(server)
    assert time.monotonic() - began >= 0.002 * len(Reply(body=b"").head())


def test_a_client_that_leaves_is_noticed_at_once(server: Loopback) -> None:
    server.play(json_reply({}, wait_s=30))
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"GET /raw HTTP/1.1\r\n\r\n")
        while not server.requests:
            time.sleep(0.001)
    server.settle()
    assert server.requests[0].left
    assert not server.requests[0].replied


def test_closing_ends_every_thread_at_once_even_in_mid_reply() -> None:
    before = threading.active_count()
    big = Reply(body=b"x" * 10_000_000)
    with Loopback() as server:
        host, port = server.url.removeprefix("http://").split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(3)]
        server.play(json_reply({}, wait_s=30), big)
        for client in clients[:2]:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        while len(server.requests) < 2:
            time.sleep(0.001)
        watch = Watch()
    assert watch.stop() < 1
    for client in clients:
        client.close()
    assert threading.active_count() == before
    assert not any(request.replied or request.left for request in server.requests[:1])


def test_many_connections_are_served_side_by_side(server: Loopback) -> None:
    server.play(json_reply({}, wait_s=0.1))
    threads = [threading.Thread(target=_ask, args=(server,)) for _ in range(50)]
    watch = Watch()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watch.stop() < 2
    assert len(server.requests) == 50
