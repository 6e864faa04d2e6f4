"""Stop hooks with one fault each, to see whether the conformance suite notices."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

ALWAYS_ALLOWS = "cat > /dev/null"
ALWAYS_BLOCKS = """cat > /dev/null; printf '{"decision": "block", "reason": "Go on."}'"""

# A little hook for lists of features: it goes on while one is open, counts that, and says when all pass.
# {owner} leaves where the session is not the first that came; without it the hook asks nobody who they are.
LITTLE = """\
import glob, json, os, re, sys
try:
    event = json.load(sys.stdin)
    session = event["session_id"]
    root = event["cwd"]
except (ValueError, KeyError, TypeError):
    sys.exit(0)
if event.get("agent_id"):
    sys.exit(0)
lists = glob.glob(os.path.join(glob.escape(root), ".ralph/loops/*/feature_list.json"))
lists += glob.glob(os.path.join(glob.escape(root), ".claude/data/ralph-loops/current/feature_list.json"))
if not lists:
    sys.exit(0)
{owner}
try:
    found = json.load(open(lists[0]))
except ValueError:
    sys.exit(0)
features = found["features"] if isinstance(found, dict) else found
open_ones = [one for one in features if not ({done})]
progress = os.path.join(os.path.dirname(lists[0]), "progress.txt")
if open_ones:
    if os.path.exists(progress):
        text = open(progress).read()
        counted = re.sub(r"(?m)^Iteration: (\\d+)", lambda at: "Iteration: %d" % (int(at[1]) + 1), text)
        open(progress, "w").write(counted)
    told = "Go on with %s: %s" % (open_ones[0].get("id"), open_ones[0].get("description"))
    print(json.dumps({{"decision": "block", "reason": told}}))
else:
    print(json.dumps({{"systemMessage": "All features pass: complete."}}))
"""
OWNER = """\
seen = os.path.join(os.environ["HOME"], "owner")
if not os.path.exists(seen):
    open(seen, "w").write(session)
if open(seen).read() != session:
    sys.exit(0)
"""
PASSES = 'one.get("passes") is True'
PASSES_OR_SAYS_SO = PASSES + ' or "all_tasks_complete" in str(event.get("last_assistant_message")).lower()'


def little_hook(folder: Path, *, owner: str = OWNER, done: str = PASSES) -> str:
    """The command line of a little hook with these parts."""
    script = folder / "little hook.py"
    script.write_text(LITTLE.format(owner=owner, done=done), encoding="utf-8")
    return shlex.join([sys.executable, "-I", "-S", str(script)])
