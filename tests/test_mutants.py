"""The mutation check on a package of two files: what is changed, what is left alone, and what comes of it."""

import json

import pytest

import mutants
from mutants import BUDGET, GUESS, Tree, confirm, drawn, main, nearness, outcome, report
from mutations import mutations

LOOP = '''"""A loop of 1 thing."""


def steps(n: int) -> int:
    """How many steps: at least 0."""
    total = 0
    while n > 0:
        n -= 1
        total += 1
    return total


def larger(a, b):
    return a if a > b else b
'''
TESTS = """from equirl.numerics.loop import larger, steps


def test_steps_are_counted():
    assert steps(3) == 3


def test_the_larger_one_is_taken():
    assert (larger(1, 2), larger(2, 1)) == (2, 2)
"""


def changed(source):
    return [(found.kind, found.applied(source)) for found in mutations(source)]


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("a < b", "comparison", "a <= b"),
        ("(a) == (b)", "comparison", "(a) != (b)"),
        ("é = [x for x in é if x is not y]", "comparison", "é = [x for x in é if x is y]"),
        ("a + b", "arithmetic", "a - b"),
        ("a //\\\n b", "arithmetic", "a *\\\n b"),
        ("f(-a)", "arithmetic", "f(a)"),
        ("a += b", "arithmetic", "a -= b"),
        ("a and (b or c)", "boolean", "a or (b or c)"),
        ("not a", "boolean", "a"),
        ("a = 0", "constant", "a = 1"),
        ("a = 7", "constant", "a = 8"),
        ("a = 0.25", "constant", "a = 0.5"),
        ("a = True", "constant", "a = False"),
        ("np.maximum(a, b)", "extreme", "np.minimum(a, b)"),
        ("if a: b", "condition", "if not (a): b"),
        ("a = b if c else d", "condition", "a = b if not (c) else d"),
        ("def f() -> float:\n    return a", "return", "def f() -> float:\n    return 0.0"),
        ("def f() -> np.ndarray:\n    return a", "return", "def f() -> np.ndarray:\n    return 0 * (a)"),
        ("a[i] = b", "deleted", "pass"),
        ("check(a)", "deleted", "pass"),
    ],
)
def test_every_kind_of_mutation_changes_what_it_says(source, kind, expected):
    assert (kind, expected) in changed(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""At least 1 < 2."""',
        'raise ValueError(f"{a + 1} is not {b}" + " or 0")',
        "if a:\n    b = c + 1\n    raise ValueError(b)",
        "def f(a: Literal[1]) -> Literal[0]: ...",
        "@cache(1)\ndef f(): ...",
        "if TYPE_CHECKING: import a",
        "if sys.platform == 'win32':\n    a = 1",
        'a = f"{b + 1}"',
        "a = zip(b, c, strict=True)",
        'a = b + " steps"',
        "def __repr__(self):\n    return a + b",
    ],
)
def test_texts_and_types_are_left_alone(source):
    assert [kind for kind, _ in changed(source) if kind != "condition"] == []


def test_the_sample_depends_on_the_seed_alone_and_grows_without_changing():
    sources = {"src/equirl/numerics/loop.py": LOOP, "src/equirl/lab/plots/loop.py": LOOP}
    first, again, other = (list(drawn(sources, seed, "")) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)
    assert {name for name, _ in first} == {"src/equirl/numerics/loop.py"}
    assert {name for name, _ in drawn(sources, 1, "plots")} == {"src/equirl/lab/plots/loop.py"}


@pytest.fixture
def package(tmp_path):
    for name, text in {
        "src/equirl/__init__.py": "", "src/equirl/numerics/__init__.py": "", "src/equirl/numerics/loop.py": LOOP,
        "tests/numerics/test_loop.py": TESTS, "tests/numerics/test_other.py": "def test_nothing():\n    pass\n",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():  # fmt: skip
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    return tmp_path / "root"


def test_what_the_tests_notice_is_killed_and_a_loop_without_end_is_ended(package, tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "TEST_SECONDS", 1)
    tree, name = Tree(package, tmp_path / "work"), "src/equirl/numerics/loop.py"
    by_text = {found.applied(LOOP): found for found in mutations(LOOP)}
    for old, new, expected in [
        ("total += 1", "total -= 1", "killed"),
        ("        n -= 1", "        pass", "timed out"),
        ("a > b", "a >= b", "survived"),
    ]:
        mutation = by_text[LOOP.replace(old, new)]
        assert outcome(tree, name, mutation)["outcome"] == expected
        assert (tree.path / name).read_text() == LOOP
    assert list(tree.nearest(name, mutation)) == ["tests/numerics/test_loop.py", "tests/numerics/test_other.py"]


def test_a_second_run_goes_on_where_the_first_ended_and_survivors_are_shown(package, tmp_path, monkeypatch, capsys):
    tried = []
    monkeypatch.setattr(
        mutants,
        "outcome",
        lambda *call: tried.append(call) or {"outcome": "survived", "by": [], "tests": ["t"], "seconds": 1.0},
    )
    for n in (1, 3):
        main([str(n), "--seed", "5", "--folder", str(tmp_path / "work")], package)
    assert len(tried) == 3
    assert "0 of 3 noticed" in capsys.readouterr().out
    found = json.loads((tmp_path / "work" / "mutants-5.json").read_text())
    assert [line["index"] for line in found] == [0, 1, 2]
    assert all(line["place"].startswith("src/equirl/numerics/loop.py:") and "\n+" in line["diff"] for line in found)


def test_a_mutant_noticed_by_a_test_that_fails_without_it_counts_as_not_tried(package, tmp_path, capsys):
    tree, name = Tree(package, tmp_path / "work"), "tests/numerics/test_loop.py"
    (tree.path / name).write_text(TESTS.replace("steps(3) == 3", "steps(3) == 4"))
    by = ([f"{name}::test_steps_are_counted[1]"], [f"{name}::test_the_larger_one_is_taken"], [name], [])
    results = [
        {"outcome": outcome, "by": tests} for outcome, tests in zip(["killed"] * 3 + ["timed out"], by, strict=True)
    ]
    confirm(tree, results)
    assert [line["outcome"] for line in results] == ["not tried", "killed", "killed", "timed out"]
    report(results)
    assert "3 of 3 noticed: 2 killed, 1 timed out" in capsys.readouterr().out


def test_times_of_files_that_passed_are_noted_and_what_takes_long_does_not_crowd_out_others(package, tmp_path):
    tree, name = Tree(package, tmp_path / "work"), "src/equirl/numerics/loop.py"
    near, other = "tests/numerics/test_loop.py", "tests/numerics/test_other.py"
    assert tree.seconds(near) == GUESS
    assert tree.run([near, other], tree.warm)[0] == 0
    assert 0.0 <= tree.seconds(other) <= tree.seconds(near) < GUESS
    (tree.path / near).write_text(TESTS.replace("== 3", "== 4"))
    before = tree.seconds(near)
    assert tree.run([near], tree.warm)[0] == 1
    assert tree.seconds(near) == before  # it did not run to its end
    mutation = mutations(LOOP)[0]
    for seconds, chosen in ((BUDGET / 2, [near, other]), (0.6 * BUDGET, [near])):
        (tmp_path / "work" / "times.jsonl").write_text(
            "".join(
                json.dumps({"test": test, "seconds": seconds * share}) + "\n"
                for test, share in ((near, 1), (other, 0.5))
            )
        )
        assert list(tree.nearest(name, mutation)) == chosen


def test_a_test_file_is_near_what_it_is_named_after_be_it_a_file_a_class_or_a_function(package, tmp_path):
    tree, name = Tree(package, tmp_path / "work"), "src/equirl/numerics/loop.py"
    for test, function, near in (
        ("test_loop", "steps", True), ("test_steps", "steps", True), ("test_dask_pool", "DaskPool.submit", True),
        ("test_class_sampler", "_ClassSampler.draw", True),
        ("test_pool", "DaskPool.submit", False), ("test_other", "steps", False),
    ):  # fmt: skip
        assert (nearness(f"tests/numerics/{test}.py", "", name, function, tree) >= 32) == near


def test_a_test_file_is_near_what_its_kit_is_made_of(package, tmp_path):
    (package / "tests/loops_kit.py").write_text("from equirl.numerics.loop import steps\n")
    tree, name = Tree(package, tmp_path / "work"), "src/equirl/numerics/loop.py"
    plain, kit = (nearness("tests/other/test_a.py", text, name, "f", tree) for text in ("", "from loops_kit import a"))
    assert kit > plain
