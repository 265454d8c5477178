"""Softmax and the norms of rows."""

import functools
import math

import torch
import torch.nn.functional as F

from ridge.bench.gradient import Gradient
from ridge.bench.peers.table import ROW_CASES, add, is_backward, row


def _softmax(function, gradient):
    def peer(case):
        if is_backward(case):
            return lambda dy, y: gradient(dy, y, -1, y.dtype)
        return lambda x: function(x, -1)

    return peer


def _softmax_inputs(function):
    def inputs(case, make):
        x = make(*row(case))
        return [make(*row(case)), function(x, -1)] if is_backward(case) else [x]  # dy, and a y that is one

    return inputs


for _name, _function, _gradient in (
    ("softmax", torch.softmax, torch.ops.aten._softmax_backward_data),
    ("log_softmax", torch.log_softmax, torch.ops.aten._log_softmax_backward_data),
):
    add(
        _name,
        inputs=_softmax_inputs(_function),
        axis="cols",
        peer=_softmax(_function, _gradient),
        cases=ROW_CASES + tuple(f"{case}:backward" for case in ROW_CASES),
    )


def _norm_names(case):
    added = case.op.startswith("add_")
    if is_backward(case):
        names = ["dy", "sum", "gamma", "dsum"] if added else ["dy", "x", "gamma"]
    else:
        names = ["x", "residual", "gamma", "beta"] if added else ["x", "gamma", "beta"]
    wanted = case.option("inputs", ",".join(names)).split(",")
    return [name for name in names if name in wanted]


def _norm_inputs(case, make):
    return [make(case["cols"]) if name in ("gamma", "beta") else make(*row(case)) for name in _norm_names(case)]


def _norm(case):
    names, eps, shape = _norm_names(case), float(case.option("eps", 1e-5)), (case["cols"],)
    rms = case.op.endswith("rms_norm")

    def normalised(x, gamma=None, beta=None):
        if not rms:
            return F.layer_norm(x, shape, gamma, beta, eps)
        y = F.rms_norm(x, shape, gamma, eps)
        return y if beta is None else y + beta

    if is_backward(case):
        wanted = case.option("outputs", "dx,dgamma,dbeta").split(",")
        if ("gamma" in names) != ("dgamma" in wanted):
            raise NotImplementedError("the peer gives the gradient of gamma where there is one")

        def forward(x, *vectors):
            of = dict(zip([name for name in ("dgamma", "dbeta") if name in wanted], vectors))
            y = normalised(x, of.get("dgamma"), of.get("dbeta"))
            return (y, x.clone()) if "dsum" in names else y  # the sum has other uses than y

        def arrange(dy, x, *rest):
            given = dict(zip(names[2:], rest))
            vectors = [given["gamma"]] if "gamma" in given else []
            if "dbeta" in wanted:  # which does not depend on beta
                vectors.append(_zeros(case["cols"], x.dtype, x.device))
            return [dy, *([given["dsum"]] if "dsum" in given else [])], [x, *vectors]

        return Gradient(forward, arrange)

    def peer(*inputs):
        given = dict(zip(names, inputs))
        if "residual" in given:
            h = given["x"] + given["residual"]
            return normalised(h, given.get("gamma"), given.get("beta")), h
        return normalised(given["x"], given.get("gamma"), given.get("beta"))

    return peer


@functools.cache
def _zeros(count, dtype, device):  # made once, and not in the measured calls
    return torch.zeros(count, dtype=dtype, device=device)


def _norm_comparable(case, outputs, inputs):
    """dgamma and dbeta are sums over rows: by the size of such a sum."""
    return [x / math.sqrt(case["rows"]) if x.dim() == 1 else x for x in outputs]


for _name in ("layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"):
    _x = "x,residual," if _name.startswith("add_") else "x,"
    _given = _x + ("gamma,beta" if _name.endswith("layer_norm") else "gamma")
    _taken = "dy,sum,gamma,dsum" if _name.startswith("add_") else "dy,x,gamma"
    add(
        _name,
        inputs=_norm_inputs,
        peer=_norm,
        comparable=_norm_comparable,
        axis="cols",
        cases=tuple(f"{case}:inputs={_given}" for case in ROW_CASES)
        + tuple(f"{case}:backward:inputs={_taken}:outputs=dx,dgamma" for case in ROW_CASES),
    )
