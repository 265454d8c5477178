"""ridge.infer, and gradients as functions of their own."""

import numpy as np
import pytest

import ridge


def types(specs):
    return [(spec.dtype, spec.shape) for spec in specs]


def test_infer():
    assert types(ridge.infer("softmax", ridge.Spec((3, 5), "bf16"))) == [("bf16", (3, 5))]
    assert types(ridge.infer(ridge.sum, np.zeros((3, 5), np.int32), axis=-1)) == [("i64", (3,))]
    product = ridge.infer(
        "gemm", ridge.Spec((4, 6)), ridge.Spec((5, 6)), bias=ridge.Spec((5,)), layout="nt", epilogue="bias", out="f16"
    )
    assert types(product) == [("f16", (4, 5))]
    assert ridge.infer("relu", ridge.Spec((2,), device="cuda:1"))[0].device == "cuda:1"


def test_infer_refuses():
    with pytest.raises(ValueError, match="bins"):
        ridge.infer("histogram", ridge.Spec((10,)), bins=0)
    with pytest.raises(ValueError, match="nothing"):
        ridge.infer("nothing", ridge.Spec((10,)))
    with pytest.raises(TypeError, match="op"):
        ridge.infer()


GRADIENTS = [name for name, op in ridge.ops().items() if op["backward"]]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_functions(name):
    request = ridge.ops()[name]["backward"]
    function = getattr(ridge, name + "_backward")
    assert function.__name__ == name + "_backward" and function.__name__ in ridge.__all__
    assert f"Takes     {', '.join(request['inputs'][:2])}" in function.__doc__
    assert all(output in function.__doc__ for output in request["outputs"])


def test_optional_outputs():
    """What a request has to ask for; a gradient's option to ask for what it takes is none of its own."""
    optional = {name: op["optional_outputs"] for name, op in ridge.ops().items() if op["optional_outputs"]}
    assert optional == ({"attention": ["lse"]} if "attention" in ridge.ops() else {})
    if optional:
        assert "Gives     o, lse (optional)," in ridge.attention.__doc__
        assert "    lse=" in ridge.attention.__doc__ and "    lse=" not in ridge.attention_backward.__doc__


@pytest.mark.skipif("layer_norm" not in GRADIENTS, reason="this build has no layer_norm")
def test_gradient_of_layer_norm():
    random = np.random.default_rng(1)
    dy, x, gamma = random.standard_normal((7, 33)), random.standard_normal((7, 33)), random.standard_normal(33)
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.1)
    g = dy * gamma
    dx = (g - g.mean(-1, keepdims=True) - normal * (g * normal).mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 0.1
    )
    got = ridge.layer_norm_backward(dy, x, gamma, eps=0.1)
    for mine, right in zip(got, (dx, (dy * normal).sum(0), dy.sum(0)), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-12, atol=1e-12)
    some = ridge.layer_norm_backward(dy, x, gamma=gamma, eps=0.1, outputs="dx,dbeta")
    np.testing.assert_array_equal(some[0], got[0])
    np.testing.assert_array_equal(some[1], got[2])
    out = np.empty_like(x)
    assert ridge.layer_norm_backward(dy, x, gamma, eps=0.1, outputs="dx", out=out) is out
    np.testing.assert_array_equal(out, got[0])
    assert ridge.plan("layer_norm_backward", dy, x, gamma).explain().json["operator"] == "layer_norm"
    with pytest.raises(ValueError, match="layer_norm: dy.shape is 7x33"):
        ridge.layer_norm_backward(dy, x[:, :5], gamma)
