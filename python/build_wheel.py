#!/usr/bin/env python3
"""build_wheel.py BUILD [OUT]: a wheel of what is built in BUILD, in OUT (BUILD/wheel). Compiles nothing.

It is the wheel that `pip wheel .` makes: the files of CMake's install component `python`, under the stable ABI's tag;
but its platform is the least that the binaries can be loaded on (manylinux.py), and what they need is in it.
"""

import base64
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile

import manylinux

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def metadata(project):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in project["license-files"]),
    ]
    lines += [f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (SOURCE / project["readme"]).read_text("utf-8")


def entry_points(project):
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {call}\n" for name, call in calls.items()) for group, calls in groups.items()
    )


def pack(files, wheel, project, tag):
    info = f"{project['name']}-{project['version']}.dist-info"
    made = {
        f"{info}/METADATA": metadata(project),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/entry_points.txt": entry_points(project),
        **{f"{info}/licenses/{name}": (SOURCE / name).read_text("utf-8") for name in project["license-files"]},
    }
    contents = [
        (path.relative_to(files).as_posix(), path.read_bytes(), path.stat().st_mode)
        for path in sorted(files.rglob("*"))
        if path.is_file()
    ]
    contents += [(name, text.encode(), 0o644) for name, text in made.items()]
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data, mode in contents:
            entry = zipfile.ZipInfo(name)  # dated 1980: the same build gives the same wheel
            entry.external_attr = (0o100000 | mode & 0o777) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(data)}\n"
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), record + f"{info}/RECORD,,\n")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    out = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else build / "wheel"
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text("utf-8"))["project"]
    with tempfile.TemporaryDirectory() as scratch:
        install = ["cmake", "--install", str(build), "--component", "python", "--prefix", scratch]
        done = subprocess.run(install, capture_output=True, text=True)
        files = pathlib.Path(scratch)
        if done.returncode != 0 or not list(files.glob("ridge/_ridge.abi3.so")):
            sys.exit(f"build_wheel.py: {build} holds no built Python package (target ridge_python)\n{done.stderr}")
        binaries = [*files.glob("ridge/*.so*"), *files.glob("ridge/bin/*")]
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", *map(str, binaries)], check=True)
        try:
            tag = "cp310-abi3-" + manylinux.tag(binaries)
        except manylinux.Refused as why:
            sys.exit(f"build_wheel.py: {why}")
        out.mkdir(parents=True, exist_ok=True)
        wheel = out / f"{project['name']}-{project['version']}-{tag}.whl"
        pack(files, wheel, project, tag)
    print(wheel)


if __name__ == "__main__":
    main()
