"""Options of operators as Python's values and types, from what the library's list says of each as text."""

import re

_INTEGER = re.compile(r"-?\d+(\.\.\S+)?|int(eger)?|(odd|even|whole)( number)?|rows|columns|n")
_NUMBERS = {"lo,hi": "float", "L,R": "int", "2,0,1": "int"}  # texts of several, which a sequence may be given for


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    parts = text.split(",")
    return tuple(map(_value, parts)) if len(parts) > 1 else text


def default(option):
    """What an option is where it is not given, as a value that may be given; None where its help says what."""
    text = option["default"]
    if text in ("0", "1") and option["values"].startswith("0|1"):
        return text == "1"
    return None if text is None else _value(text)


def annotation(option):
    """The Python type of an option's values, as source: "int", "Literal['nchw', 'nhwc']"."""
    values = option["values"]
    choices = values.split("|")
    if choices[:2] == ["0", "1"]:
        named = ", ".join(map(repr, choices[2:]))
        return f"bool | Literal[{named}]" if named else "bool"
    if len(choices) > 1:
        return f"Literal[{', '.join(map(repr, choices))}]"
    if values in ("number", "float", "real"):
        return "float"
    if _INTEGER.fullmatch(values):
        return "int"
    if values in _NUMBERS:
        return f"str | Sequence[{_NUMBERS[values]}]"
    if not re.search(r"h,w|0,2", values):
        return "str"
    kind = "float" if values.startswith("number") else "int"
    return f"{kind} | str | Sequence[{kind}]"
