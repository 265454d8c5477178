"""Every registered operator, on every type that it takes, against NumPy."""

import numpy as np
import pytest
import references

import ridge
from ridge import _options


@pytest.mark.parametrize("name", ridge.ops())
def test_operator(name):
    assert name in references.OPERATORS, f"{name} is registered, and tests/references.py has no answer for it"
    ran = 0
    for dtype in ridge.ops()[name]["dtypes"]:
        for case in references.OPERATORS[name](dtype, np.random.default_rng(1)):
            got = getattr(ridge, name)(*case.inputs, **case.options)
            outputs = got if isinstance(got, tuple) else (got,)
            assert all(type(output) is np.ndarray for output in outputs)
            references.check(case, outputs)
            into = tuple(np.full_like(output, 1) for output in outputs)
            options = {**case.options, "out": into if len(into) > 1 else into[0]}  # its type says the option `out`
            given = getattr(ridge, name)(*case.inputs, **options)
            assert all(a is b for a, b in zip(given if isinstance(given, tuple) else (given,), into, strict=True))
            for output, again in zip(outputs, into, strict=True):
                assert output.tobytes() == again.tobytes()
            ran += 1
    assert ran > 0


def bits(results):
    return [result.tobytes() for result in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("name", ridge.ops())
def test_defaults_are_what_is_done_without(name):
    """Each option as the registry says that it is where it is not given: the same bits."""
    op, tried = ridge.ops()[name], set()
    known = {o["name"]: _options.default(o) for o in op["options"] if o["default"] is not None}
    for case in references.OPERATORS[name](op["dtypes"][0], np.random.default_rng(1)):
        for option, value in known.items():
            given = {key: v for key, v in case.options.items() if key != option}
            try:
                without = getattr(ridge, name)(*case.inputs, **given)
            except ValueError:
                continue  # inputs of this case ask for the option
            assert bits(getattr(ridge, name)(*case.inputs, **given, **{option: value})) == bits(without), option
            tried.add(option)
    assert tried == set(known)


def test_answers_are_compared():
    x = np.ones(1000, np.float32)
    case = next(iter(references.OPERATORS["softmax"]("f32", np.random.default_rng(1))))
    with pytest.raises(AssertionError):
        references.check(case, (np.asarray(case.want[0] * 1.001, np.float32),))
    with pytest.raises(AssertionError):
        references.check(case._replace(want=(x,), tolerance=(0,)), (x + 1,))
