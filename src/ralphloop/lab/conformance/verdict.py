"""Compares what was seen with what a case expects; pure, every complaint is one sentence."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ralphloop.hook.stop_files import HOME
from ralphloop.lab.conformance.case import Expect
from ralphloop.lab.conformance.processes import OUTPUT_MAX, Answer, parsed
from ralphloop.lab.conformance.scene import Seen
from ralphloop.proof.protect import matches

EXIT_CODE = "exit code "  # how the complaint about one begins
REASON_MAX = 10_000
SHOWN_MAX = 300
TOO_MUCH = f"more than {OUTPUT_MAX} bytes of output"
MISSING = object()


@dataclass(frozen=True)
class Saw:
    """What a step brought about: its answers, and all files before and after."""

    answers: Sequence[Answer]
    before: Mapping[str, Seen]
    after: Mapping[str, Seen]
    loop: Mapping[str, Any] = field(default_factory=dict)
    left: Sequence[str] = ()  # the command lines of processes that stayed behind
    is_run: bool = False


def complaints(expect: Expect, saw: Saw) -> list[str]:
    """What is not as it must be; empty if all is well."""
    found = [*_of_run(expect, saw.answers[0])] if saw.is_run else [*_of_answers(expect, saw.answers)]
    found += [f"it left a process behind: {_short(line)}" for line in saw.left]
    found += [*_unchanged(expect, saw), *_of_files(expect, saw.after), *_of_loop(expect, saw.loop)]
    return list(dict.fromkeys(found))  # hooks at once complain alike


def rules(answer: Answer) -> Iterator[str]:
    """What holds for every answer of a hook."""
    if answer.is_cut:
        yield TOO_MUCH
        return
    if answer.exit_code is None:
        yield f"the hook did not end, nor close its output, within {answer.duration_ms / 1000:.0f} s"
        return
    if answer.exit_code != 0:
        yield f"{EXIT_CODE}{answer.exit_code} instead of 0{_told(answer.stderr)}"
    if answer.stdout and not _is_object(answer.stdout):
        yield f"stdout is not exactly one JSON object: {_short(answer.stdout)}"
    if "Traceback (most recent call last)" in answer.stderr:
        yield f"a traceback on stderr{_told(answer.stderr)}"
    if answer.said and answer.heard.notice:
        yield f"the client refuses it: {answer.heard.notice}"
    elif answer.blocks:
        if not answer.text("reason"):
            yield "a block without a reason"
        if len(answer.text("reason")) >= REASON_MAX:
            yield f"a reason of {len(answer.text('reason'))} characters; it must be under {REASON_MAX}"
        if answer.said.get("continue") is False:
            yield "`continue: false` beside a block, which ends the session"


def _is_object(text: str) -> bool:
    try:
        return isinstance(parsed(text), dict)
    except (ValueError, RecursionError):
        return False


def _of_answers(expect: Expect, answers: Sequence[Answer]) -> Iterator[str]:
    for answer in answers:
        yield from rules(answer)
        if expect.answer and not _is_answer(expect.answer, answer):
            yield f"expected {expect.answer}, saw {_seen(answer)}"
        reason, message = answer.text("reason"), answer.text("systemMessage")
        if answer.blocks or expect.answer != "block":  # else the missing block says it all
            yield from _texts("reason", reason, has=expect.reason_has, lacks=expect.reason_lacks)
        yield from _texts("systemMessage", message, has=expect.message_has, lacks=expect.message_lacks)
        yield from _texts("additionalContext", answer.context, has=expect.context_has)
        yield from _texts("stderr", answer.stderr, has=expect.stderr_has)
        for pointer, value in expect.said.items():
            yield from _same(f"the answer's {pointer}", _at(answer.said, pointer), value)
    seen = Counter(kind for kind in expect.answers for answer in answers if _is_answer(kind, answer))
    for kind, count in expect.answers.items():
        if seen[kind] != count:
            yield f"expected {count} of {len(answers)} answers to be {kind}, saw {seen[kind]}"


def _is_answer(kind: str, answer: Answer) -> bool:
    if kind == "block":
        return answer.blocks
    if kind == "silent":
        return not answer.stdout.strip() and not answer.stderr.strip()
    if kind == "context":
        return answer.heard.continues and not answer.blocks
    return not answer.heard.continues and (kind != "message" or bool(answer.text("systemMessage")))


def _seen(answer: Answer) -> str:
    if answer.blocks:
        return f"block: {_short(answer.text('reason'))}"
    if answer.stdout.strip():
        return f"stdout {_short(answer.stdout)}"
    return f"stderr {_short(answer.stderr)}" if answer.stderr.strip() else "silence"


def _of_run(expect: Expect, answer: Answer) -> Iterator[str]:
    if answer.is_cut:
        yield TOO_MUCH
        return
    output = answer.stdout + answer.stderr
    if answer.exit_code != expect.exit:
        yield f"the command's exit code is {answer.exit_code}, expected {expect.exit}{_told(output)}"
    yield from _texts("output", output, has=expect.output_has, lacks=expect.output_lacks)


def _texts(name: str, text: str, *, has: Sequence[str] = (), lacks: Sequence[str] = ()) -> Iterator[str]:
    for part in has:
        if part not in text:
            yield f"{name} lacks {part!r}: {_short(text)}"
    for part in lacks:
        if part in text:
            yield f"{name} has {part!r}: {_short(text)}"


def _unchanged(expect: Expect, saw: Saw) -> Iterator[str]:
    for glob in expect.unchanged:
        for path in sorted({*saw.before, *saw.after}):
            before, after = saw.before.get(path), saw.after.get(path)
            if before != after and named(path, glob):
                yield f"{path} was {_change(before, after)}; {glob} must not change"


def _change(before: Seen | None, after: Seen | None) -> str:
    if before is None or after is None:
        return "removed" if after is None else "added"
    if before.data != after.data:
        return f"changed, to {_short(after.data.decode('utf-8', 'replace'))}"
    return "given another mode" if before.mode != after.mode else "written again"


def named(path: str, glob: str) -> bool:
    """Whether a glob of a case names this file; those of the home say so."""
    if path.startswith(HOME) is not glob.startswith(HOME):
        return False
    return matches(path.replace("/", os.sep), glob.replace("/", os.sep))


def _of_files(expect: Expect, after: Mapping[str, Seen]) -> Iterator[str]:
    for glob in [*expect.has, *expect.equals, *(place.partition("#")[0] for place in expect.json)]:
        if not _texts_of(glob, after):
            yield f"{glob} is not there"
    for glob in {**expect.has, **expect.lacks}:
        for path, text in _texts_of(glob, after):
            yield from _texts(path, text, has=expect.has.get(glob, ()), lacks=expect.lacks.get(glob, ()))
    for glob, whole in expect.equals.items():
        for path, text in _texts_of(glob, after):
            if text != whole:
                yield f"{path} is {_short(text)}, expected {_short(whole)}"
    for place, value in expect.json.items():
        glob, _, pointer = place.partition("#")
        for path, text in _texts_of(glob, after):
            yield from _json(path, text, pointer=pointer, value=value)
    yield from _there(expect, after)


def _there(expect: Expect, after: Mapping[str, Seen]) -> Iterator[str]:
    for glob in expect.absent:
        yield from (f"{path} is there; {glob} must not be" for path in sorted(after) if named(path, glob))
    for glob in expect.present:
        if not any(named(path, glob) for path in after):
            yield f"there is no {glob}"


def _texts_of(glob: str, after: Mapping[str, Seen]) -> list[tuple[str, str]]:
    """Path and text of the files that a glob names."""
    found = [(path, seen) for path, seen in sorted(after.items()) if seen.kind == "file"]
    return [(path, seen.data.decode("utf-8", "replace")) for path, seen in found if named(path, glob)]


def _json(path: str, text: str, *, pointer: str, value: Any) -> Iterator[str]:
    try:
        data = parsed(text)
    except (ValueError, RecursionError) as error:
        yield f"{path} is not JSON: {error}"
        return
    yield from _same(f"{path}#{pointer}", _at(data, pointer), value)


def _same(name: str, seen: Any, value: Any) -> Iterator[str]:
    if type(seen) is not type(value) or seen != value:
        shown = "missing" if seen is MISSING else _short(json.dumps(seen))
        yield f"{name} is {shown}, expected {_short(json.dumps(value))}"


def _at(data: Any, pointer: str) -> Any:
    """What a JSON pointer leads to."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict) and key in data:
            data = data[key]
        elif isinstance(data, list) and key.isdecimal() and int(key) < len(data):
            data = data[int(key)]
        else:
            return MISSING
    return data


def _of_loop(expect: Expect, loop: Mapping[str, Any]) -> Iterator[str]:
    for key, value in (("state", expect.state), ("outcome", expect.outcome)):
        if value:
            seen = loop.get(key) if loop else "no loop"
            if (seen or "null") != value:
                yield f"the loop's {key} is {seen}, expected {value}"


def _told(text: str) -> str:
    return f": {_short(text)}" if text.strip() else ""


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= SHOWN_MAX else shown[:SHOWN_MAX] + "…"
