"""A report as headed tables of plain texts, which each rendering then writes in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ralphloop.agents.transcript import moment
from ralphloop.domain.model import COMPLETE, PROVEN, THE_LIST, VOUCHED
from ralphloop.domain.prompt import done
from ralphloop.domain.table import LIMITS
from ralphloop.proof import suite_count
from ralphloop.proof.proof_record import GREEN, RED, UNTRIED, Tried
from ralphloop.views import figure, journal
from ralphloop.views.figure import Share, Used, local, spent_told
from ralphloop.views.fold import cut, few, shown
from ralphloop.views.report import COMPLETION, Check, FinalRun, Refused, Report, TaskReport
from ralphloop.views.terminal import sentence

UNKNOWN = "unknown"
DOUBT = "doubt"  # the name of a fact that is one
DOUBTS_SHOWN = 10  # at the top
FILES_SHOWN, NAME_MAX = 5, 120  # beside a task; cells of a file's name
_TRIED = {GREEN: "green", RED: "red", UNTRIED: "not tried"}


class Code(str):
    """A text that is code, or a name to be copied as it is."""

    __slots__ = ()


class Section(NamedTuple):
    key: str
    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def sections(report: Report) -> Iterator[Section]:
    """Those that have something to say, in order."""
    every = (
        Section("faults", "Missing or damaged", notes=report.faults),
        _limits(report),
        _tasks(report),
        _refused(report),
        _final_run(report),
        _findings(report),
        _tried(report),
        _evidence(report),
        _integrity(report),
        _spending(report),
        _timeline(report),
    )
    return (section for section in every if section.rows or section.notes)


def facts(report: Report) -> list[tuple[str, str]]:
    """What stands at the top, as names and values."""
    view, counts = report.view, report.counts
    asked = done(view.done, view.total)
    known = [
        ("outcome", report.outcome),
        *_doubts(report),
        ("why", view.detail),
        ("since then", report.since),
        ("no commit", view.commit_fault),
        ("state", view.state),
        (
            "tasks",
            f"{asked} ({', '.join(f'{count} {state}' for state, count in counts.items())})"
            if counts
            else asked,
        ),
        ("started", _time(view.started_at)),
        ("ended" if view.state == "ended" else "rests since", _time(report.ended_at)),
        ("elapsed", f"{figure.span(report.elapsed_s)}, {figure.span(report.working_s)} of it under way"),
        ("spent", spent_told(report.spending, yet=view.live)),
        ("sessions", ", ".join(report.sessions)),
        ("client", ", ".join(report.clients) or "not recorded"),
        ("models", ", ".join(report.models) or "not recorded"),
        ("layout", view.layout),
        ("list", view.path),
        ("loop", Code(view.id)),
    ]
    return [(name, value) for name, value in known if value]


def _doubts(report: Report) -> Iterator[tuple[str, str]]:
    doubts = report.view.proof.doubts
    for one in doubts[:DOUBTS_SHOWN]:
        yield DOUBT, sentence(one)
    if len(doubts) > DOUBTS_SHOWN:
        yield DOUBT, f"and {len(doubts) - DOUBTS_SHOWN:,} more, below"


def _time(seconds: float | None) -> str:
    return local(seconds, "%Y-%m-%d %H:%M:%S %Z").strip() if seconds else ""


def _stamp(stamp: str) -> str:
    seconds = moment(stamp)
    return stamp if seconds is None else local(seconds)


def _limits(report: Report) -> Section:
    def row(limit: Used) -> tuple[str, ...]:
        used = UNKNOWN if limit.used is None else figure.amount(limit.name, limit.used)
        share = "" if limit.share is None else figure.percent(limit.share)
        return LIMITS[limit.name].reported, used, figure.amount(limit.name, limit.most), share

    rows = tuple(row(limit) for limit in report.limits)
    return Section("limits", "Limits", ("limit", "used", "at most", "share"), rows)


def _tasks(report: Report) -> Section:
    columns = ("task", "state", "title", "attempts", "refused", "time", "tokens", "dollars", "evidence")
    more: dict[str, Sequence[str]] = {
        "turned by": [names(task.turned) for task in report.tasks],
        "commit": [Code(task.commit[:10]) for task in report.tasks],
    }
    told = {name: values for name, values in more.items() if any(values)}
    rows = (
        (*_task(task), *(values[place] or "–" for values in told.values()))
        for place, task in enumerate(report.tasks)
    )
    return Section("tasks", "Tasks", (*columns, *told), tuple(rows))


def _task(task: TaskReport) -> tuple[str, ...]:
    return (
        task.id,
        f"{task.state}, added" if task.added else task.state,
        task.title,
        str(task.attempts or "–"),
        str(len(task.refused) or "–"),
        figure.span(task.time_s) if task.time_s else "–",
        UNKNOWN if task.spent is None else figure.tokens(task.spent.tokens) if task.spent.tokens else "–",
        _cost(task.spent),
        ", ".join(_sign(check) for check in task.checks) or "–",
    )


def _cost(share: Share | None) -> str:
    if share is None or share.cost_usd is None:
        return UNKNOWN
    least = "at least " if share.unpriced else ""
    return least + figure.dollars(share.cost_usd) if share.tokens else "–"


def _sign(check: Check) -> str:
    doubt = "" if check.file == "sound" else f" ({check.file})"
    return f"{'✓' if check.green else '✗'} {check.id}{doubt}"


def _refused(report: Report) -> Section:
    def row(claim: Refused) -> tuple[str, ...]:
        where = "final run: " if claim.final else ""
        whose = claim.task or ("all" if claim.why in COMPLETION.values() else THE_LIST)
        return _stamp(claim.at), whose, Code(claim.command), where + claim.why, claim.evidence

    columns = ("time", "task", "command", "why", "evidence")
    return Section(
        "refused", f"Refused claims: {len(report.refused)}", columns, tuple(map(row, report.refused))
    )


def _final_run(report: Report) -> Section:
    """What it came to, and which tasks no check stands behind."""
    run, is_complete = report.final_run, report.view.outcome == COMPLETE
    if run is None and not is_complete:
        return Section("final", "Final run")
    # What a red one turned back was claimed anew, or vouched for: then it was not the last word.
    before = run if is_complete and run is not None and not run.green else None
    run = None if before is not None else run
    left = _unchecked(report, run)
    what = "that ran " if left else ""
    if run is not None:
        told = _ran(run, what)
    elif any(task.state == PROVEN for task in report.tasks):
        told = f"every check {what}had just been green, as the claims of the same stop"
    else:
        told = "no check was run" if before is None else "no check was run at the end"
    notes = [f"not checked: {', '.join(f'{task.id} ({task.state})' for task in left)}"] if left else []
    notes += [f"before that, {_ran(before)}"] if before is not None else []
    return Section("final", "Final run", notes=(told, *notes))


def _unchecked(report: Report, run: FinalRun | None) -> list[TaskReport]:
    """What is closed without a check that ran then; one that somebody vouched for is never checked."""
    checked = {task for check in run.checks for task in check.tasks} if run is not None else set()
    closed = [task for task in report.tasks if task.state != PROVEN]
    return [task for task in closed if task.state == VOUCHED or task.id not in checked]


def _ran(run: FinalRun, what: str = "") -> str:
    told = f"everything {what}was green" if run.green else "not everything was green"
    return f"{_stamp(run.at)}: {told} ({', '.join(check.id for check in run.checks)})"


def _findings(report: Report) -> Section:
    """All of them, with the files that they name; the doubts come first."""
    proof = report.view.proof
    rows = tuple(
        (one.kind, one.task or "all", sentence(one), names(one.files) or "–")
        for one in (*proof.doubts, *proof.notes)
    )
    return Section("findings", "Doubts and notes", ("kind", "task", "what", "files"), rows)


def names(files: Sequence[str]) -> str:
    """The first of these files, and how many more there are."""
    return few([cut(shown(name, NAME_MAX), NAME_MAX) for name in files[:FILES_SHOWN]], len(files))


def _tried(report: Report) -> Section:
    """What each command came to: when the loop began, and at its end apart from the project."""
    columns = ("command", "at the start", "the work alone", "without the work")

    def cells(row: Tried) -> tuple[str, ...]:
        first, alone, without = (_TRIED.get(word, UNKNOWN) for word in (row.first, row.alone, row.without))
        return first, ", ".join(filter(None, (alone, suite_count.told(row.counted)))), without

    rows = tuple((Code(command), *cells(row)) for command, row in report.view.proof.tried.items())
    return Section("tried", "Whose green it is", columns, rows)


def _evidence(report: Report) -> Section:
    found: dict[str, Check] = {check.id: check for task in report.tasks for check in task.checks}
    found.update({check.id: check for check in report.list_checks})
    rows = tuple(
        (
            check.id,
            ", ".join(check.tasks) or THE_LIST,
            check.kind,
            "green" if check.green else "red",
            check.ended,
            f"{check.duration_s:.1f} s",
            check.file,
            Code(check.command),
        )
        for check in sorted(found.values(), key=lambda check: check.at)
    )
    columns = ("evidence", "tasks", "asked by", "result", "ended with", "took", "file", "command")
    return Section("evidence", "Evidence", columns, rows)


def _integrity(report: Report) -> Section:
    """What was put back, let in, or taken on the person's word."""
    rows = [
        (journal.when(entry), entry["event"], journal.words(entry))
        for event in ("restored", "protected", "approve", "accept")
        for entry in report.of_kind(event)
    ]
    kept = (f"kept in rejected/: {', '.join(report.rejected)}",) if report.rejected else ()
    notes = (f"added tasks: {', '.join(report.added)}",) if report.added else ()
    title = "Restored, approved, added"
    return Section("integrity", title, ("time", "what", "which"), tuple(rows), (*kept, *notes))


def _spending(report: Report) -> Section:
    spending = report.spending
    rows = [_share(model, share) for model, share in spending.by_model.items()]
    if len(rows) > 1:
        rows.append(_share("all", spending.total))
    notes = (
        [f"list prices of {spending.prices_as_of}"] if rows else ["tokens unknown: no transcript can be read"]
    )
    notes += [f"dollars unknown for {', '.join(spending.unpriced)}"] if spending.unpriced else []
    notes += [f"tokens unknown of a transcript that is gone: {path}" for path in spending.missing]
    aside = spending.by_task.get("")
    notes += [f"{figure.tokens(aside.tokens)} tokens belong to no task"] if aside is not None else []
    columns = ("model", "tokens", "input", "output", "cache written", "cache read", "dollars")
    return Section("spending", "Tokens and dollars", columns, tuple(rows), tuple(notes))


def _share(model: str, share: Share) -> tuple[str, ...]:
    kinds = (share.tokens, share.input, share.output, share.cache_write, share.cache_read)
    return (model, *map(figure.tokens, kinds), _cost(share))


def _timeline(report: Report) -> Section:
    rows = tuple((journal.when(entry), entry["event"], journal.words(entry)) for entry in report.entries)
    return Section("timeline", "Timeline", ("time", "event", "what"), rows)
