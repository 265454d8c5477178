"""The wheel's platform tag: what its binaries need, and no less."""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import ridge

PYTHON = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(PYTHON))
import manylinux  # noqa: E402

PACKAGE = pathlib.Path(ridge.__file__).parent
BINARIES = [*PACKAGE.glob("*.so*"), *PACKAGE.glob("bin/*")]
pytestmark = pytest.mark.skipif(not shutil.which("objdump"), reason="objdump (binutils) reads the binaries")


def test_the_tag_is_what_the_binaries_need():
    try:
        said = importlib.metadata.distribution("ridge").read_text("WHEEL")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("this is the build's folder and no installed wheel")
    python, abi, platform = re.search(r"^Tag: (\S+)-(\S+)-(\S+)$", said, re.M).groups()
    assert (python, abi, platform) == ("cp310", "abi3", manylinux.tag(BINARIES))
    symbols = subprocess.run(["objdump", "-T", *BINARIES], check=True, capture_output=True, text=True).stdout
    glibc = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols))
    compiler = max(int(patch) for patch in re.findall(r"GLIBCXX_3\.4\.(\d+)", symbols))
    least = int(re.fullmatch(r"manylinux_2_(\d+)_\w+", platform)[1])
    # The newest libstdc++ of systems with that glibc: of g++ 11 for 2.34, of g++ 12 for 2.35.
    assert least == max(
        glibc, next(n for n, newest in [(17, 19), (31, 28), (34, 29), (35, 30), (39, 33)] if compiler <= newest)
    )


@pytest.mark.parametrize(
    "version, least",
    [("GLIBC_2.2.5", 17), ("GLIBC_2.33", 33), ("GLIBC_2.36", 36), ("GLIBC_ABI_DT_RELR", 36), ("GLIBCXX_3.4", 17),
     ("GLIBCXX_3.4.29", 34), ("GLIBCXX_3.4.30", 35), ("CXXABI_1.3.13", 34), ("GCC_3.0", 17), ("GCC_12.0.0", 35),
     ("GLIBCXX_3.4.99", None), ("GLIBC_PRIVATE", None), ("FOO_1.0", None)],
)  # fmt: skip
def test_versions(version, least):
    assert manylinux._least(version) == least


@pytest.fixture
def libraries(tmp_path):
    """A library, and one that needs it."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("no C compiler")
    (tmp_path / "other.c").write_text("int other(void) { return 1; }\n")
    (tmp_path / "one.c").write_text("int other(void);\nint one(void) { return other(); }\n")
    other, one = tmp_path / "libother.so.3", tmp_path / "_ridge.abi3.so"
    shared = [compiler, "-shared", "-fPIC", "-o"]
    subprocess.run([*shared, other, tmp_path / "other.c", f"-Wl,-soname,{other.name}"], check=True)
    subprocess.run([*shared, one, tmp_path / "one.c", other], check=True)
    return one, other


def test_libraries_of_others_are_refused(libraries):
    one, other = libraries
    assert manylinux.tag([one, other]).startswith("manylinux_2_")
    with pytest.raises(manylinux.Refused, match="_ridge.abi3.so needs libother.so.3, which no manylinux policy allows"):
        manylinux.tag([one])


def test_build_wheel_refuses(libraries, tmp_path):
    """Of a build whose `cmake --install` gives such a library, there is no wheel, and a sentence."""
    one, _ = libraries
    cmake = tmp_path / "bin" / "cmake"
    cmake.parent.mkdir()
    cmake.write_text(f'#!/bin/sh\nmkdir -p "$6/ridge" && cp "{one}" "$6/ridge/"\n')
    cmake.chmod(0o755)
    path = {"PATH": f"{cmake.parent}:{os.environ['PATH']}"}
    command = [sys.executable, PYTHON / "build_wheel.py", tmp_path, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, env=path)
    assert done.returncode == 1 and not list(tmp_path.glob("out/*.whl"))
    assert done.stderr.startswith(
        "build_wheel.py: _ridge.abi3.so needs libother.so.3, which no manylinux policy allows"
    )
