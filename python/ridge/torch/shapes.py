"""The shapes of outputs where those of the inputs are symbols (torch.compile with dynamic=True, torch.export).

The library infers from numbers. So each symbol is given a number, and an output's extent that is this number is the
symbol again. Two rounds with different numbers tell a symbol from a constant that happens to be equal. No rule is kept
per operator: what a new one does with its shapes is found out by asking.

An extent that is neither (a convolution's, strided) makes its symbols concrete: the graph is then compiled for them.
"""

import torch

# Prime, so that no sum or product of a few is another; small, so that the product of eight fits 64 bits.
_FIRST = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197)
_SECOND = tuple(reversed(_FIRST))
_SCALES = (3, 5)


def infer_symbolic(infer, shapes):
    """infer(shapes of int) -> [(dtype, shape)], applied to shapes that hold torch.SymInt."""
    while True:
        symbols = _symbols(shapes)
        if not symbols:
            return infer(shapes)
        rounds = _ask(infer, shapes, symbols)
        if rounds is None:  # refused for any numbers but the real ones
            shapes = _without(shapes, symbols)
            continue
        numbers, answers = rounds
        outputs, unknown = _read(symbols, numbers, answers)
        if not unknown:
            return outputs
        shapes = _without(shapes, _culprits(infer, shapes, symbols, numbers[0], answers[0], unknown) or symbols)


def _symbols(shapes):
    """{expression: SymInt} in the order of appearance. Compares expressions, which sets no guard."""
    found = {}
    for shape in shapes:
        for extent in shape:
            if isinstance(extent, torch.SymInt):
                found.setdefault(extent.node.expr, extent)
    return found


def _with_numbers(shapes, numbers):
    return [[numbers[e.node.expr] if isinstance(e, torch.SymInt) else e for e in shape] for shape in shapes]


def _ask(infer, shapes, symbols):
    """Numbers for the symbols in two rounds, and what the library infers from them; None where it refuses."""

    def answers(rounds):
        try:
            return rounds, [infer(_with_numbers(shapes, numbers)) for numbers in rounds]
        except (ValueError, TypeError):
            return None

    distinct = [dict(zip(symbols, primes)) for primes in (_FIRST, _SECOND)]
    if len(symbols) <= len(_FIRST):
        found = answers(distinct)
        if found:
            return found
    # Some extents have to be equal, or divide each other. Multiples of the real ones are as these are; two symbols of
    # one size become one, which is guarded.
    if not all(extent.node.has_hint() for extent in symbols.values()):
        return None
    leaders = {}
    for extent in symbols.values():
        leader = leaders.setdefault(extent.node.hint, extent)
        if leader is not extent:
            torch._check(leader == extent)
    return answers([{expr: extent.node.hint * scale for expr, extent in symbols.items()} for scale in _SCALES])


def _read(symbols, numbers, answers):
    """The outputs' types with symbols in them, and the places (output, axis) of extents that are none."""
    outputs, unknown = [], []
    for index, ((dtype, first), (_, second)) in enumerate(zip(*answers)):
        shape = []
        for axis, pair in enumerate(zip(first, second)):
            same = [symbols[expr] for expr in symbols if (numbers[0][expr], numbers[1][expr]) == pair]
            if same:
                shape.append(same[0])
            else:
                shape.append(pair[0])
                if pair[0] != pair[1]:
                    unknown.append((index, axis))
        outputs.append((dtype, shape))
    return outputs, unknown


def _culprits(infer, shapes, symbols, numbers, answer, unknown):
    """The symbols that decide the extents in these places."""
    found = {}
    for expr, extent in symbols.items():
        changed = {**numbers, expr: numbers[expr] * 2 + 1}
        try:
            other = infer(_with_numbers(shapes, changed))
        except (ValueError, TypeError):
            found[expr] = extent
            continue
        if any(other[i][1][axis] != answer[i][1][axis] for i, axis in unknown):
            found[expr] = extent
    return found


def _without(shapes, symbols):
    """The shapes with these symbols as the numbers that they are; the compiler guards on them."""
    return [
        [int(e) if isinstance(e, torch.SymInt) and e.node.expr in symbols else e for e in shape] for shape in shapes
    ]
