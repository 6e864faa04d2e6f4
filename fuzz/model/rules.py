"""The rules of the model on one stop, in the order of the specification's section 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.model.words import (
    ATTEMPTS,
    CAP,
    ENDED,
    GONE,
    HOURS_S,
    LIVE,
    NEAR_EMPTY,
    PAUSED,
    REPLIES,
    STILL,
    WAITING,
    Answer,
    Counters,
    Event,
    Need,
    Results,
    Work,
)

if TYPE_CHECKING:
    from fuzz.model.oracle import Loop


class Rules:
    """What one stop comes to; `may_restore` until the last good copy was put back at it."""

    def __init__(
        self,
        loop: Loop,
        counters: Counters,
        event: Event,
        work: Work | None,
        results: Results | None,
        claims: list[str],
        may_restore: bool,
    ) -> None:
        self.loop, self.c, self.event, self.work = loop, counters, event, work
        self.results, self.claims = results, claims
        self.may_restore = may_restore
        self.has_copy = may_restore and loop.copy is not None

    def decide(self) -> Answer | Need:
        c = self.c
        if c.state != PAUSED:
            c.elapsed_s += max(0.0, self.event.now - c.seen_at)
        c.seen_at = self.event.now
        self.tools = self.loop.has_tool(c.since)
        c.worked = c.worked or self.tools
        for rule in (self._gone, self._paused, self._broken_off, self._still_works, self._corrupt):
            said = rule()
            if said is not None:
                return said
        return self._with_work()

    def _with_work(self) -> Answer | Need:
        for rule in (self._claims, self._complete, self._nothing_can_run, self._limits):
            said = rule()
            if said is not None:
                return said
        self.c.iteration += 1
        self.c.run()
        self.c.current = self.known.next
        return Answer(blocks=True, next=self.known.next)

    @property
    def known(self) -> Work:
        assert self.work is not None
        return self.work

    def _close(self, state: str, outcome: str) -> Answer:
        self.c.state, self.c.outcome = state, outcome
        return Answer()

    def _gone(self) -> Answer | Need | None:
        if self.loop.file != GONE:
            return None
        if self.c.state not in LIVE:
            return Answer(writes=False)
        if self.work is not None and self.work.is_complete:
            return self._finish()
        if self.has_copy and not self.c.restored:
            return Need(restore=True, once=True)
        return self._close(ENDED, "cancelled")

    def _paused(self) -> Answer | None:
        if self.c.state != PAUSED or self.c.outcome == "rate_limited":
            return None
        work = self.work
        can = work is not None and bool(work.next or work.in_state("claimed") or work.is_complete)
        return None if self.c.outcome == "needs_input" and can else Answer(writes=False)

    def _broken_off(self) -> Answer | None:
        c, event = self.c, self.event
        told = self.loop.broken_off(c.since)
        if not told and c.pending and event.prompt != c.pending and not event.active:
            told = "interrupted"
        if not told or (c.outcome in ("rate_limited", "needs_input") and told in ("rate_limited", "failed")):
            return None
        return self._close(PAUSED if told in ("interrupted", "rate_limited") else ENDED, told)

    def _still_works(self) -> Answer | None:
        kind = self.event.background
        if kind == "subagent":
            self.c.state, self.c.outcome = WAITING, None
            return Answer()
        if kind and not self.tools and self.c.quiet >= 1:
            self.c.state, self.c.outcome, self.c.quiet = WAITING, None, 0
            return Answer()
        return None

    def _corrupt(self) -> Answer | Need | None:
        c = self.c
        if self.work is not None:
            return None
        if self.has_copy:
            return Need(restore=True)
        if self.loop.spoilt in c.told:
            return self._close(PAUSED, "corrupt")
        if c.iteration >= self.loop.limit:
            return self._close(ENDED, "limit")
        c.told = (*c.told, self.loop.spoilt)
        c.iteration += 1
        c.run()
        return Answer(blocks=True)

    def _claims(self) -> Need | None:
        if self.results is None:
            return Need(checks="claims") if self.known.in_state("claimed") else None
        for task in self.results.refused:
            self.c.attempts[task] = self.c.attempts.get(task, 0) + 1
        return None

    def _complete(self) -> Answer | Need | None:
        return self._finish() if self.known.is_complete else None

    def _finish(self) -> Answer | Need:
        c = self.c
        if any(task.check for task in self.known.tasks) and not (self.results and self.results.final):
            return Need(checks="final")
        is_idle = not (c.worked or self.known.in_state("proven") or "idle" in c.told)
        if is_idle and c.iteration < self.loop.limit:
            c.told = (*c.told, "idle")
            c.iteration += 1
            c.run()
            return Answer(blocks=True)
        return self._close(ENDED, "complete")

    def _nothing_can_run(self) -> Answer | None:
        work = self.known
        if work.next:
            return None
        if self.results is not None and self.results.waiting:
            return self._close(PAUSED, "needs_approval")
        if work.in_state("asked"):
            return self._close(PAUSED, "needs_input")
        return self._close(ENDED, "failed")

    def _limits(self) -> Answer | Need | None:
        c, work = self.c, self.known
        c.iteration = max(c.iteration, self.event.counted if self.may_restore else self.event.counted_before)
        self._count()
        if c.iteration >= self.loop.limit or c.elapsed_s >= HOURS_S:
            if self.loop.layout == "specum" and "limit" not in c.told:
                c.told = (*c.told, "limit")
                c.run()
                return Answer(blocks=True)
            return self._close(ENDED, "limit")
        if c.no_progress >= STILL or c.same >= REPLIES or c.empty >= REPLIES:
            return self._aside(work.next) if self._another_can_run() else self._close(ENDED, "stalled")
        for task in (*self._refused(), work.next):
            if c.attempts.get(task, 0) >= ATTEMPTS:
                return self._close(ENDED, "failed") if self.loop.is_sequential else self._aside(task)
        return None

    def _aside(self, task: str) -> Need:
        return Need(aside=task, tried=self.c.attempts.get(task, 0))

    def _another_can_run(self) -> bool:
        """And it has its own row of plain replies before the client's cap."""
        is_alone = self.loop.is_sequential or len(self.known.in_state("open")) < 2
        return not is_alone and self.c.quiet + STILL < CAP

    def _refused(self) -> list[str]:
        found = self.results
        return [] if found is None else [task for task in found.refused if task not in found.left_out]

    def _count(self) -> None:
        c, work = self.c, self.known
        is_first, is_changed = c.tasks_seen is None, work.digest != c.tasks_seen
        refused = self._refused()
        has_claims = bool(set(self.claims) - set(self.results.refused if self.results else ()))
        moved = is_changed or has_claims or work.seen != c.files_seen or self.tools
        c.tasks_seen, c.files_seen = work.digest, work.seen
        c.quiet = 0 if self.tools else c.quiet + 1
        if refused and not (is_changed or has_claims):
            return  # it is an attempt already, and moves nothing else
        c.no_progress = 0 if moved else c.no_progress + 1
        if not moved and c.current:
            c.attempts[c.current] = c.attempts.get(c.current, 0) + 1
        is_fresh = has_claims or (is_changed and not is_first)
        said = " ".join(self.event.reply.lower().split())
        c.same = c.same + 1 if said == c.reply and not is_fresh else 1
        is_empty = len(said) < NEAR_EMPTY and not self.tools
        c.empty = (0 if is_fresh else c.empty) + 1 if is_empty else 0
        c.reply = said
