"""Operators as Python functions: their names, signatures and docstrings, from the library's list."""

import copy
import functools
import inspect
import json
import keyword
import pathlib

from . import _options, _ridge

_PACKAGE = pathlib.Path(__file__).parent


@functools.lru_cache(None)
def _listed():
    return {op["name"]: op for op in json.loads(_ridge.ops_json())["operators"]}


def operators():
    return copy.deepcopy(_listed())


@functools.lru_cache(None)
def _texts():
    """What the build has put beside this file of the operators' folders: "contracts", by family, the heads of their
    headers, which say what is promised, and "examples", by operator."""
    path = _PACKAGE / "texts.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {"contracts": {}, "examples": {}}


def example(name):
    """What an operator's docstring ends in: a call that can be run as it stands; nothing where none is written."""
    lines = _texts()["examples"].get(name)
    if not lines:
        return ""
    return "\n".join(["", "", "Example:", "    >>> import numpy as np, ridge", *("    " + line for line in lines)])


def optional_inputs(op):
    return [name for name in op["inputs"] if name in op.get("optional_inputs", ())]


def keyword_names(op):
    """The options that are arguments of their own. `out` is the result's place and, as a text, the option."""
    names = [option["name"] for option in op["options"]]
    taken = {*op["inputs"], "out", "variant"}
    return [name for name in names if name not in taken and name.isidentifier() and not keyword.iskeyword(name)]


def asks_by_name(op):
    """Whether the option `outputs` says which results are wanted ("dx,dbeta"), for no option of their own does."""
    return not {*op.get("optional_outputs", ())} <= {option["name"] for option in op["options"]}


def signature(op):
    P = inspect.Parameter
    optional = optional_inputs(op)
    parameters, defaults = [], False
    for name in op["inputs"]:
        defaults = defaults or name in optional
        parameters.append(P(name, P.POSITIONAL_OR_KEYWORD, default=None if defaults else P.empty))
    options = {option["name"]: option for option in op["options"]}
    parameters.append(P("out", P.KEYWORD_ONLY, default=None))
    for name in keyword_names(op):
        default = P.empty if options[name]["required"] else _options.default(options[name])
        parameters.append(P(name, P.KEYWORD_ONLY, default=default))
    more = ("outputs",) if asks_by_name(op) else ()
    parameters += [P(name, P.KEYWORD_ONLY, default=None) for name in (*more, "variant", "tune")]
    return inspect.Signature(parameters)


def docstring(op):
    optional = {*optional_inputs(op), *op.get("optional_outputs", ())}

    def names(tensors):
        return ", ".join(f"{n} (optional)" if n in optional else n for n in tensors)

    lines = [op["summary"] + ".", ""]
    lines.append("Takes     " + names(op["inputs"]))
    lines.append("Gives     " + names(op["outputs"]) + ", as arrays of the first input's library, or in `out`")
    lines.append("Dtypes    " + " ".join(op["dtypes"]) + f", of {op['inputs'][0]}")
    named = {"name": "outputs", "values": ",".join(op["outputs"]), "help": "which of them are wanted; default all"}
    options = [
        *op["options"],
        *([named] if asks_by_name(op) else []),
        {"name": "variant", "values": " ".join(v["name"] for v in op["variants"]), "help": ""},
        {"name": "tune", "values": "0|1", "help": "1: the fastest variant, as the device measures it; see ridge.tune"},
    ]
    lines.append("Options")
    for option in options:
        lines.append(f"    {option['name']}={option['values']}" + (f"  {option['help']}" if option["help"] else ""))
    lines.append("Raises    ValueError or TypeError for a request that is wrong, ridge.Unsupported for one that no")
    lines.append("          variant takes, ridge.NoDevice; each says which argument, what it is and what it must be")
    contract = _texts()["contracts"].get(op["family"])
    if contract:
        lines += [f"Source    ridge/{op['family']}, whose header says:", "", *contract]
    return "\n".join(lines) + example(op["name"])


def gradient(op):
    """The operator's option `backward` as an operator of its own, NAME_backward; None where it has none."""
    request = op.get("backward")
    if not request:
        return None
    return {
        **op,
        **request,
        "name": op["name"] + "_backward",
        "gradient_of": op["name"],
        "summary": f"{', '.join(request['outputs'])}: the gradient of {op['name']}",
        # An option that asks for an output is none where that is an input.
        "options": [option for option in op["options"] if option["name"] not in ("backward", *request["inputs"])],
        "backward": None,
    }


def with_gradients():
    """Every operator and every gradient, by name."""
    found = operators()
    gradients = [gradient(op) for op in found.values()]
    return found | {op["name"]: op for op in gradients if op}


def function(op):
    result_type_option = any(option["name"] == "out" for option in op["options"])
    text = f"{op['name']}{signature(op)}\n--\n\n{docstring(op)}"
    of = op.get("gradient_of")
    return _ridge.add_operator(
        op["name"], of or op["name"], bool(of), tuple(op["inputs"]), tuple(op["outputs"]), result_type_option, text
    )
