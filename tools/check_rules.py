#!/usr/bin/env python3
"""Proves that every rule of tests/rules/ has a test that fails without it.

Each rule there names a chapter of the guide, the tests that cover it, and one mutant: a text of one file and another
one that drops the rule. `make rules` takes the rules one by one: it changes the file in a copy of the tree, builds the
test, runs it, and expects that it fails.

  --check         only whether the list is true: every text is found once, every filter names tests that exist, and
                  the page docs/machine.md shows the list as it is
  --page          writes that page
  --only PATTERN  only rules whose id contains the pattern (may be given again)
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "rules"
PAGE = ROOT / "docs" / "machine.md"
# The rows of the machine's scope that must all have rules here.
ROWS = {
    "D1": "Device and topology", "D2": "Command processor", "D3": "Host-visible memory, copy engine",
    "D4": "Memory hierarchy", "D5": "Wave32 and wave64, CU mode and WGP mode", "D6": "Wave state and launch",
    "D7": "Registers out of range", "D8": "Exceptions, traps, wave control",
    "F1": "Program control", "F2": "Branches and calls", "F3": "Clauses", "F4": "Messages", "F5": "Barriers",
    "F6": "Dependency counters", "F7": "s_delay_alu",
    "S1": "Scalar destinations", "S2": "Scalar memory",
    "V2": "Operands of vector instructions", "V3": "Modifiers", "V5": "16-bit registers", "V6": "Dot products",
    "V7": "Dual issue", "V8": "DPP", "V10": "Matrix instructions", "V11": "Masks, carries, division",
    "V12": "Cross-lane instructions",
    "L1": "LDS", "L2": "Indexed loads and stores", "L3": "LDS atomics", "L4": "Float atomics", "L5": "Permutes",
    "L6": "Append and consume", "L7": "Direct and parameter loads", "L8": "Interpolation", "L9": "Ray-tracing stack",
    "L10": "GDS", "L11": "Ordered count", "L12": "GWS", "L13": "Stream-out registers", "L14": "Alignment and errors",
}
FIELDS = {"id", "guide", "rule", "test", "filter", "file", "find", "replace"}
# A mutant may make a test wait for ever. None of these tests takes nearly as long.
TEST_SECONDS = 60


class Rule:
    def __init__(self, place, entry):
        missing, unknown = FIELDS - entry.keys(), entry.keys() - FIELDS
        if missing or unknown:
            sys.exit(f"{place}: rule {entry.get('id', '?')}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        self.__dict__.update(entry)
        self.row = self.id.split(".")[0]
        self.target = "test_" + self.test.replace("/", "_")

    def mutate(self, text):
        return text.replace(self.find, self.replace)


def load_rules():
    rules = []
    for path in sorted(LISTS.glob("*.toml")):
        try:
            entries = tomllib.loads(path.read_text())["rule"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            sys.exit(f"{path}: {error}")
        rules += [Rule(path, entry) for entry in entries]
    return rules


def run(command, seconds=None, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
                          **options)


def test_program(build, target):
    found = list(build.glob(f"tests/**/{target}"))
    return found[0] if found else None


def tests_in(program):
    """The full names of a test program's tests."""
    listing = run([program, "--gtest_list_tests"])
    names, suite = [], ""
    for line in listing.stdout.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip()
        else:
            names.append(suite + line.split("#")[0].strip())
    return names


# ---- Whether the list is true

def mistakes_of(rule, texts, tests):
    if rule.file not in texts:
        path = ROOT / rule.file
        texts[rule.file] = path.read_text() if path.is_file() else None
    text = texts[rule.file]
    if text is None:
        yield f"there is no file {rule.file}"
    elif text.count(rule.find) != 1:
        yield f"{rule.file} has the text of `find` {text.count(rule.find)} times, not once: {rule.find!r}"
    elif rule.mutate(text) == text:
        yield "the mutant changes nothing"
    if tests is None:
        return
    if not tests.get(rule.target):
        yield f"there is no test program {rule.target} (test = {rule.test!r})"
        return
    for pattern in rule.filter.split(":"):
        if not fnmatch.filter(tests[rule.target], pattern):
            yield f"no test of {rule.test} is called {pattern}"


def check_list(rules, build):
    tests = None
    if build:
        programs = {target: test_program(build, target) for target in {rule.target for rule in rules}}
        tests = {target: tests_in(program) if program else [] for target, program in programs.items()}
    texts, good = {}, True
    for rule in rules:
        for mistake in mistakes_of(rule, texts, tests):
            print(f"{rule.id}: {mistake}")
            good = False
    for id, count in collections.Counter(rule.id for rule in rules).items():
        if count > 1:
            print(f"{id}: {count} rules have this id")
            good = False
    for row in sorted(ROWS.keys() ^ {rule.row for rule in rules}):
        print(f"row {row} has no rule, or is none of the machine's")
        good = False
    if PAGE.read_text() != page_of(rules):
        print(f"{PAGE.relative_to(ROOT)} is out of date: make docs")
        good = False
    return good


# ---- The page

def cell(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def page_of(rules):
    rows = {row: [rule for rule in rules if rule.row == row] for row in ROWS}
    lines = [
        "# The machine around the wave: rules and their tests", "",
        "Generated by `tools/check_rules.py --page` from `tests/rules/`; do not edit. Each rule names where it is from (a",
        "chapter of the guide, or a public source), the tests that cover it, and there a mutant that drops it: `make rules`",
        "applies each and wants its tests to fail ([how](architecture.md#rules-and-their-mutants)). What instructions do",
        "is in [isa.md](isa.md).", "",
        "| row | what | rules |", "|---|---|---|",
        *(f"| [{row}](#{row.lower()}) | {ROWS[row]} | {len(rows[row])} |" for row in ROWS),
        f"| | | {len(rules)} |",
    ]
    for row in ROWS:
        lines += ["", f"## {row}", "", f"{ROWS[row]}.", "", "| rule | source | what holds | tests |", "|---|---|---|---|"]
        for rule in rows[row]:
            tests = "<br>".join(f"`{name}`" for name in rule.filter.split(":"))
            lines.append(f"| {rule.id.split('.', 1)[1]} | {cell(rule.guide)} | {cell(rule.rule)} | {rule.test}: {tests} |")
    return "\n".join(lines) + "\n"


# ---- Mutants

class Tree:
    """A copy of the tree as it stands, with a build of its own, in which one file at a time is changed."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.build = folder / "build" / "release"
        self.mutated, self.original = None, ""

    def refresh(self):
        """Copies what differs, so that only that is built again."""
        listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT).stdout
        files = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for name in files:
            source, copy = ROOT / name, self.folder / name
            if copy.is_file() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if path.is_file() and name.parts[0] != "build" and str(name) not in files:
                path.unlink()

    def configure(self):
        command = ["cmake", "--preset", "release"]
        if shutil.which("ccache"):
            command += [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
        result = run(command, cwd=self.folder)
        if result.returncode:
            sys.exit(result.stdout)

    def make(self, targets):
        return run(["cmake", "--build", self.build, "-j", str(self.jobs), "--target", *targets])

    def restore(self):
        if self.mutated:
            self.mutated.write_text(self.original)
        self.mutated = None

    def mutate(self, rule):
        self.restore()
        self.mutated = self.folder / rule.file
        self.original = self.mutated.read_text()
        self.mutated.write_text(rule.mutate(self.original))

    def test(self, rule):
        """The result and the text of the rule's tests."""
        command = [test_program(self.build, rule.target), "--gtest_brief=1", f"--gtest_filter={rule.filter}"]
        try:
            result = run(command, TEST_SECONDS)
        except subprocess.TimeoutExpired:
            return "hangs", ""
        if result.returncode == 0:
            return "passes", result.stdout
        return "fails" if result.returncode == 1 else f"ends with {result.returncode}", result.stdout


def judge(tree, rule):
    """What became of the mutant; good only if it was killed."""
    tree.mutate(rule)
    built = tree.make([rule.target])
    if built.returncode:
        errors = [line for line in built.stdout.splitlines() if ": error: " in line]
        return False, "DOES NOT COMPILE: " + "\n    ".join(errors[:4])
    how, _ = tree.test(rule)
    return (False, "SURVIVED") if how == "passes" else (True, f"killed: the test {how}")


class Pool:
    """The rules that no tree has taken yet. A tree stays with its file, for each change of file builds one more of them
    again; when the files run out it helps where most is left, so that the end keeps every core busy."""

    def __init__(self, rules):
        self.lock = threading.Lock()
        self.left, self.trees = collections.defaultdict(list), collections.Counter()
        for rule in rules:
            self.left[rule.file].append(rule)

    def take(self, file):
        """The next rule for a tree that was at `file`; nothing if all are taken."""
        with self.lock:
            if not self.left[file]:
                self.trees[file] -= 1
                file = max(self.left, key=lambda name: (bool(self.left[name]) and not self.trees[name],
                                                        len(self.left[name])))
                self.trees[file] += 1
            return self.left[file].pop(0) if self.left[file] else None


def try_mutants(rules, jobs):
    begin = time.monotonic()
    trees = [Tree(ROOT / "build" / "rules" / str(i), max(1, jobs // len(rules))) for i in range(min(jobs, len(rules)))]
    targets = sorted({rule.target for rule in rules})
    bad, lock, done = [], threading.Lock(), 0

    def say(rule, good, text):
        nonlocal done
        with lock:
            done += 1
            if not good:
                bad.append((rule, text))
            print(f"[{done}/{len(rules)}] {rule.id}: {text}", flush=True)

    def prepare(tree):
        tree.refresh()
        tree.configure()
        built = tree.make(targets)
        if built.returncode:
            sys.exit("the tree does not build:\n" + built.stdout[-2000:])

    def test_unchanged(tree, share):
        """Tests that fail without a mutant would prove nothing."""
        for rule in share:
            how, text = tree.test(rule)
            if how == "passes":
                sound.append(rule)
            else:
                say(rule, False, f"the test {how} without the mutant\n{text[-2000:]}")

    def work(tree, pool):
        file = None
        while rule := pool.take(file):
            say(rule, *judge(tree, rule))
            file = rule.file
        tree.restore()

    sound = []
    with concurrent.futures.ThreadPoolExecutor(len(trees)) as threads:
        list(threads.map(prepare, trees))
        list(threads.map(test_unchanged, trees, [rules[i::len(trees)] for i in range(len(trees))]))
        pool = Pool(sound)
        list(threads.map(work, trees, [pool] * len(trees)))
    print(f"{len(rules) - len(bad)} of {len(rules)} mutants killed in {time.monotonic() - begin:.0f} s")
    for rule, text in bad:
        print(f"  {rule.id} (guide {rule.guide}): {text}\n    {rule.rule}\n    {rule.test}: {rule.filter}")
    return not bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, help="with --check: the build whose tests are looked at")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    rules = load_rules()
    if arguments.page:
        PAGE.write_text(page_of(rules))
        return 0
    if not check_list(rules, arguments.build):
        return 1
    if arguments.check:
        print(f"{len(rules)} rules of {len({rule.row for rule in rules})} rows")
        return 0
    if arguments.only:
        rules = [rule for rule in rules if any(pattern in rule.id for pattern in arguments.only)]
    return 0 if try_mutants(rules, max(1, arguments.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
