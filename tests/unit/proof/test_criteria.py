"""Which files judge: by the table, by what a check runs, and by what of a file was changed."""

from __future__ import annotations

import json
import random

from ralphloop.proof import criteria, protect
from ralphloop.proof.criteria import KINDS, daemon_in, named_by, only_looked_at, table
from unit.domain.cases import each

TESTS = [
    "checks/colours.sh", "checks/ui/a.sh", "qa/smoke.sh",
    "tests/test_app.py", "tests/data/big.json", "app/tests/test_views.py", "test/helper.js", "pkg/test/run.c",
    "Tests/AppTests/A.swift", "src/__tests__/a.js", "src/__mocks__/fs.js", "e2e/login.ts",
    "cypress/support/index.js", "web/cypress/e2e/a.cy.js", "ShopTests/CartTests.swift", "Shop.Tests/Cart.cs",
    "Shop.Test/Cart.cs", "src/test/java/A.java", "app/src/androidTest/A.kt", "integration-tests/a.py",
    "unit_tests/a.py", "features/step_definitions/cart.rb", "spec/models/cart_spec.rb", "spec/spec_helper.rb",
    "spec/support/api.js", "test_app.py", "src/test_app.py", "src/app_test.py", "shop/tests.py", "test.py",
    "app_tests.py", "src/cart.test.ts", "src/cart.test.tsx", "src/cart.spec.js", "src/cart.spec.mts",
    "a.test.cjs", "a.cy.ts", "types.test-d.ts", "src/cart-test.js", "deno/cart_test.ts", "test.js",
    "cart/cart_test.go", "src/cart_test.rs", "src/tests.rs", "src/CartTest.java", "src/CartTests.kt",
    "CartTests.cs", "Cart/CartTest.php", "cart_test.rb", "test_cart.rb", "cart_test.exs", "cart_test.dart",
    "cart_SUITE.erl", "test_cart.ml", "src/cart_test.clj", "cart_test.cc", "cart_unittest.cpp", "test_cart.c",
    "t/basic.t", "checks.bats", "login.robot", "cart.feature", "main.tftest.hcl", "test_run.sh",
    "run_tests.sh", "run-tests.py", "runtests.sh", "test.sh", "contract/Token.t.sol",
]  # fmt: skip

OTHER_CRITERIA = [
    "conftest.py", "shop/conftest.py", "pytest.ini", "tox.ini", "setup.cfg", ".coveragerc", "noxfile.py",
    "jest.config.ts", "jest.setup.js", "vitest.config.mts", "karma.conf.js", ".mocharc.json",
    "playwright.config.ts", "phpunit.xml", "phpunit.xml.dist", ".rspec", "nose.cfg", "cypress.config.ts",
    ".config/nextest.toml", ".cargo/config.toml", "bunfig.toml", "app.runsettings", "web/src/setupTests.ts",
    ".eslintrc.json", ".eslintrc", "eslint.config.mjs", ".prettierrc", ".flake8", "mypy.ini", "ruff.toml",
    ".golangci.yml", "tsconfig.json", "tsconfig.build.json", "clippy.toml", ".rubocop.yml", ".shellcheckrc",
    ".pre-commit-config.yaml", "biome.json", "phpstan.neon.dist", ".editorconfig", "analysis_options.yaml",
    ".clang-tidy", "pyrightconfig.json", "Makefile", "sub/makefile", "GNUmakefile", "rules.mk", "justfile",
    "Taskfile.yml", "Rakefile", "package.json", "web/package.json", "pyproject.toml", "Cargo.toml",
    "crates/a/Cargo.toml", "composer.json", "deno.json", ".npmrc", "gradlew", ".mvn/wrapper/x.jar",
    "turbo.json", "src/golden/a.txt", "web/__snapshots__/a.snap", "a.snap", "pkg/testdata/in.json",
    "fixtures/user.json", "out.golden", "a.approved.txt", "expected/out.txt", ".github/workflows/ci.yml",
    "ci/run.sh", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", "azure-pipelines.yml", "pytest.py",
    "_pytest/__init__.py", "unittest/__init__.py", "sitecustomize.py", "src/sitecustomize.py",
    "src/pytest/__init__.py", "usercustomize.py", "lib/minitest.rb", "lib/minitest/x_plugin.rb",
    "jest/index.js", "lib/Test/More.pm", ".gitattributes", "src/.gitattributes", "eslint-suppressions.json",
    ".betterer.results", ".secrets.baseline", "phpstan-baseline.neon", "qa/psalm-baseline.xml",
    "config/detekt-baseline.xml", "app/lint-baseline.xml", "mypy-baseline.txt", ".basedpyright/baseline.json",
    ".trivyignore", ".semgrepignore", ".gitleaksignore", "out/cart.golden.json", "cart.expected",
    "cases/a.php.expect", "cart.want", "ui/a.stdout", "ui/a.stderr", "examples/cart.out", "samples/one/a.out",
    "cases/1.out", "regress/join.out", "qa/snapshots/cart.txt", "web/snapshots/a.json", "snapshots/home.png",
    "qa/cart.spec.ts-snapshots/home.png", "cassettes/login.yaml", "qa/cassettes/a.json",
    "expected.txt", "app/expected.json", "expected_output.txt", "menu_expected.txt", "menu-expected.csv",
    "golden.txt", "app/golden.json", "menu_golden.txt", "menu.expected.json",
    "vcr_cassettes/login.yml", "baselines/speed.json", "qa/baselines/a.txt", "ui/baselines/home.png",
]  # fmt: skip

WORK = [
    "src/app.py", "app.py", "main.go", "src/main.rs", "src/lib.rs", "lib/cart.rb", "src/index.ts",
    "src/App.tsx", "README.md", "docs/testing.md", "docs/tests.md", "setup.py", "go.mod", "go.sum",
    "package-lock.json", "Cargo.lock", "Gemfile", "pom.xml", "build.gradle", "CMakeLists.txt", "mix.exs",
    "vite.config.ts", "webpack.config.js", "babel.config.js", "Dockerfile", "docker-compose.yml", ".env",
    ".gitignore", "LICENSE", "src/contest.py", "src/latest.py", "src/attest.go", "src/testimonials.py",
    "src/protest.js", "src/testing.py", "src/tester.py", "app/models/test_result.rb.bak",
    "src/Testimonial.java", "src/Contest.java", "src/LatestNews.cs", "src/fastest.ts", "src/testing/fake.py",
    "testing/README.md", "src/tested.rs", "attestation/a.py", "contests/a.py", "latest/a.py",
    "spec/openapi.yaml", "spec/README.md", "specs/cart/tasks.md", "openapi.spec.json", "app.spec",
    "shop.spec.yaml", "src/spec.py", "src/specification.ts", "src/expected.hpp", "include/expected.hpp",
    "src/fixture.py", "src/goldens.py", "src/snapshot.py", "src/snap.ts", "src/linter.py",
    "src/ruff_runner.py", "src/eslint-plugin/index.js", "src/jest-like.ts", "src/pytest_helper.py",
    "src/my_pytest.py", "src/shop/pytest.py", "src/shop/unittest.py", "lib/shop/minitest.rb",
    "src/shop/sitecustomize.txt", "shop/coverage.py", "src/doctest_like.py", "src/unit.py", "unittests.md",
    "src/ci/pipeline.py", "ci.py", "src/ci.ts", "my-ci/run.sh", "src/github/workflows.py", "workflows/a.yml",
    "src/Makefile.py", "src/makefile.ts", "src/package.ts", "src/packages.json", "packages/a/index.js",
    "src/pyproject.py", "src/tasks.py", "tasks.py", "scripts/build.sh", "scripts/release.py", "bin/tool",
    "tool", "src/check.py", "check.sh", "verify.py", "src/tsconfig.ts", "config/settings.toml", "config.json",
    "src/conf.py", "src/config.test", "data/tests.csv", "src/gradle.ts", "src/mocks.py", "src/e2e.ts",
    "src/cypress.ts", "src/feature.ts", "features/cart/index.ts", "src/benchmark.rs", "benches/cart.rs",
    "gitattributes.py", "docs/gitattributes.md", "src/baseline.py", "suppressions.ts", "src/expected.py",
    "src/golden.ts", "golden_retriever.md", "src/golden_ratio.py", "expected.md", "unexpected.txt",
    "expected_visitors.csv", "src/checks/cpu.sh", "checks/models.py", "login.expect",
    "a.out", "cover.out", "dist/report.out", "result.out", "src/want.go",
    "src/stdout.rs", "src/snapshots/create.ts", "app/views/snapshots/index.html.erb",
    "templates/snapshots/list.html", "src/cassettes/player.py", "baselines/resnet.py", "src/baselines/run.ts",
    "examples/cart.txt", "samples/cart.csv", "semgrepignore.py", "lint-baseline.md",
    "examples/cart.py", "migrations/0001_test.sql", "notebooks/test.ipynb", "models/resnet.pth",
]  # fmt: skip


@each("path", TESTS)
def test_a_test_judges(path: str) -> None:
    assert table().judges(path)
    assert table().is_test(path)


@each("path", OTHER_CRITERIA)
def test_what_a_runner_reads_judges_and_is_no_test(path: str) -> None:
    assert table().judges(path)
    assert not table().is_test(path)


@each("path", WORK)
def test_work_does_not_judge(path: str) -> None:
    assert not table().judges(path)
    assert not table().is_test(path)


def test_half_of_the_paths_are_work() -> None:
    assert len(TESTS) + len(OTHER_CRITERIA) >= 150
    assert len(WORK) >= 75


def test_a_person_adds_globs_as_under_protect() -> None:
    mine = table(["qa/**", "**/*.oracle", "top.txt"])
    for path in ("qa/a/b", "x/y.oracle", "top.txt", "tests/a.py"):
        assert mine.judges(path)
    for path in ("x/qa/a", "x/top.txt", "src/app.py"):
        assert not mine.judges(path)
    assert not mine.is_test("qa/a/b")
    assert not table().judges("qa/a/b")


def test_the_table_means_what_protect_means() -> None:
    """One language of globs: random paths of its own words come to the same both ways."""
    globs = [glob for kind in KINDS for glob in criteria.sections()[kind]]
    words = [*TESTS, *OTHER_CRITERIA, *WORK]
    parts = sorted({part for path in words for part in path.split("/")})
    chance = random.Random(7)
    for _ in range(2_000):
        path = "/".join(chance.choices(parts, k=chance.randint(1, 4)))
        assert table().judges(path) == any(protect.matches(path, glob) for glob in globs), path


def test_no_line_of_the_table_stands_twice() -> None:
    for kind, lines in criteria.sections().items():
        assert lines, kind
        assert len(lines) == len(set(lines)), kind


PYPROJECT = """
[project]
name = "shop"
dependencies = ["httpx"]

[tool.pytest.ini_options]
addopts = [
  "-q",
]

[tool.hatch.build]
packages = ["src/shop"]
"""


@each(
    ("path", "before", "after", "judges"),
    [
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"httpx"', '"httpx", "rich"'), False),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("src/shop", "src/store"), False),
        ("pyproject.toml", PYPROJECT, PYPROJECT + "\n# a note\n", False),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q",', '"-q",\n  "--deselect=x",'), True),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q",', '"-q",\n  ["x"]\n'), True),
        ("pyproject.toml", PYPROJECT, PYPROJECT + '[tool.coverage.run]\nomit = ["*"]\n', True),
        ("pyproject.toml", PYPROJECT, PYPROJECT + '[ tool . "ruff" ]\nignore = ["E"]\n', True),
        ("pyproject.toml", PYPROJECT, PYPROJECT + '[tool]\npytest.ini_options.addopts = "-x"\n', True),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q",', '"""\n[project]\n"""'), True),
        ("pyproject.toml", PYPROJECT, None, True),
        ("pyproject.toml", None, PYPROJECT, True),
        ("pyproject.toml", None, '[project]\nname = "shop"\n', False),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", False),
        ("setup.cfg", "[metadata]\n", "[metadata]\n[tool:pytest]\naddopts = -k x\n", True),
        ("Cargo.toml", "[dependencies]\n", '[dependencies]\nserde = "1"\n', False),
        ("Cargo.toml", '[package]\nname = "a"\n', '[package]\nname = "a"\nautotests = false\n', True),
        ("Cargo.toml", "[lints.rust]\n", '[lints.rust]\nunused = "allow"\n', True),
        ("package.json", {"version": "1"}, {"version": "2", "dependencies": {"a": "1"}}, False),
        ("package.json", {"scripts": {"test": "jest"}}, {"scripts": {"test": "true"}}, True),
        ("package.json", {"name": "a"}, {"name": "a", "jest": {"testMatch": []}}, True),
        ("web/package.json", {"scripts": {}}, "{no json", True),
        ("composer.json", {"require": {}}, {"require": {"a": "1"}}, False),
        # all of any other file
        ("Makefile", "a:\n", "a:\n\tb\n", True),
        ("tests/package.json", {"version": "1"}, {"version": "2"}, True),
        ("src/app.py", "a", "b", False),
    ],
)
def test_a_change_to_a_file_that_is_work_as_well(
    path: str, before: object, after: object, judges: bool
) -> None:
    texts = [json.dumps(one) if isinstance(one, dict) else one for one in (before, after)]
    assert table().judges_change(path, *texts) is judges  # type: ignore[arg-type]


SCRIPTS = {
    "scripts/check.sh": """
        cd "$(dirname "$0")"
        . ./lib_test.sh
        python3 ../src/app.py && ./check_more.py && ./build.sh
    """,
    "scripts/lib_test.sh": "",
    "scripts/build.sh": "",
    "scripts/check_more.py": "import os\nimport check_words\nfrom helper import x\nopen('expected/a.txt')\n",
    "scripts/check_words.py": "",
    "scripts/helper.py": "",
    "scripts/expected/a.txt": "",
    "src/app.py": "import check_words\n",
    "verify.js": "require('./verify-lib')\n",
    "verify-lib.js": "",
    "checkout.py": "",
    "loop_check.sh": "",
    "check-a.sh": ". ./check-b.sh",
    "check-b.sh": ". ./check-a.sh",
    "sub/check.sh": "",
    "checks/app_check.py": "",
}


@each(
    ("command", "named"),
    [
        ("./scripts/check.sh", "check.sh lib_test.sh check_more.py check_words.py helper.py expected/a.txt"),
        (
            "bash -x scripts/check.sh --fast",
            "check.sh lib_test.sh check_more.py check_words.py helper.py expected/a.txt",
        ),
        ("python3 scripts/check_more.py", "check_more.py check_words.py helper.py expected/a.txt"),
        ("cd scripts && ./build.sh", "build.sh"),  # it lies where judges do
        ("timeout 5 sh -c './scripts/lib_test.sh'", "lib_test.sh"),
    ],
)
def test_a_script_that_a_check_runs_judges_with_what_it_names(command: str, named: str) -> None:
    assert named_by([command], SCRIPTS.get, table()) == {f"scripts/{name}" for name in named.split()}


@each(
    ("command", "named"),
    [
        ("node verify.js", {"verify.js", "verify-lib.js"}),
        ("cd sub && ./check.sh", {"sub/check.sh"}),
        ("pytest -q checks/app_check.py::test_a", {"checks/app_check.py"}),
        ("python3 -m pytest test_new.py", {"test_new.py"}),
        ("python3 -m checks.app_check", {"checks/app_check.py", "checks/app_check/__main__.py"}),
        ("./check-a.sh", {"check-a.sh", "check-b.sh"}),  # which name each other
        (". ./check-a.sh", {"check-a.sh", "check-b.sh"}),
        # the program under test is the work
        ("./tool --self-test", set()),
        ("python3 src/app.py", set()),
        ("python3 checkout.py", set()),
        ("test -f scripts/check.sh", set()),
        ("grep -q x verify.js", set()),
        ("python3 -c 'import check'", set()),
        ("/usr/bin/check.sh", set()),
        ("../check.sh", set()),
        ('"$HOME/check.sh"', set()),
        ("make", set()),
        ("", set()),
    ],
)
def test_what_a_check_names_is_told_from_the_work(command: str, named: set[str]) -> None:
    assert named_by([command], SCRIPTS.get, table()) == named


MORE = {
    **dict.fromkeys(
        [
            "check.sh",
            "check.py",
            "check.js",
            "check.pl",
            "check.awk",
            "check.c",
            "src/check.py",
            "sub/check.sh",
            "scripts/check.sh",
            "scripts/build.sh",
            "tools/verify_a.sh",
            "tools/convert.sh",
            "lib/validate.js",
            "expected_a.txt",
            "golden-a.txt",
            "src/expected.py",
            "test-plan.json",
            "helper.py",
            "check_two.py",
        ],
        "",
    ),
    "Makefile": "SOURCES = check.c main.c\n\ncheck:\n\t@sh scripts/check.sh\nbuild: ; sh scripts/build.sh\n"
    "all:\n\t$(MAKE) -C web\n",
    "web/Makefile": "check:\n\tpython3 check_web.py\n",
    "web/check_web.py": "",
    "package.json": '{"main": "check.js", "scripts": {"test": "make check", "lint": "eslint check.js", '
    '"e2e": "node --import tsx check.js"}}',
    "web/package.json": '{"scripts": {"test": "node check_all.js"}}',
    "web/check_all.js": "",
    "tox.ini": "[testenv]\ncommands =\n    python -W error check.py\n",
    "noxfile.py": 'def tests(session):\n    session.run("python", "check.py")\n',
    "justfile": "check:\n    sh tools/verify_a.sh\n",
    "Taskfile.yml": "tasks:\n  check:\n    cmds:\n      - sh tools/verify_a.sh\n",
    "Rakefile": "task :check do\n  sh 'sh tools/verify_a.sh'\nend\n",
    "run.sh": "set -e\nsh tools/verify_a.sh\nsh tools/convert.sh\nmake -C web check\n",
    "tool.sh": "sh tools/verify_a.sh\n",
    "check_helped.py": "import helper\nhelper.run()\n",
    "check_itself.py": "import helper\nassert helper.slug('a b') == 'a-b'\n",
}
JUSTFILE = {"tools/verify_a.sh"}


@each(
    ("command", "named"),
    [
        ("make check", {"scripts/check.sh", "web/check_web.py"}),
        ("timeout 60 make -s check", {"scripts/check.sh", "web/check_web.py"}),
        ("make -C web check", {"scripts/check.sh", "web/check_web.py"}),
        ("npm test", {"scripts/check.sh", "web/check_web.py", "check.js"}),
        ("cd web && npm test", {"web/check_all.js"}),
        ("yarn --cwd web test", {"web/check_all.js", "scripts/check.sh", "web/check_web.py", "check.js"}),
        ("tox -e py", {"check.py"}),
        ("nox", {"check.py"}),
        ("just check", JUSTFILE),
        ("task check", JUSTFILE),
        ("rake check", JUSTFILE),
        ("sh run.sh", {"tools/verify_a.sh", "scripts/check.sh", "web/check_web.py"}),
        # a program that is the work may call what it likes
        ("sh tool.sh", set()),
        ("grep -q check Makefile", set()),
        ("just", JUSTFILE),
    ],
)
def test_the_file_of_a_task_runner_says_what_it_runs(command: str, named: set[str]) -> None:
    assert named_by([command], MORE.get, table()) == named


@each(
    ("command", "named"),
    [
        ("bash -e check.sh", {"check.sh"}),
        ("bash -eu -o pipefail check.sh", {"check.sh"}),
        ("python3 -W ignore check.py", {"check.py"}),
        ("sh < check.sh", {"check.sh"}),
        ("cat check.sh | sh", {"check.sh"}),
        ('eval "$(cat check.sh)"', {"check.sh"}),
        ('sh "$PWD/check.sh"', {"check.sh"}),
        ('"$(git rev-parse --show-toplevel)/check.sh"', {"check.sh"}),
        ("uv run check.py", {"check.py"}),
        ("coverage run check.py", {"check.py"}),
        ("node --import tsx check.js", {"check.js"}),
        ("flock -n l sh check.sh", {"check.sh"}),
        ("timeout --signal KILL 5 sh check.sh", {"check.sh"}),
        ("perl -I lib check.pl", {"check.pl"}),
        ("C=check.sh; sh $C", {"check.sh"}),
        ("for f in sub/check.sh; do sh $f; done", {"sub/check.sh"}),
        ("python3 -c \"import runpy; runpy.run_path('check.py')\"", {"check.py"}),
        ("awk -f check.awk app.txt", {"check.awk"}),
        ("cd sub && bash -e check.sh", {"sub/check.sh", "check.sh"}),
        ("sh tool.sh | diff - expected_a.txt", {"expected_a.txt"}),
        ("grep -qf golden-a.txt app.txt", {"golden-a.txt"}),
        ("python3 check_helped.py", {"check_helped.py", "helper.py"}),
        # looked at, styled or compiled; or work that is there to be run
        ("cat check.sh | grep -q set", set()),
        ("ruff check check.py && mypy check.py", set()),
        ("python3 -m py_compile tool.py check_two.py", set()),
        ("npx eslint check.js", set()),
        ("shellcheck check.sh", set()),
        ("sh tool.sh > check.sh; rm check.sh", set()),
        ("grep -q x expected_a.txt", set()),
        ("uv run lib/validate.js", {"lib/validate.js"}),
        ("coverage run src/check.py", set()),
        ("python3 tool.py src/expected.py", set()),
        ("python3 -c \"import json; json.load(open('test-plan.json'))\"", set()),
        ("python3 check_itself.py", {"check_itself.py"}),
        ('sh "$HOME/check.sh"', set()),
        ("echo check.sh", set()),
    ],
)
def test_a_word_that_is_a_judging_script_is_one_whatever_runs_it(command: str, named: set[str]) -> None:
    assert named_by([command], MORE.get, table()) == named


def test_task_runners_that_run_each_other_are_bounded() -> None:
    read: list[str] = []

    def text(path: str) -> str:
        read.append(path)
        return "all:\n" + "".join(f"\tmake -C {each}\n" for each in range(100))

    named_by(["make"], text, table())
    assert len(read) < 1_000


def test_scripts_that_name_ever_more_scripts_are_bounded() -> None:
    read: list[str] = []

    def text(path: str) -> str:
        read.append(path)
        number = len(read)
        return " ".join(f"./check_{number}_{each}.sh" for each in range(100))

    found = named_by(["./check.sh"], text, table())
    assert len(found) <= 1 + 100 * criteria.SCRIPTS_MOST
    assert len(read) < 100_000


@each(
    ("command", "daemon"),
    [
        ("docker compose run app pytest", "docker"),
        ("sudo -E docker run x", "docker"),
        ("DOCKER_HOST=x docker-compose up", "docker-compose"),
        ("./gradlew test", "gradlew"),
        ("cd app && ../gradlew check", "gradlew"),
        ("npx nx test shop", "nx"),
        ("yarn nx test", "nx"),
        ("timeout 60 bazelisk test //...", "bazelisk"),
        ("bash -c 'podman run x'", "podman"),
        ('test "$(kubectl get pods)" = x', "kubectl"),
        ("if docker ps; then true; fi", "docker"),
        ("sbt --client test", "sbt"),
        ("dotnet test", "dotnet"),
        ("ssh host make test", "ssh"),
        ("sbt test", ""),
        ("echo docker", ""),
        ("grep -q docker Makefile", ""),
        ("test -f docker/compose.yml", ""),
        ("./docker.sh", ""),
        ("make test", ""),
        ("curl -f http://localhost:3000", ""),
        ("pytest -k 'docker run'", ""),
        ("# docker\npytest", ""),
    ],
)
def test_a_check_that_works_through_a_daemon(command: str, daemon: str) -> None:
    assert daemon_in(command) == daemon


def test_a_person_adds_daemons() -> None:
    assert daemon_in("mydaemon run") == ""
    assert daemon_in("mydaemon run", ["mydaemon"]) == "mydaemon"


@each(
    ("command", "files"),
    [
        ("test -f .github/workflows/ci.yml", {".github/workflows/ci.yml"}),
        ("[ -f Makefile ] && grep -q '^lint:' Makefile", {"Makefile", "^lint:"}),
        ("jq -e .scripts.build package.json", {".scripts.build", "package.json"}),
        ("pytest tests", set()),
        ("test -f Makefile && make lint", set()),
        ("grep -f tests/words.txt README.md", set()),
        ("diff expected/a.txt a.txt", set()),
        ('test "$(./tool)" = x', set()),
    ],
)
def test_what_a_check_only_looks_at_is_its_work(command: str, files: set[str]) -> None:
    assert only_looked_at(command) == files


def test_a_range_that_runs_backwards_stands_for_itself() -> None:
    more = criteria.table(["[z-a]x", "qa/[9-0]*.py"])
    assert [path for path in ("zx", "x", "[z-a]x", "qa/5.py") if more.judges(path)] == ["[z-a]x"]


RUST = """
pub fn add(a: i32, b: i32) -> i32 { assert!(a < 1000); a + b }

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(super::add(2, 3), 5);
        let name = "assertive";
    }
}
"""


@each(
    ("text", "lines"),
    [
        (RUST, ["assert_eq!(super::add(2, 3), 5);"]),
        ("pub fn add() { assert!(true); }", []),
        ('test "adds" {\n    try std.testing.expectEqual(5, add(2, 3));\n}',
         ["try std.testing.expectEqual(5, add(2, 3));"]),
        ("if (import.meta.vitest) {\n  it('adds', () => expect(add(2, 3)).toBe(5));\n}",
         ["it('adds', () => expect(add(2, 3)).toBe(5));"]),
        ("const a = expect(1);", []),
    ],
)  # fmt: skip
def test_assertions_in_files_of_the_work_are_known(text: str, lines: list[str]) -> None:
    assert criteria.inline_assertions(text) == lines
