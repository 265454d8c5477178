#!/usr/bin/env python3
"""scripts/snippets.py BUILD [PAGE...]: runs the code that the pages show, with what is built in the folder BUILD.

Pages are README.md, CONTRIBUTING.md, docs/*.md and docs/learn/*.md where none is named. Every fenced block of them is one
of these:

  cpp, c         compiled against the headers of this checkout and BUILD/lib, and run; without a main() it becomes one
  python         run with BUILD/python by the Python that runs this; blocks of a page share their names, in order
  sh, console,   commands, a line each. Where commands begin with "$ ", the other lines are what they print, and "..."
  no language    stands for any lines, or for any part of a line

What a block does not say itself, comments right before it do:

  <!-- snippet: setup CODE -->           code of the block's language that is run before it
  <!-- snippet: output of COMMAND -->    the block is what the command prints, with "..." as above
  <!-- snippet: needs NAME NAME -->      skipped where a module of Python, a program in BUILD/bin or a folder in BUILD/lib is
                                         not there
  <!-- snippet: skip, REASON -->         not run
  <!-- quote FILE "WORDS" LINES -->      compared with the source, not run (scripts/quotes.py)

A block that is none of these fails. Commands run in a folder of their own, with x.npy and logits.npy (f32, 8x64),
BUILD's programs in `build`, and copies of what they read in bench/results, ridge, docs/learn and apps/ridge/test/lab.
Nothing here builds Ridge. Prints a line for each block: page, line, and "ran", "quoted", "skipped: ..." or "FAILED: ...".
Exits with 1 where one failed.
"""

import importlib.util
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import quotes

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "learn").glob("*.md"))]
SECONDS = 100  # that a program, a command or the Python of a page may take

NOTE = r"<!-- (?:snippet:|quote) (?:(?!-->).)*-->"
BLOCK = re.compile(rf"((?:^{NOTE}\s*)*)^```([^\n]*)\n(.*?)^```$", re.M | re.S)
KIND = re.compile(r"<!-- (?:snippet: )?(setup|skip|needs|output of|quote)\b,?\s*(.*?)\s*-->", re.S)
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(ridge|build/bin/\w+|python3?)\b")  # those that may be run


class Answer(Exception):
    """Of a block that does not run to its end: "skipped: why" or "FAILED: why"."""


class Block(NamedTuple):
    page: str
    line: int  # of the page, where the code begins
    language: str
    text: str
    notes: dict


def blocks_of(path):
    page, text, blocks = os.path.relpath(path, ROOT), path.read_text(), []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(3)) + 1
        blocks.append(Block(page, line, match[2], match[3], dict(KIND.findall(match[1]))))
    if sum(len(block.notes) for block in blocks) != len(re.findall(r"<!-- (?:snippet:|quote )", text)):
        sys.exit(f"{page}: a snippet's comment is before no block, or of no known kind")
    if 2 * len(blocks) != len(re.findall(r"^ *```", text, re.M)):
        sys.exit(f"{page}: a fence (```) is indented, or is not closed")
    return blocks


class Place:
    """The folder that a page's commands run in."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (8, 64), }".ljust(117) + b"\n"
        array = b"\x93NUMPY\x01\x00" + struct.pack("<H118s512f", 118, header, *(i * 37 % 101 / 8 for i in range(512)))
        for name in ("x.npy", "logits.npy"):
            (folder / name).write_bytes(array)
        read = ("bench/results/*/*.json", "ridge/*/*.txt", "docs/learn/*/*.*", "apps/ridge/test/lab/*.cu")
        for path in [path for pattern in read for path in ROOT.glob(pattern)]:
            (folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(ROOT))
        programs = folder / "build" / "bin"  # not BUILD's: there `ridge trace` would first build what is out of date
        programs.mkdir(parents=True)
        for path in (build / "bin").iterdir():
            shutil.copy(path, programs) if path.name == "ridge" else (programs / path.name).symlink_to(path)
        (folder / "build" / "lib").symlink_to(build / "lib")  # what `ridge lab` compiles files with
        for name in ("python", "python3"):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (programs / name).chmod(0o755)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("RIDGE_")}
        self.env.update(PATH=f"{programs}:{os.environ['PATH']}", LD_LIBRARY_PATH=str(build / "lib"))
        self.env.update(PYTHONPATH=str(build / "python"), XDG_CACHE_HOME=str(folder / "cache"), LC_ALL="C.UTF-8")

    def call(self, command, given="", must_succeed=True):
        """What a command (a list, or a line for bash) prints."""
        words = ["bash", "-c", command] if isinstance(command, str) else [str(word) for word in command]
        options = dict(cwd=self.folder, env=self.env, input=given, capture_output=True, text=True, timeout=SECONDS)
        try:
            done = subprocess.run(words, **options)
        except subprocess.TimeoutExpired:
            raise Answer(f"FAILED: took more than {SECONDS} s: {words[-1]}") from None
        if done.returncode and must_succeed:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
            why = next((line for line in lines if "error" in line), lines[-1])
            raise Answer(f"FAILED: exit code {done.returncode}: {why}")
        return done.stdout


def run_program(block, place):
    setup, body = block.notes.get("setup", ""), block.text
    before = ""
    if not re.search(r"\bint main\(", body):  # includes go to the top; the other lines stay where they are
        include = re.compile(r"^#include .*$", re.M)
        before = "\n".join(include.findall(setup + "\n" + body)) + "\nint main() {\n" + include.sub("", setup) + "\n"
        body = include.sub("", body) + "}\n"
    source, program = place.folder / f"snippet.{block.language}", place.folder / "snippet"
    source.write_text(f'{before}#line {block.line} "{block.page}"\n{body}')
    plain_c = block.language == "c"
    compiler = os.environ.get("CC" if plain_c else "CXX") or ("cc" if plain_c else "g++")
    options = ["-std=c99" if plain_c else "-std=c++20", "-Wall", "-Wextra", "-Werror"]
    options += ["-Wno-missing-field-initializers", f"-I{ROOT}", f"-I{ROOT / 'capi/include'}"]
    place.call([*compiler.split(), *options, source, f"-L{place.build / 'lib'}", "-lridge", "-o", program])
    place.call([program])


def compare(expected, printed):
    def pattern(text):
        return re.escape(text).replace(re.escape("..."), ".*")

    expected, printed = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (expected, printed))
    if not re.fullmatch(pattern("\n".join(expected)), "\n".join(printed), re.S):
        odd = [line.strip() for line in expected if not any(re.fullmatch(pattern(line), other) for other in printed)]
        raise Answer("FAILED: " + (f"not printed today: {odd[0]}" if odd else "printed in another order, or with others"))


def run_commands(block, place):
    if "output of" in block.notes:
        return compare(block.text, place.call(block.notes["output of"]))
    text = (block.notes.get("setup", "") + "\n" + block.text).replace("\\\n", " ").strip()
    with_output = text.startswith("$ ")
    steps = []  # commands, each with what it prints
    for line in text.splitlines():
        if line.startswith("$ ") or not with_output and line and not line.startswith("#"):
            steps.append([line.removeprefix("$ "), ""])
        elif with_output:
            steps[-1][1] += line + "\n"
    for command, _ in steps:
        program = COMMAND.match(command)
        if not program:
            raise Answer(f"FAILED: no comment says why this is not run: {command}")
        if not (place.folder / "build/bin" / Path(program[1]).name).exists():
            raise Answer(f"skipped: {program[1]} is not built")
    for command, expected in steps:
        printed = place.call(command)
        if expected.strip():
            compare(expected, printed)


# ---- Python ------------------------------------------------------------------------------------------------------

# Runs a page's blocks, and prints the answer of each. What they print themselves is not looked at.
DRIVER = r"""
import json, os, sys, traceback
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
names = {"__name__": "__main__"}
for page, line, setup, code in json.load(sys.stdin):
    answer = "ran"
    try:
        exec(setup, names)
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)
    except BaseException as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == page]
        answer = f"FAILED: line {lines[-1] if lines else line}: {type(error).__name__}: {error}"
    print(json.dumps(answer), file=answers, flush=True)
"""


def run_python(blocks, place):
    """For each block its answer."""
    request = [(block.page, block.line, block.notes.get("setup", ""), block.text) for block in blocks]
    try:
        printed = place.call([sys.executable, "-c", DRIVER], json.dumps(request), must_succeed=False)
    except Answer as too_late:
        return [str(too_late)] * len(blocks)
    answers = [json.loads(line) for line in printed.splitlines()]
    return answers + ["FAILED: Python ended before this"] * (len(blocks) - len(answers))


def check_quote(block):
    try:
        if quotes.lines_at(block.notes["quote"]) != block.text:
            raise Answer("FAILED: the source has changed; scripts/quotes.py --write")
    except ValueError as why:
        raise Answer(f"FAILED: {why}") from None
    return "quoted"


def run(block, place):
    """Its answer; None for Python's, which run together."""
    try:
        if "skip" in block.notes:
            raise Answer("skipped: " + block.notes["skip"])
        if "quote" in block.notes:
            return check_quote(block)
        needed = block.notes.get("needs", "").split()
        for name in needed:
            folders = [place.build / "bin" / name, place.build / "lib" / name]
            if not importlib.util.find_spec(name) and not any(path.exists() for path in folders):
                raise Answer(f"skipped: {name} is not here")
        if block.language == "python" or "torch" in needed:
            if not (place.build / "python" / "ridge" / "__init__.py").exists():
                raise Answer("skipped: the Python package is not built")
        if block.language == "python":
            return None  # yet
        if block.language in ("cpp", "c"):
            run_program(block, place)
        elif block.language in ("sh", "console", "") or "output of" in block.notes:
            run_commands(block, place)
        else:
            raise Answer(f"FAILED: no comment says why this {block.language} is not run")
        return "ran"
    except Answer as answer:
        return str(answer)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    if not (build / "lib" / "libridge.so").exists():
        sys.exit(f"{build} holds no build of Ridge: there is no lib/libridge.so")
    pages = [Path(page).resolve() for page in sys.argv[2:]]
    answers = []
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder), build)
            found = [[block, run(block, place)] for block in blocks_of(page)]
            python = [entry for entry in found if entry[1] is None]
            for entry, answer in zip(python, run_python([block for block, _ in python], place) if python else []):
                entry[1] = answer
        for block, answer in found:
            print(f"{block.page}:{block.line}  {answer}", flush=True)
            answers.append(answer.split(":")[0])
    counts = [answers.count(answer) for answer in ("ran", "quoted", "skipped", "FAILED")]
    print("{} ran, {} quoted, {} skipped, {} failed".format(*counts))
    sys.exit("FAILED" in answers)


if __name__ == "__main__":
    main()
