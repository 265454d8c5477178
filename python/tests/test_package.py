"""What is in the package: names, signatures, docstrings, stubs, and what it needs to be imported."""

import ast
import doctest
import importlib.metadata
import inspect
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import ridge
from ridge import _docs, _options, _program

PACKAGE = pathlib.Path(ridge.__file__).parent


@pytest.mark.parametrize("name", ridge.ops())
def test_functions_say_what_they_are(name):
    op, function = ridge.ops()[name], getattr(ridge, name)
    if name == "trace":
        return  # two in one: test_trace
    assert function.__name__ == name and function.__module__ == "ridge" and name in ridge.__all__
    parameters = inspect.signature(function).parameters
    assert [*op["inputs"], "out"] == list(parameters)[: len(op["inputs"]) + 1]
    for option in op["options"]:
        assert option["name"] in parameters and option["help"] in function.__doc__
    for text in [op["summary"], *op["dtypes"], *op["outputs"], *(variant["name"] for variant in op["variants"])]:
        assert text in function.__doc__
    assert f"Source    ridge/{op['family']}" in function.__doc__


def test_defaults_are_the_registrys():
    parameters = inspect.signature(ridge.histogram).parameters
    assert (parameters["bins"].default, parameters["range"].default, parameters["out"].default) == (256, None, None)
    assert "(x, *, out=None, bins=256, range=None, variant=None, tune=None)" in str(inspect.signature(ridge.histogram))
    known = [option for op in ridge.ops().values() for option in op["options"]]
    assert {option["required"] for option in known} == {True, False}
    assert {type(_options.default(option)) for option in known} == {type(None), bool, int, float, str, tuple}
    for name, op in _docs.with_gradients().items():
        parameters = inspect.signature(getattr(ridge, name)).parameters
        for option in op["options"]:
            if name != "trace" and option["name"] in _docs.keyword_names(op):
                given = parameters[option["name"]].default
                assert given == (inspect.Parameter.empty if option["required"] else _options.default(option))


@pytest.mark.parametrize("name", _docs.with_gradients())
def test_examples_run(name):
    """What each docstring ends in, as it stands there; an operator without one fails."""
    doc = getattr(ridge, name).__doc__
    found = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    assert "\nExample:\n    >>> import numpy as np, ridge\n" in doc and found.examples[-1].want
    assert f"ridge.{name}(" in doc.partition("\nExample:\n")[2]
    said = []
    doctest.DocTestRunner(verbose=False).run(found, out=said.append)
    assert not said, "".join(said)


def test_ops_cannot_be_changed():
    ridge.ops()["softmax"]["dtypes"].clear()
    assert ridge.ops()["softmax"]["dtypes"]


def test_stubs_are_of_this_build():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
    assert set(ridge.__all__) == set(functions) | classes - {"_Array"}
    for name, op in _docs.with_gradients().items():
        if name == "trace":
            continue
        stubbed, parameters = functions[name].args, inspect.signature(getattr(ridge, name)).parameters
        assert [a.arg for a in stubbed.args] == op["inputs"]
        assert [a.arg for a in [*stubbed.args, *stubbed.kwonlyargs]] == list(parameters)
        for argument, default in zip(stubbed.kwonlyargs, stubbed.kw_defaults, strict=True):
            given = parameters[argument.arg].default
            assert given == (inspect.Parameter.empty if default is None else ast.literal_eval(default))
    assert "layout: Literal['nchw', 'nhwc'] | None='nchw'" in ast.unparse(functions["conv2d"])
    assert "bins: int | None=256" in ast.unparse(functions["histogram"])
    assert "@overload\ndef gelu(a: _A, *, out: _A | None=None, variant: Literal[" in ast.unparse(functions["gelu"])
    assert (PACKAGE / "py.typed").exists()


def test_the_command(monkeypatch):
    """`ridge` as pip puts it on the PATH, and `python -m ridge`, from the wheel alone."""
    command, version = pathlib.Path(sys.executable).with_name("ridge"), f"ridge {ridge.__version__}\n"
    if not os.access(PACKAGE / "bin" / "ridge", os.X_OK):
        pytest.skip("this build is without the command line, or was unpacked without permissions")
    monkeypatch.delenv("RIDGE_PROGRAM", raising=False)
    assert _program.find("ridge", "RIDGE_PROGRAM", "it is found", "make", ValueError) == str(PACKAGE / "bin" / "ridge")
    ways = [[sys.executable, "-m", "ridge"]]
    if list(importlib.metadata.Distribution.discover(name="ridge")):  # installed by pip
        ways.append([command])
    environment = {"PATH": os.defpath, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}

    def call(way, *arguments):
        return subprocess.run([*way, *arguments], capture_output=True, text=True, cwd="/", env=environment)

    for way in ways:
        assert call(way, "--version").stdout == version
        assert call(way, "check", "softmax:f32:rows=2,cols=5").returncode == 0
        refused = call(way, "explain", "no_such_operator:f32:n=1")
        assert refused.returncode == 2 and "no_such_operator" in refused.stderr


def test_a_package_without_the_command(tmp_path):
    (tmp_path / "__main__.py").write_bytes((PACKAGE / "__main__.py").read_bytes())
    done = subprocess.run([sys.executable, tmp_path / "__main__.py", "ops"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("ridge: this package was built without the command line")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")


def test_nothing_else_is_imported():
    libraries = ["numpy", "torch", "cupy", "jax", "ml_dtypes"]
    done = run(f"import sys, ridge; print([name for name in {libraries} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done


def test_without_numpy():
    """Tensors of DLPack are served; a result that only NumPy could make is refused in a sentence."""
    code = f"""
import ctypes, sys
sys.modules["numpy"] = None
sys.path.append({str(pathlib.Path(__file__).parent)!r})
import ridge
from foreign import Foreign
x, y = (ctypes.c_float * 3)(-1, 0, 2), (ctypes.c_float * 3)(7, 7, 7)
ridge.relu(Foreign(ctypes.addressof(x), (3,)), out=Foreign(ctypes.addressof(y), (3,)))
assert list(y) == [0, 0, 2]
try:
    ridge.relu(Foreign(ctypes.addressof(x), (3,)))
except ridge.Unsupported as refusal:
    print(refusal)
"""
    done = run(code)
    assert "give out=" in done.stdout, done


def test_the_library_is_in_the_package():
    libraries = list(PACKAGE.glob("libridge.so*"))
    if not libraries:
        pytest.skip("this is the build's folder and no installed wheel")
    programs = list(PACKAGE.glob("bin/*"))
    needed = subprocess.run(["ldd", PACKAGE / "_ridge.abi3.so", *libraries, *programs], capture_output=True, text=True)
    needed = needed.stdout
    assert str(libraries[0]) in needed and "not found" not in needed
    system = {"linux-vdso.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "libridge.so"}
    names = {line.split()[0] for line in needed.splitlines() if line.startswith("\t")}
    assert {n for n in names if not n.startswith("/")} <= system | {libraries[0].name}


def test_trace():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    if "trace" in ridge.ops():
        assert ridge.trace(x) == ridge.trace(x=x) == 15
    else:
        with pytest.raises(ridge.Unsupported):
            ridge.trace(x)


def test_trace_of_a_case(monkeypatch, tmp_path):
    monkeypatch.delenv("RIDGE_TRACE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ridge.Unsupported, match="ridge-trace"):
        ridge.trace("relu:f32:n=64")
    program = tmp_path / "ridge-trace"
    program.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    program.chmod(0o755)
    arguments = ["trace", "relu:f32:n=64", "--json", "--variant", "all"]
    assert ridge.trace("relu:f32:n=64", variant="all") == arguments == ridge.trace_case("relu:f32:n=64", variant="all")
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no such case')\n")
    with pytest.raises(ValueError, match="no such case"):
        ridge.trace_case("relu")


def test_contracts_are_the_headers():
    contracts = json.loads((PACKAGE / "texts.json").read_text())["contracts"]
    assert {op["family"] for op in ridge.ops().values()} <= set(contracts)
    assert any("Aliasing" in line for line in contracts["softmax"])
