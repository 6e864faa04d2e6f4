"""Webhooks: the shapes that are sent, and answers that are none."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from fakes.patience import SOON_S
from ralphloop.errors import NotSentError
from ralphloop.notify.message import Message
from ralphloop.notify.webhook import Hook, post, request_of
from unit.notify.server import HookServer

TOLD = Message("person", "ralphloop: shöp <!channel> asks", "F1: a & b?\r\n\"'$(x)", {"loop": "L", "done": 1})


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_json_has_the_message_and_the_facts() -> None:
    with HookServer() as server:
        assert post(TOLD, Hook(server.url + "/x?y=1")) == "HTTP 200"
    (got,) = server.got
    assert got.path == "/x?y=1"
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["User-Agent"].startswith("ralphloop/")
    assert "Authorization" not in got.headers
    assert got.data == {
        "source": "ralphloop", "kind": "person", "title": TOLD.title, "body": TOLD.body, "loop": "L",
        "done": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("url", "path", "topic"),
    [("/my-topic", "/", "my-topic"), ("/below/my%2Dtopic/?x=1", "/below/", "my-topic")],
)
def test_ntfy_gets_the_topic_at_the_servers_own_address(url: str, path: str, topic: str) -> None:
    with HookServer() as server:
        post(TOLD, Hook(server.url + url, "ntfy", "tk_1"))
    (got,) = server.got
    assert (got.path, got.headers["Authorization"]) == (path, "Bearer tk_1")
    assert got.data == {"topic": topic, "title": TOLD.title, "message": TOLD.body, "priority": 4}


def test_an_end_is_less_urgent_for_ntfy() -> None:
    assert request_of(TOLD._replace(kind="end"), Hook("http://h/t", "ntfy"))[1]["priority"] == 3


def test_ntfy_without_a_topic_says_what_is_missing() -> None:
    with pytest.raises(NotSentError, match="must end with the topic"):
        post(TOLD, Hook("http://127.0.0.1:1/", "ntfy"))


def test_slack_gets_text_in_which_nothing_means_anything() -> None:
    with HookServer() as server:
        post(TOLD, Hook(server.url + "/services/A", "slack"))
    (got,) = server.got
    text = "ralphloop: shöp &lt;!channel&gt; asks\nF1: a &amp; b?\r\n\"'$(x)"
    assert got.data == {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with HookServer() as other, HookServer(status, location=other.url + "/stolen") as server:
        with pytest.raises(NotSentError, match=f"^HTTP {status}; a redirect is not followed"):
            post(TOLD, Hook(server.url, token="secret"))
        assert (len(server.got), other.got) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 404, 500, 503])
def test_a_refusal_is_told_by_its_number(status: int) -> None:
    with HookServer(status) as server, pytest.raises(NotSentError, match=f"^HTTP {status}$"):
        post(TOLD, Hook(server.url))


def test_a_server_that_does_not_answer_has_only_so_long() -> None:
    with HookServer(holds=True) as server:
        begun = time.monotonic()
        with pytest.raises(NotSentError, match=r"no answer within 2 s|cannot be reached"):
            post(TOLD, Hook(server.url), timeout_s=2.0)
        assert time.monotonic() - begun < 20
        assert server.arrived.wait(SOON_S)


def test_a_server_that_drips_has_no_longer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def drip() -> None:
            peer, _ = listener.accept()
            with peer:
                while not over.wait(0.25):
                    try:
                        peer.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises(NotSentError, match="no answer within 1 s"):
            post(TOLD, Hook(f"http://127.0.0.1:{listener.getsockname()[1]}"), timeout_s=1.0)
        over.set()
        thread.join(10)


def test_nobody_there_is_told_without_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotSentError, match="cannot be reached") as caught:
        post(TOLD, Hook(f"http://127.0.0.1:{port}/secret-topic"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "file:///etc/hostname", "data:,x"])
def test_only_http_is_spoken(url: str) -> None:
    with pytest.raises(NotSentError, match="must begin with https"):
        post(TOLD, Hook(url))
