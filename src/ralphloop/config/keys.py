"""The settings: what each one is, how its value is read, and what holds without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ralphloop.agents.registry import NAMES, client
from ralphloop.config.value import (
    AMOUNTS,
    batch,
    margin_s,
    one_of,
    percent,
    permission_mode,
    some_of,
    switch,
    text,
    time_s,
    token,
    url,
)
from ralphloop.domain.table import END, LIMITS, PERSON

AGENTS = NAMES
PERMISSION_MODES = client().program.PERMISSION_MODES
CONTINUATIONS = ("block", "context")
OCCASIONS = (END, PERSON)
JSON, NTFY, SLACK = WEBHOOK_FORMATS = ("json", "ntfy", "slack")


class Key(NamedTuple):
    read: Callable[[Any], Any]
    default: Any
    told: str
    by_project: bool = True  # whether a repository may set it for whoever works in it


class Target(NamedTuple):
    """A way of telling the person, which the module of the same name in `notify` sends."""

    told: str
    needs: str = ""  # the setting without which nothing is sent
    by_project: bool = True  # whether a repository may switch it on; not if anything leaves the machine


TARGETS = {
    "desktop": Target("by `notify-send`, `osascript` or a Windows toast, whichever is there"),
    "bell": Target("rings in the terminal that the session runs in"),
    "webhook": Target(
        "a POST to an address of your own. It has 10 seconds, and a redirect is not followed",
        needs="webhook_url",
        by_project=False,
    ),
}

KEYS: dict[str, Key] = {
    "batch": Key(batch, 0, "tasks for one session of `run`; 0 for no limit"),
    "model": Key(text, None, "the model, where neither the task nor the list names one"),
    "fallback_model": Key(text, None, "the model while that one is overloaded"),
    "permission_mode": Key(
        permission_mode(*PERMISSION_MODES),
        "acceptEdits",
        "what the agent of `run` may do unasked",
        by_project=False,
    ),
    "agent": Key(one_of(*AGENTS), AGENTS[0], "the client that `run` starts"),
    "idle_timeout": Key(time_s, 1200.0, "a session of `run` that is silent for so long is ended"),
    "context_limit": Key(percent, 70, "per cent of the context after which `run` hands over; 0 for off"),
    "commit": Key(switch, False, "`run` commits each closed task"),
    "branch": Key(text, None, "the branch for those commits"),
    **{row.setting: Key(AMOUNTS[row.kind][1], None, row.told) for row in LIMITS.values() if row.setting},
    "continue_with": Key(one_of(*CONTINUATIONS), CONTINUATIONS[0], "how the next task reaches the agent"),
    "wake": Key(switch, True, "a session that hit a rate limit is woken when that is over"),
    "reset_margin": Key(margin_s, 60.0, "how long after the end of a rate limit the loop goes on"),
    "backoff": Key(time_s, 30.0, "the first wait after an error that names no time"),
    "notify": Key(some_of(*TARGETS), (), f"how you are told: {', '.join(TARGETS)}; empty for not at all"),
    "notify_on": Key(some_of(*OCCASIONS), OCCASIONS, "when: at the end, or when a person is needed"),
    "webhook_url": Key(url, None, "where the webhook sends to", by_project=False),
    "webhook_format": Key(
        one_of(*WEBHOOK_FORMATS), JSON, f"its shape: {', '.join(WEBHOOK_FORMATS)}", by_project=False
    ),
    "webhook_token": Key(token, None, "sent with it as `Authorization: Bearer`", by_project=False),
}  # fmt: skip
