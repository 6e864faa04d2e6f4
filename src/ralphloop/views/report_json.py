"""A report as JSON for scripts; keys may be added, never renamed."""

from __future__ import annotations

from typing import Any

from ralphloop.store.loop import iso
from ralphloop.views.figure import Spending
from ralphloop.views.report import Report, TaskReport
from ralphloop.views.snapshot import proof_json


def to_json(report: Report) -> dict[str, Any]:
    view = report.view
    return {
        "loop": {name: getattr(view, name) for name in ("id", "name", "layout", "root", "path")},
        "state": view.state,
        "outcome": view.outcome,
        "detail": view.detail,
        "uncommitted": view.uncommitted,
        "commit_fault": view.commit_fault,
        "made_at": _stamp(report.made_at),
        "started_at": _stamp(view.started_at),
        "ended_at": _stamp(report.ended_at),
        "elapsed_s": round(report.elapsed_s, 3),
        "working_s": round(report.working_s, 3),
        "sessions": report.sessions,
        "clients": report.clients,
        "models": report.models,
        "limits": {limit.name: {"used": limit.used, "most": limit.most} for limit in report.limits},
        "counts": report.counts,
        "tasks": [_task(task) for task in report.tasks],
        "refused": [claim._asdict() for claim in report.refused],
        "restored": [_facts(entry, "what", "rejected") for entry in report.of_kind("restored")],
        "rejected": report.rejected,
        "protected": [_facts(entry, "files") for entry in report.of_kind("protected")],
        "approvals": [_facts(entry, "by", "digest", "commands") for entry in report.of_kind("approve")],
        "accepted": [_facts(entry, "task") for entry in report.of_kind("accept")],
        "added": report.added,
        "spending": _spending(report.spending),
        "list_evidence": [check.to_json() for check in report.list_checks],
        "final_run": report.final_run and report.final_run.to_json(),
        **proof_json(view.proof),
        "since": report.since,
        "faults": report.faults,
        "timeline": report.entries,
    }


def _stamp(seconds: float | None) -> str | None:
    return iso(seconds) if seconds else None


def _facts(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry.get(name) for name in ("at", *names)}


def _task(task: TaskReport) -> dict[str, Any]:
    spent = task.spent.to_json() if task.spent is not None else {}
    return {
        "id": task.id,
        "title": task.title,
        "state": task.state,
        "added": task.added,
        "attempts": task.attempts,
        "why": task.why,
        "refused": [claim._asdict() for claim in task.refused],
        "evidence": [check.to_json() for check in task.checks],
        "turned": list(task.turned),
        "commit": task.commit or None,
        "time_s": round(task.time_s, 3),
        "tokens": spent.get("tokens"),
        "cost_usd": spent.get("cost_usd"),
    }


def _spending(spending: Spending) -> dict[str, Any]:
    unattributed = spending.by_task.get("")
    return {
        **spending.to_json(),
        "by_model": {model: share.to_json() for model, share in spending.by_model.items()},
        "unattributed": unattributed and unattributed.to_json(),
    }
