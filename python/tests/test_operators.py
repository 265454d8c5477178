"""Every registered operator, on every type that it takes, against NumPy."""

import numpy as np
import pytest
import references

import ridge


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


def test_answers_are_compared():
    x = np.ones(1000, np.float32)
    case = next(iter(references.OPERATORS["softmax"]("f32", np.random.default_rng(1))))
    with pytest.raises(AssertionError):
        references.check(case, (np.asarray(case.want[0] * 1.001, np.float32),))
    with pytest.raises(AssertionError):
        references.check(case._replace(want=(x,), tolerance=(0,)), (x + 1,))
