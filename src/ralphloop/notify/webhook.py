"""A message sent to an address of the person's own, in the shape that is expected there."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from ralphloop.config import JSON, NTFY, SLACK, Config
from ralphloop.domain.table import PERSON
from ralphloop.errors import NotSentError
from ralphloop.notify.message import Message
from ralphloop.version import VERSION

TIMEOUT_S = 10.0


class Hook(NamedTuple):
    url: str
    shape: str = JSON
    token: str = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another address than the person's is not sent to: a redirect is an answer like any other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def send(message: Message, settings: Config, *, env: Mapping[str, str], pid: int) -> str:
    url = settings.get("webhook_url")
    if not url:
        raise NotSentError("webhook_url is not set")
    return post(message, Hook(url, settings.get("webhook_format"), settings.get("webhook_token") or ""))


def post(message: Message, hook: Hook, *, timeout_s: float = TIMEOUT_S) -> str:
    """What the server answered, `HTTP 200`. It has this long for all of it, however slowly it talks."""
    answer: list[str | NotSentError] = []

    def work() -> None:
        try:
            answer.append(_send(*request_of(message, hook), token=hook.token, timeout_s=timeout_s))
        except NotSentError as error:
            answer.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not answer:
        raise NotSentError(f"no answer within {timeout_s:.0f} s")
    if isinstance(answer[0], NotSentError):
        raise answer[0]
    return answer[0]


def request_of(message: Message, hook: Hook) -> tuple[str, dict[str, Any]]:
    """The address and the object to send there."""
    return SHAPES[hook.shape](message, hook.url)


def _json(message: Message, url: str) -> tuple[str, dict[str, Any]]:
    said = {"source": "ralphloop", "kind": message.kind, "title": message.title, "body": message.body}
    return url, {**said, **message.facts}


def _slack(message: Message, url: str) -> tuple[str, dict[str, Any]]:
    text = f"{message.title}\n{message.body}"
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, name)
    return url, {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def _ntfy(message: Message, url: str) -> tuple[str, dict[str, Any]]:
    """ntfy takes an object at the server's own address, with the topic in it."""
    parts = urlsplit(url)
    base, _, topic = parts.path.rstrip("/").rpartition("/")
    if not topic:
        raise NotSentError("webhook_url must end with the topic, as in https://ntfy.sh/my-topic")
    said = {
        "topic": unquote(topic),
        "title": message.title,
        "message": message.body,
        "priority": 4 if message.kind == PERSON else 3,
    }
    return urlunsplit((parts.scheme, parts.netloc, base + "/", "", "")), said


SHAPES: dict[str, Callable[[Message, str], tuple[str, dict[str, Any]]]] = {
    JSON: _json,
    NTFY: _ntfy,
    SLACK: _slack,
}


def _send(url: str, said: dict[str, Any], *, token: str, timeout_s: float) -> str:
    headers = {"Content-Type": "application/json", "User-Agent": f"ralphloop/{VERSION}"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotSentError("webhook_url must begin with https:// or http://")
    data = json.dumps(said).encode()
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310 - looked at above
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as response:
            return f"HTTP {response.status}"
    except urllib.error.HTTPError as error:
        error.close()
        told = "; a redirect is not followed, put the final address into webhook_url"
        raise NotSentError(f"HTTP {error.code}{told if 300 <= error.code < 400 else ''}") from None
    except urllib.error.URLError as error:
        raise NotSentError(f"cannot be reached ({error.reason})") from None
    except http.client.InvalidURL:
        raise NotSentError("webhook_url is no address") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSentError(f"cannot be reached ({type(error).__name__})") from None
