"""A check in a repository whose own git files mean no good."""

from __future__ import annotations

from hook.branches import git
from hook.conftest import ProjectFactory
from hook.harness import feature
from hook.proven import evidence, listed


def test_a_remote_that_is_a_command_does_not_run_for_a_look_at_the_tree(project: ProjectFactory) -> None:
    found = listed(project, feature("F1", verify="true"), feature("F2"))
    found.write({"keep/a.txt": "a\n", "drop/b.txt": "b\n"})
    found.commit_all()
    mark = found.base / "ran"
    found.git("sparse-checkout", "init", "--cone", "--sparse-index")
    found.git("sparse-checkout", "set", "keep", ".ralph")
    for name, value in {
        "core.repositoryformatversion": "1", "extensions.partialClone": "origin",
        "remote.origin.promisor": "true", "protocol.ext.allow": "always",
        "remote.origin.url": "ext::sh -c touch% " + str(mark).replace(" ", "% "),
    }.items():  # fmt: skip
        found.git("config", name, value)
    lost = git(found, "rev-parse", "HEAD:drop")
    (found.root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    found.close(1)
    assert found.turn().blocks
    assert [record["exit_code"] for record in evidence(found)] == [0]
    assert not mark.exists()
    found.git("ls-files", "--cached")
    assert mark.exists(), "it would run otherwise"
