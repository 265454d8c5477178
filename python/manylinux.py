"""The platform tag of a wheel, from what its binaries ask of the system that they are loaded on (PEP 600).

manylinux_2_N says: runs on any Linux with glibc 2.N or newer, and with the C++ library that came with such systems.
"""

import re
import subprocess
import sysconfig

# For each N at which they changed: the newest versions of symbols that systems with glibc 2.N have in the libraries of
# GCC. auditwheel's policies say the same.
_COMPILER = {
    17: {"GCC": (4, 8, 0), "GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7)},
    24: {"GCC": (4, 8, 0), "GLIBCXX": (3, 4, 22), "CXXABI": (1, 3, 10)},
    27: {"GCC": (7, 0, 0), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)},
    31: {"GCC": (7, 0, 0), "GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12)},
    34: {"GCC": (7, 0, 0), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)},
    35: {"GCC": (12, 0, 0), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)},
    39: {"GCC": (14, 0, 0), "GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)},
}
_NAMED = {"GLIBC_ABI_DT_RELR": 36}  # versions that are no numbers, and the N of glibc that has them
_LIBRARIES = """
    libc.so.6 libm.so.6 libmvec.so.1 libdl.so.2 librt.so.1 libpthread.so.0 libutil.so.1 libresolv.so.2 libnsl.so.1
    libanl.so.1 libstdc++.so.6 libgcc_s.so.1 libatomic.so.1 libz.so.1 libexpat.so.1 libglib-2.0.so.0 libgobject-2.0.so.0
    libgthread-2.0.so.0 libGL.so.1 libX11.so.6 libXext.so.6 libXrender.so.1 libICE.so.6 libSM.so.6
""".split()  # of every policy, and the loader


class Refused(Exception):
    """The files are no wheel for other systems; a sentence says why."""


def needs(binary):
    """What an ELF file asks for: each library, with the versions of its symbols, {"libc.so.6": ["GLIBC_2.34"]}."""
    text = subprocess.run(["objdump", "-p", binary], check=True, capture_output=True, text=True).stdout
    found = {library: [] for library in re.findall(r"^  NEEDED +(\S+)$", text, re.M)}
    for block in text.partition("Version References:")[2].split("required from ")[1:]:
        found[block.partition(":")[0]] = re.findall(r"^ +0x\w+ 0x\w+ \d+ (\S+)$", block, re.M)
    return found


def _least(version):
    """The least N whose systems have this version of symbols; None where none is known to."""
    if version in _NAMED:
        return _NAMED[version]
    library, _, text = version.rpartition("_")
    if not re.fullmatch(r"\d+(\.\d+)*", text):
        return None
    number = tuple(map(int, text.split(".")))
    if library == "GLIBC":
        return max(number[1], min(_COMPILER)) if number[0] == 2 else None
    return next((n for n, newest in _COMPILER.items() if number <= newest.get(library, ())), None)


def tag(binaries):
    """The most systems that these files can be loaded on, which find each other by RPATH: "manylinux_2_35_x86_64"."""
    names, least = {binary.name for binary in binaries}, min(_COMPILER)
    for binary in binaries:
        for library, versions in needs(binary).items():
            if library in names:
                continue
            if library not in _LIBRARIES and not library.startswith("ld-linux"):
                raise Refused(
                    f"{binary.name} needs {library}, which no manylinux policy allows; it must be linked statically, "
                    "or lie in the wheel"
                )
            for version in versions:
                n = _least(version)
                if n is None:
                    raise Refused(
                        f"{binary.name} needs {version} of {library}, which no manylinux policy is known to have"
                    )
                least = max(least, n)
    machine = sysconfig.get_platform().partition("-")[2].replace("-", "_")
    return f"manylinux_2_{least}_{machine}"
