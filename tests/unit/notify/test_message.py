"""What the person is told: one message per occasion, and nothing in it that must not leave the machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ralphloop.domain.ledger import Ledger, name_tasks, survey
from ralphloop.domain.model import LOGIN, OUTCOMES, Limits, LoopState, Task, TaskList
from ralphloop.domain.worklist import Worklist
from ralphloop.engine import announce
from ralphloop.notify import message
from ralphloop.notify.message import Message, message_of, tidied
from ralphloop.store.shelf import Record

ROOT, HOME = "/home/me/web shop", "/home/me"


def record(name: str = "shop") -> Record:
    paths = {"list": f"{ROOT}/.ralph/loops/shop/feature_list.json"}
    return Record(
        "features-shop-1", layout="features", name=name, root=ROOT, paths=paths, limits=Limits(), armed_at=""
    )


def state(outcome: str | None, detail: str = "") -> LoopState:
    return LoopState(
        id="features-shop-1", state="ended", outcome=outcome, detail=detail, iteration=7, elapsed_s=2460.0
    )


def work(*questions: str) -> Worklist:
    tasks = [Task("F1", "done", done=True)]
    tasks += [Task(f"Q{n}", "open", needs_human=text) for n, text in enumerate(questions, 1)]
    listed, ledger = TaskList(tasks), Ledger()
    name_tasks(listed, ledger)
    for number, text in enumerate(questions, 1):
        ledger.note(f"Q{number}", question=text)
    return survey(listed, ledger)


def said(about: str, detail: str = "", *questions: str, name: str = "shop", task: str = "") -> Message:
    told = message_of(record(name), state(about, detail), work(*questions), about=about, task=task)
    assert told is not None
    return told


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        ("complete", "end"), ("limit", "end"), ("budget", "end"), ("stalled", "end"), ("capped", "end"),
        ("needs_approval", "person"), ("awaiting_approval", "person"), ("asked", "person"),
    ],
)  # fmt: skip
def test_every_occasion_has_its_kind_and_names_the_loop(about: str, kind: str) -> None:
    told = said(about)
    assert told.kind == kind
    assert told.title.startswith("ralphloop: shop ")
    assert told.body.startswith("1/1 done, 1 unverified, iteration 7/15, 41 min.")


@pytest.mark.parametrize("about", ["rate_limited", "cancelled", "interrupted", ""])
def test_what_passes_by_itself_or_was_the_persons_doing_is_not_told(about: str) -> None:
    assert message_of(record(), state(about), work(), about=about) is None


def test_the_hook_starts_the_program_for_just_what_is_told_of_a_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[str] = []
    monkeypatch.setattr(announce, "_start", lambda _loop, about, _env: started.extend(about))
    for outcome in (None, *OUTCOMES):
        announce.announce(SimpleNamespace(record=record()), state(outcome), {"RALPHLOOP_NOTIFY": "bell"})
    assert started == [outcome for outcome in OUTCOMES if outcome in message.TOLD]


def test_an_end_says_why_and_what_to_do() -> None:
    body = said("stalled", "3 near-empty replies in a row").body
    assert body.endswith(". 3 near-empty replies in a row. `ralphloop status shop` tells what to do.")


def test_a_question_is_in_the_message() -> None:
    told = said("needs_input", "", "Which service?", "Which port?")
    assert "Q1: Which service? Q2: Which port? `ralphloop answer Q1 TEXT --loop shop` answers." in told.body
    assert told.facts["questions"] == [
        {"task": "Q1", "text": "Which service?"},
        {"task": "Q2", "text": "Which port?"},
    ]


def test_of_several_questions_the_new_one_is_told() -> None:
    told = said("asked", "", "Which service?", "Which port?", task="Q2")
    assert [asked["task"] for asked in told.facts["questions"]] == ["Q2"]


def test_a_list_that_cannot_be_read_is_no_obstacle() -> None:
    told = message_of(record(), state("corrupt", "bad JSON"), None, about="corrupt")
    assert told is not None
    assert told.body.startswith("iteration 7/15, 41 min. bad JSON. ")
    assert told.facts["done"] is None


def clean(text: str, *, secrets: tuple[str, ...] = ()) -> str:
    told = tidied(Message("end", text, text, {"detail": [text]}), root=ROOT, home=HOME, secrets=secrets)
    assert told.facts["detail"] == [told.body]
    return told.body


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{ROOT}/src/a.py is gone", "src/a.py is gone"),
        (f"{HOME}/.ssh/config", "~/.ssh/config"),
        ("see /var/log/app/x.log now", "see …/x.log now"),
        ("('/opt/tool/bin/run')", "('…/run')"),
        ("https://example.invalid/a/b/c stays", "https://example.invalid/a/b/c stays"),
        ("/ralphloop:approve abc", "/ralphloop:approve abc"),
        ("src/app/main.py", "src/app/main.py"),
    ],
)
def test_paths_are_said_from_the_project_or_by_their_last_part(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_secrets_do_not_leave_the_machine() -> None:
    text = "failed with hunter2-hunter2 and sk-ant-abcdefgh12345678"
    assert clean(text, secrets=("hunter2-hunter2",)) == "failed with *** and ***"
    assert clean("key /ab/cd/ef+secret/xyz", secrets=("/ab/cd/ef+secret/xyz",)) == "key ***"


def test_nothing_that_a_terminal_obeys_is_left() -> None:
    hostile = "a\x1b]0;x\x07b\r\nc\u202ed\u2028e\x00\udc80f\tg"
    assert clean(hostile) == "a]0;xb cd ef g"


def test_texts_are_bounded() -> None:
    told = tidied(
        Message("end", "t" * 5000, "b" * 50_000, {"detail": "d" * 50_000}), root=ROOT, home=HOME, secrets=()
    )
    assert (len(told.title), len(told.body)) == (message.TITLE_MAX, message.BODY_MAX)
    assert len(told.facts["detail"]) == message.BODY_MAX


def test_a_refused_login_is_told_with_its_cure() -> None:
    body = said("failed", f"{LOGIN}: 401 no key").body
    assert "the login was refused: 401 no key." in body
    cure = "Log in with `claude /login`, or renew the key; "
    assert body.endswith(cure + "`ralphloop status shop` tells the rest.")


DOUBTS = ["F1 is green only with changes to test_app.py", "F2 is green without the work"]


def doubtful(*doubts: str, secrets: tuple[str, ...] = ()) -> Message:
    told = message.doubted(said("complete"), record(), doubts)
    return tidied(told, root=ROOT, home=HOME, secrets=secrets)


def test_doubts_are_counted_and_the_first_is_told() -> None:
    told = doubtful(*DOUBTS)
    assert told.title == "ralphloop: shop is complete, 2 doubts"
    assert told.body.endswith(f". `ralphloop report shop` tells of 2 doubts: {DOUBTS[0]}.")
    assert told.facts["doubts"] == {"count": 2, "said": DOUBTS}
    assert doubtful(DOUBTS[0]).title == "ralphloop: shop is complete, 1 doubt"


def test_what_is_not_committed_is_told_before_a_doubt() -> None:
    told = message.uncommitted(said("complete"), record(), "F1 is not committed (no author)")
    told = message.doubted(told, record(), DOUBTS)
    assert told.title == "ralphloop: shop is complete, but not committed, 2 doubts"
    assert told.body.index("commits it, once that is put right.") < told.body.index(DOUBTS[0])


def test_without_a_doubt_a_message_is_as_ever() -> None:
    told = said("complete")
    assert told.title == "ralphloop: shop is complete"
    assert "doubt" not in told.body
    assert "doubts" not in told.facts


def test_of_many_long_doubts_a_bounded_part_is_sent() -> None:
    told = doubtful(*(f"F{number} reads {'n' * 4096}" for number in range(1000)))
    assert len(told.body) == message.BODY_MAX
    assert told.facts["doubts"]["count"] == 1000
    assert [len(text) for text in told.facts["doubts"]["said"]] == [message.BODY_MAX] * message.DOUBTS


def test_a_secret_in_a_doubt_is_hidden_wherever_the_text_is_cut() -> None:
    secret = "hunter2" * 9
    for before in range(message.BODY_MAX - 150, message.BODY_MAX):
        told = doubtful("x" * before + " " + secret, secrets=(secret,))
        assert "hunter2" not in told.body
        assert "hunter2" not in told.facts["doubts"]["said"][0]


def test_a_doubt_names_no_path_outside_the_project() -> None:
    told = doubtful(f"F1 reads {ROOT}/src/a.py, {HOME}/.bashrc and /opt/tool/bin/run")
    assert told.facts["doubts"]["said"] == ["F1 reads src/a.py, ~/.bashrc and …/run"]
    assert told.body.endswith("F1 reads src/a.py, ~/.bashrc and …/run.")
