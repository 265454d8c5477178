"""Batch norms of given statistics, folded into the filters and biases of the convolutions before them.

They are folded at every call, since a parameter may change between two: those of a graph together, before its first
layer, in lists of tensors, which Inductor need not take kernel by kernel.
"""

import operator

import torch

from ridge.torch.fx import graph


def batch_norm(w, bias, mean, var, gamma, beta, eps):
    """w' and bias', with which conv(x, w') + bias' is gamma (conv(x, w) + bias - mean) / sqrt(var + eps) + beta."""
    filters, biases = batch_norms([(w, bias, mean, var, gamma, beta)], [eps])
    return filters[0], biases[0]


def batch_norms(parameters, eps):
    """The same for lists: (w, bias, mean, var, gamma, beta) and eps of each, where bias, gamma and beta may be None."""
    w, bias, mean, var, gamma, beta = zip(*parameters)
    scale = torch._foreach_add(_floats(var), list(eps))
    scale = torch._foreach_rsqrt(scale)
    scale = torch._foreach_mul(scale, _floats(gamma, scale, torch.ones_like))
    shift = torch._foreach_sub(_floats(bias, scale, torch.zeros_like), _floats(mean))
    shift = torch._foreach_mul(shift, scale)
    shift = torch._foreach_add(shift, _floats(beta, scale, torch.zeros_like))
    filters = torch._foreach_mul(_floats(w), [s.view(-1, *[1] * (f.dim() - 1)) for s, f in zip(scale, w)])
    return [f.to(old.dtype) for f, old in zip(filters, w)], [s.to(f.dtype) for s, f in zip(shift, w)]


def _floats(tensors, like=None, otherwise=None):
    """In float32; what is missing is made as `like` says."""
    return [t.float() if t is not None else otherwise(like[i]) for i, t in enumerate(tensors)]


def together(captured):
    """Folds in one call, before all else, the batch norms of each device that depend on the graph's inputs alone, where
    nothing of the graph writes into those, or changes the mode of gradients."""
    if any(graph.changes_mode(node) for node in captured.nodes):
        return
    written = set()
    for node in captured.nodes:
        if graph.writes(node):
            written |= graph.memory_of(node)
    alike = {}
    for node in captured.nodes:
        if node.target is not batch_norm or any(one.op != "placeholder" for one in node.all_input_nodes):
            continue
        if written.isdisjoint(graph.memory_of(node)):
            alike.setdefault(graph.value(node.args[0]).device, []).append(node)
    for nodes in alike.values():
        _put_together(captured, nodes, [node for node in captured.nodes if node.op == "placeholder"][-1])


def _put_together(captured, nodes, last):
    with captured.inserting_after(last):
        call = captured.call_function(
            batch_norms, ([tuple(node.args[:6]) for node in nodes], [node.args[6] for node in nodes])
        )
    at = call
    for kind in range(2):
        with captured.inserting_after(at):
            at = list_of = captured.call_function(operator.getitem, (call, kind))
        for i, node in enumerate(nodes):
            with captured.inserting_after(at):
                at = one = captured.call_function(operator.getitem, (list_of, i))
            for user in list(node.users):
                if user.args[1] == kind:
                    user.replace_all_uses_with(one)
                    captured.erase_node(user)
    for node in nodes:
        captured.erase_node(node)
