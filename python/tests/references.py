"""Every operator by NumPy, in double: cases of small sizes, the right answer, and how far from it one may be.

OPERATORS[name](dtype, rng) gives Case after Case. A test fails where the library has an operator that is not here.
"""

import math
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip
ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f8e4m3": 2.0**-4, "f8e5m2": 2.0**-3}
SMALLEST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f8e4m3": 2.0**-9, "f8e5m2": 2.0**-16}  # subnormal; half is a rounding


class Case(NamedTuple):
    inputs: tuple  # arrays, or None for an optional input that is left out
    options: dict
    want: Any  # an array for each output, in double where it is not exact
    tolerance: Any  # for each output: of the computation; its rounding to the output's type is added by check()


def computed_in(dtype):
    """The roundoff of the arithmetic: 16- and 8-bit types are computed in float32."""
    return ROUNDOFF["f64"] if dtype == "f64" else ROUNDOFF["f32"]


def check(case, outputs):
    for got, want, tolerance in zip(outputs, case.want, case.tolerance, strict=True):
        want = np.asarray(want)
        assert got.shape == want.shape
        if np.isscalar(tolerance) and tolerance == 0:
            np.testing.assert_array_equal(double(got), double(want.astype(got.dtype)))
            continue
        dtype = next(name for name, numpy_type in DTYPES.items() if got.dtype == numpy_type)
        near = tolerance + ROUNDOFF[dtype] * np.abs(want) + SMALLEST.get(dtype, 0)
        error = np.abs(got.astype(np.float64) - want)
        assert (error <= near).all(), f"off by {np.max(error - near)} more than is allowed; {case.options}"


def make(rng, dtype, *shape):
    if dtype in ROUNDOFF:
        return rng.standard_normal(shape).astype(DTYPES[dtype])
    low, high = {"u8": (0, 200), "bool": (0, 2)}.get(dtype, (-100, 100))
    return rng.integers(low, high, shape).astype(DTYPES[dtype])


def double(x):
    return x.astype(np.float64 if x.dtype.kind not in "iub" else np.int64)


# ---- elementwise -----------------------------------------------------------------------------------------------------


def sigmoid(x):
    with np.errstate(over="ignore"):  # exp of much is infinite, and 1 over it 0
        return 1 / (1 + np.exp(-x))


def normal_below(x):
    """The normal distribution's mass below x."""
    return np.vectorize(lambda value: 0.5 * math.erfc(-value / math.sqrt(2)), otypes=[np.float64])(x)


def elementwise(function, ulps=4):
    def cases(dtype, rng):
        for shape in [(1,), (0,), (33,), (3, 129)]:
            x = make(rng, dtype, *shape)
            exact = ulps == 0 or dtype not in ROUNDOFF
            want = function(double(x)) if dtype != "bool" else x
            # erf and exp err by some roundoffs of the largest thing in sight, which is 1 or x
            yield Case(
                (x,), {}, (want,), (0 if exact else ulps * computed_in(dtype) * np.maximum(np.abs(double(x)), 1),)
            )

    return cases


def exp(dtype, rng):
    for case in elementwise(np.exp)(dtype, rng):
        yield case._replace(tolerance=(8 * computed_in(dtype) * case.want[0] + 2.0**-126,))


def binary(function):
    def cases(dtype, rng):
        for shape, other in [((17,), (17,)), ((0,), (0,)), ((5, 33), (5, 33)), ((5, 33), (33,))]:
            a, b = make(rng, dtype, *shape), make(rng, dtype, *other)
            want = function(double(a), double(b))
            yield Case((a, b), {}, (want,), (2 * computed_in(dtype) * np.abs(want) if dtype in ROUNDOFF else 0,))

    return cases


# ---- reductions ------------------------------------------------------------------------------------------------------


def reduction(function, error, empty=False):
    """error(x, options, roundoff) bounds the computation; None: the answer is exact."""

    def cases(dtype, rng):
        shapes = [((1,), {}), ((1000,), {}), ((7, 65), {"axis": -1}), ((7, 65), {}), ((7, 65), {"axis": 0})]
        shapes += [((3, 40, 6), {"axis": 1}), ((3, 40), {"axis": 1, "keepdims": True}), ((3, 40), {"keepdims": True})]
        if function not in (np.argmax, np.argmin):
            shapes += [((3, 40, 6), {"axis": (0, 2)}), ((3, 4, 6), {"axis": (-1, 0), "keepdims": True})]
        for shape, options in shapes + [((0,), {})] * empty:
            x = make(rng, dtype, *shape)
            with np.errstate(all="ignore"):
                want = np.asarray(function(double(x), **options)) if x.size else np.float64(empty_of[function])
            rounds = error is not None and (dtype in ROUNDOFF or function is np.mean) and x.size
            unit = computed_in(dtype if dtype in ROUNDOFF else "f64")
            yield Case((x,), options, (want,), (error(np.abs(double(x)), options, unit) if rounds else 0,))

    return cases


empty_of = {np.sum: 0, np.mean: np.nan}


def sum_error(x, options, roundoff):
    sums = np.sum(x, **options)
    return x.size / max(sums.size, 1) * roundoff * sums


def mean_error(x, options, roundoff):  # and the division
    means = np.mean(x, **options)
    return (x.size / max(means.size, 1) + 2) * roundoff * means


def dot(dtype, rng):
    for n in [0, 1, 1000]:
        x, z = make(rng, dtype, n), make(rng, dtype, n)
        products = double(x) * double(z)
        bound = n * computed_in(dtype) * np.sum(np.abs(products)) if dtype in ROUNDOFF else 0
        yield Case((x, z), {}, (np.sum(products),), (bound,))


def trace(dtype, rng):
    for shape in [(1, 1), (5, 7), (33, 20)]:
        x = make(rng, dtype, *shape)
        diagonal = np.diagonal(double(x))
        bound = diagonal.size * computed_in(dtype) * np.sum(np.abs(diagonal)) if dtype in ROUNDOFF else 0
        yield Case((x,), {}, (np.sum(diagonal),), (bound,))


# ---- histogram -------------------------------------------------------------------------------------------------------


def histogram(dtype, rng):
    for n, bins in [(0, 4), (1, 1), (1000, 7), (1000, 256)]:
        x = make(rng, dtype, n)
        want, _ = np.histogram(double(x), bins=bins, range=(-2.5, 3))
        yield Case((x,), {"bins": bins, "range": (-2.5, 3)}, (want,), (0,))
    if dtype == "u8":
        x = make(rng, dtype, 1000)
        want = np.bincount(x, minlength=256)
        yield Case((x,), {}, (want,), (0,))
        yield Case((x,), {"bins": 256, "range": (0, 256), "out": "i32"}, (want.astype(np.int32),), (0,))


# ---- transpose -------------------------------------------------------------------------------------------------------


def transpose(dtype, rng):
    for shape in [(1, 1), (0, 3), (33, 65), (2, 7, 5)]:
        x = make(rng, dtype, *shape)
        yield Case((x,), {}, (np.swapaxes(x, -1, -2),), (0,))


def permute(dtype, rng):
    for shape, axes in [((3, 4, 5), None), ((3, 4, 5), (2, 0, 1)), ((2, 3, 4, 5), [-1, 1, 0, 2])]:
        x = make(rng, dtype, *shape)
        yield Case((x,), {} if axes is None else {"axes": axes}, (np.transpose(x, axes),), (0,))


# ---- softmax and norms -----------------------------------------------------------------------------------------------


def softmax(logarithm):
    def function(x, axis=-1):
        shifted = x - x.max(axis, keepdims=True)
        total = np.exp(shifted).sum(axis, keepdims=True)
        return shifted - np.log(total) if logarithm else np.exp(shifted) / total

    def cases(dtype, rng):
        along = [((4, 7, 10), {"axis": 1}), ((20, 6), {"axis": 0}), ((2, 3, 5), {"axis": -3})]
        for shape, options in [((1,), {}), ((3, 1), {}), ((5, 100), {}), ((2, 3, 1025), {}), *along]:
            x = make(rng, dtype, *shape)
            want = function(double(x), **options)
            # The exponent errs by its argument's roundoff, the sum by one for each lane that is added.
            relative = (16 + 2 * np.log2(shape[-1] + 1)) * computed_in(dtype) * (1 + np.abs(want) * logarithm)
            yield Case((x,), options, (want,), (relative * (1 if logarithm else want),))

    return cases


def normed(x, gamma, beta, eps, centred):
    mean = x.mean(-1, keepdims=True) if centred else 0
    scaled = (x - mean) / np.sqrt(np.mean((x - mean) ** 2, -1, keepdims=True) + eps)
    return scaled * (1 if gamma is None else double(gamma)) + (0 if beta is None else double(beta))


def norm(centred, residual=False):
    def cases(dtype, rng):
        for shape, has_gamma, has_beta in [((3, 64), 1, 1), ((3, 65), 0, 1), ((3, 65), 1, 0), ((2, 2, 100), 0, 0)]:
            x = make(rng, dtype, *shape)
            gamma = make(rng, dtype, shape[-1]) if has_gamma else None
            beta = make(rng, dtype, shape[-1]) if has_beta else None
            total, others = double(x), ()
            if residual:
                other = make(rng, dtype, *shape)
                others = (other,)
                # Both are written, and the norm is that of the sum as rounded to its type.
                total = double((total + double(other)).astype(DTYPES[dtype]))
            want = normed(total, gamma, beta, 1e-5, centred)
            size = (1 + np.abs(want)) * (1 if gamma is None else 1 + np.abs(double(gamma)))
            bound = 64 * computed_in(dtype) * size + (
                0 if beta is None else 4 * computed_in(dtype) * np.abs(double(beta))
            )
            wants, bounds = (
                ((want, total), (bound, ROUNDOFF[dtype] * np.abs(total))) if residual else ((want,), (bound,))
            )
            yield Case((x, *others, gamma, beta), {"eps": 1e-5}, wants, bounds)
            if dtype == "f32":  # two roundings, of which check() adds one, and what is of second order
                bounds = (ROUNDOFF[dtype] * (np.abs(want) + size / 1000), *bounds[1:])
                yield Case((x, *others, gamma, beta), {"eps": 1e-5, "accumulate": "two_float"}, wants, bounds)

    return cases


# ---- products --------------------------------------------------------------------------------------------------------


def gemm(dtype, rng):
    for (m, n, k), layout in [((1, 1, 1), "nn"), ((33, 17, 65), "nn"), ((16, 24, 40), "tn"), ((16, 24, 40), "nt")]:
        a, b = make(rng, dtype, m, k), make(rng, dtype, k, n)
        products, magnitude = double(a) @ double(b), np.abs(double(a)) @ np.abs(double(b))
        stored = (a.T.copy() if layout[0] == "t" else a, b.T.copy() if layout[1] == "t" else b)
        options = {"layout": layout}
        if dtype == "i8":
            yield Case(stored, options, (products.astype(np.int32),), (0,))
            continue
        bound = (k + 8) * computed_in(dtype) * magnitude
        yield Case(stored, options, (products,), (bound,))
        if not dtype.startswith("f8"):
            c, bias = make(rng, dtype, m, n), make(rng, dtype, n)
            want = 0.5 * products + 2 * double(c) + double(bias)
            more = bound + 8 * computed_in(dtype) * (2 * np.abs(double(c)) + np.abs(double(bias)))
            options = {"layout": layout, "alpha": 0.5, "beta": 2.0, "epilogue": "bias+relu"}
            yield Case((*stored, c, bias), options, (np.maximum(want, 0),), (more,))


        if dtype in ("f64", "f32", "f16", "bf16"):
            gate = make(rng, dtype, k, n)
            by, sizes = double(a) @ double(gate), np.abs(double(a)) @ np.abs(double(gate))
            spread = (k + 8) * computed_in(dtype) * (sizes * (np.abs(products) + magnitude) + magnitude * np.abs(by))
            stored = (*stored, None, None, None, gate.T.copy() if layout[1] == "t" else gate)
            yield Case(stored, {"layout": layout, "epilogue": "relu+gate"}, (np.maximum(products, 0) * by,), (spread,))
            bias = make(rng, dtype, n)
            want = np.maximum(products, 0) * (by + double(bias))
            spread = spread + (k + 8) * computed_in(dtype) * magnitude * np.abs(double(bias))
            options = {"layout": layout, "epilogue": "relu+gate+gate_bias"}
            yield Case((*stored, bias), options, (want,), (spread,))
    if dtype not in ("i8", "f8e4m3", "f8e5m2"):
        for of_a, of_b in [((2, 3), (2, 3)), ((2, 3), ()), ((2, 3), (1, 1)), ((1,), (4,)), ((), (2, 1, 2))]:
            a, b = make(rng, dtype, *of_a, 5, 9), make(rng, dtype, *of_b, 9, 7)
            bound = (9 + 8) * computed_in(dtype) * (np.abs(double(a)) @ np.abs(double(b)))
            yield Case((a, b), {}, (double(a) @ double(b),), (bound,))


def linear(dtype, rng):
    for leading, n, k in [((), 5, 7), ((33,), 17, 24), ((2, 3, 4), 9, 16), ((0,), 4, 8)]:
        x, w = make(rng, dtype, *leading, k), make(rng, dtype, n, k)
        products = double(x) @ double(w).T
        if dtype == "i8":
            yield Case((x, w), {}, (products.astype(np.int32),), (0,))
            continue
        bound = (k + 8) * computed_in(dtype) * (np.abs(double(x)) @ np.abs(double(w)).T)
        yield Case((x, w), {}, (products,), (bound,))
        if not dtype.startswith("f8"):
            bias, residual = make(rng, dtype, n), make(rng, dtype, *leading, n)
            more = bound + 8 * computed_in(dtype) * (np.abs(double(bias)) + np.abs(double(residual)))
            want = np.maximum(products + double(bias), 0) + double(residual)
            yield Case((x, w, bias, residual), {"activation": "relu"}, (want,), (more,))
            yield Case((x, w, bias), {}, (products + double(bias),), (more,))


def grouped_gemm(dtype, rng):
    for layout in ["nn", "nt"]:
        offsets = np.array([0, 3, 3, 20, 21], dtype=np.int32)
        a, b = make(rng, dtype, 21, 24), make(rng, dtype, 4, 24, 16)
        product = lambda x, y: np.concatenate(  # noqa: E731
            [x[offsets[g] : offsets[g + 1]] @ y[g] for g in range(4)]
        )
        bound = (24 + 8) * computed_in(dtype) * product(np.abs(double(a)), np.abs(double(b)))
        stored = b.transpose(0, 2, 1).copy() if layout == "nt" else b
        yield Case((a, stored, offsets), {"layout": layout}, (product(double(a), double(b)),), (bound,))


def gemv(dtype, rng):
    for m, k in [(1, 1), (33, 65)]:
        a, x = make(rng, dtype, m, k), make(rng, dtype, k)
        bound = (k + 8) * computed_in(dtype) * (np.abs(double(a)) @ np.abs(double(x))) if dtype in ROUNDOFF else 0
        yield Case((a, x), {}, (double(a) @ double(x),), (bound,))


# ---- pooling ---------------------------------------------------------------------------------------------------------


def windows(shape, options):
    """Of each output of a plane: the rows and columns of x that its window has, and how many taps a mean divides by."""

    def along(inputs, taps, stride, before, after, ceil_mode, count_pad):
        last = (inputs + before + after - taps + (stride - 1) * ceil_mode) // stride
        for o in range(last + 1):
            first = o * stride - before
            if ceil_mode and first >= inputs:
                continue
            end = min(first + taps, inputs)
            counted = min(first + taps, inputs + after) - first if count_pad else end - max(first, 0)
            yield slice(max(first, 0), end), counted

    pads = options.get("pad", 0)
    top, left, bottom, right = pads if isinstance(pads, tuple) else (pads,) * 4
    more = options.get("ceil_mode", False), options.get("count_include_pad", True)
    rows = list(along(shape[2], options["r"], options["stride"], top, bottom, *more))
    columns = list(along(shape[3], options["s"], options["stride"], left, right, *more))
    return rows, columns


def adaptive_windows(shape, size):
    def along(inputs, outputs):
        for o in range(outputs):
            first, end = o * inputs // outputs, -(-(o + 1) * inputs // outputs)
            yield slice(first, end), end - first

    return list(along(shape[2], size[0])), list(along(shape[3], size[1]))


def pooled(x, rows, columns, mean):
    """The result, and how far off a sum in float32 may be, over the roundoff."""
    want = np.empty((*x.shape[:2], len(rows), len(columns)))
    size = np.zeros(want.shape)
    for i, (down, h) in enumerate(rows):
        for j, (across, w) in enumerate(columns):
            part = x[:, :, down, across].reshape(*x.shape[:2], -1)
            want[:, :, i, j] = part.sum(-1) / (h * w) if mean else part.max(-1)
            size[:, :, i, j] = (part.shape[-1] + 3) * np.abs(part).sum(-1) / (h * w)
    return want, size


POOLS = [
    {"r": 2, "s": 2, "stride": 2, "pad": 0},
    {"r": 3, "s": 3, "stride": 2, "pad": 1},
    {"r": 3, "s": 3, "stride": 1, "pad": 1},
    {"r": 3, "s": 3, "stride": 2, "pad": (0, 1, 1, 2)},
    {"r": 2, "s": 3, "stride": 4, "pad": (1, 1, 0, 2), "ceil_mode": True},
]


def pool(mean):
    def cases(dtype, rng):
        divisors = [{}, {"count_include_pad": False}] if mean else [{}]
        for options in [options | divisor for options in POOLS for divisor in divisors]:
            x = make(rng, dtype, 2, 3, 9, 11)
            want, size = pooled(double(x), *windows(x.shape, options), mean)
            yield Case((x,), options, (want,), (computed_in(dtype) * size if mean else 0,))

    return cases


def resizing(mode, inputs, outputs, align_corners):
    """The weights [outputs, inputs] of an axis: whole numbers say which two pixels an output lies between."""
    weights = np.zeros((outputs, inputs))
    for j in range(outputs):
        if mode != "bilinear":
            over, under = ((2 * j + 1) * inputs, 2 * outputs) if mode == "nearest_exact" else (j * inputs, outputs)
            weights[j, over // under] = 1
            continue
        over, under = (2 * j + 1) * inputs - outputs, 2 * outputs
        if align_corners:
            over, under = (j * (inputs - 1), outputs - 1) if outputs > 1 else (0, 1)
        first, rest = divmod(min(max(over, 0), (inputs - 1) * under), under)
        weights[j, first] += 1 - rest / under
        weights[j, min(first + 1, inputs - 1)] += rest / under
    return weights


def upsample(dtype, rng):
    for h, w, oh, ow, options in [
        (3, 8, 6, 16, {"scale": 2}),
        (5, 7, 7, 14, {"scale": "1.5,2"}),
        (5, 4, 3, 9, {"size": "3,9"}),
        (1, 6, 1, 1, {"size": 1}),
    ]:
        for mode, align_corners in [("nearest", 0), ("nearest_exact", 0), ("bilinear", 0), ("bilinear", 1)]:
            if mode == "bilinear" and dtype in ("i8", "u8"):
                continue
            for layout in ["nchw", "nhwc"]:
                x = make(rng, dtype, *((2, 8, h, w) if layout == "nchw" else (2, h, w, 8)))
                rows, columns = resizing(mode, h, oh, align_corners), resizing(mode, w, ow, align_corners)
                sums = "ih,jw,nchw->ncij" if layout == "nchw" else "ih,jw,nhwc->nijc"
                want = np.einsum(sums, rows, columns, double(x))
                bound = 24 * computed_in(dtype) * np.abs(double(x)).max() if mode == "bilinear" else 0
                more = {"align_corners": align_corners} if mode == "bilinear" else {}
                yield Case((x,), options | {"mode": mode, "layout": layout} | more, (want,), (bound,))


def adaptive_avg_pool2d(dtype, rng):
    for size in [(1, 1), (3, 4), (9, 11), (10, 2)]:
        x = make(rng, dtype, 2, 3, 9, 12)
        want, error = pooled(double(x), *adaptive_windows(x.shape, size), True)
        yield Case((x,), {"size": size}, (want,), (computed_in(dtype) * error,))


def batch_statistics(x, roundoff):
    """Mean and variance of each channel of [n, c, h, w], and how far off a float32 computation may be."""
    n, size = x.shape[0] * x.shape[2] * x.shape[3], np.abs(x).max()
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    return mean, var, n * roundoff * size, n * roundoff * size**2


def batch_norm(given):
    def cases(dtype, rng):
        for with_gamma in [True, False]:
            x, wide = make(rng, dtype, 3, 4, 5, 7), (slice(None), None, None)
            unit, double_x = computed_in(dtype), double(x)
            mean, var, mean_error, var_error = batch_statistics(double_x, unit)
            inputs, wants, bounds = (x,), (mean, var), (mean_error, var_error)
            if given:  # other statistics than the batch's own
                mean, var = make(rng, "f32", 4), np.abs(make(rng, "f32", 4)) + np.float32(0.5)
                inputs, wants, bounds, mean_error, var_error = (x, mean, var), (), (), 0, 0
                mean, var = double(mean), double(var)
            gamma, beta = (make(rng, "f32", 4), make(rng, "f32", 4)) if with_gamma else (None, None)
            scale = (1 if gamma is None else double(gamma)) / np.sqrt(var + 1e-5)
            scale, shift = scale[wide], 0 if beta is None else double(beta)[wide]
            want = (double_x - mean[wide]) * scale + shift
            error = mean_error + np.abs(double_x - mean[wide]) * var_error / (2 * (var + 1e-5))[wide]
            error = np.abs(scale) * (error + 16 * unit * (np.abs(double_x) + np.abs(mean[wide]))) + 4 * unit * np.abs(
                shift
            )
            yield Case((*inputs, gamma, beta), {"eps": 1e-5}, (want, *wants), (error, *bounds))

    return cases


def batch_norm_stats(dtype, rng):
    x = make(rng, dtype, 3, 4, 5, 7)
    mean, var, mean_error, var_error = batch_statistics(double(x), computed_in(dtype))
    yield Case((x,), {}, (mean, var), (mean_error, var_error))


def group_norm(dtype, rng):
    for shape, groups, options, has_gamma, has_beta in [
        ((2, 6, 5, 7), 3, {}, 1, 1),
        ((1, 8), 2, {"eps": 0.1}, 0, 1),
        ((2, 4, 3, 3, 2), 1, {"activation": "relu"}, 1, 0),
        ((2, 3, 4, 10), 5, {"layout": "nhwc", "activation": "silu"}, 1, 1),
        ((2, 5, 4, 32), 2, {"layout": "nhwc"}, 0, 0),
    ]:
        x, last = make(rng, dtype, *shape), options.get("layout") == "nhwc"
        first = np.moveaxis(double(x), -1, 1) if last else double(x)
        c, wide = first.shape[1], (slice(None), *(None,) * (first.ndim - 2))
        gamma = make(rng, dtype, c) if has_gamma else None
        beta = make(rng, "f32", c) if has_beta else None
        scale, shift = (z if p is None else double(p)[wide] for p, z in ((gamma, 1.0), (beta, 0.0)))
        rows = first.reshape(first.shape[0], groups, -1)
        normal = normed(rows, None, None, options.get("eps", 1e-5), True).reshape(first.shape)
        want = normal * scale + shift
        unit = computed_in(dtype)
        # activations have slopes of at most 1.1, and err themselves by some roundoffs of what they are given
        bound = 96 * unit * (1 + np.abs(normal)) * (1 + np.abs(scale)) + 16 * unit * (np.abs(shift) + np.abs(want))
        if options.get("activation") == "relu":
            want = np.maximum(want, 0)
        elif options.get("activation") == "silu":
            want = want * sigmoid(want)
        if last:
            want, bound = (np.moveaxis(a, 1, -1) for a in (want, np.broadcast_to(bound, want.shape)))
        yield Case((x, gamma, beta), {"groups": groups, **options}, (want,), (bound,))


def window_sum(dtype, rng):
    for n, width in [(1, 3), (300, 9), (20, 33)]:
        x = make(rng, dtype, 2, n)
        padded = np.pad(double(x), ((0, 0), (width // 2, width // 2)))
        view = np.lib.stride_tricks.sliding_window_view(padded, width, -1)
        bound = width * computed_in(dtype) * np.abs(view).sum(-1) if dtype in ROUNDOFF else 0
        yield Case((x,), {"w": width}, (view.sum(-1),), (bound,))


def dwconv(dtype, rng):
    for b, c, t, taps in [(2, 3, 7, 7), (3, 2, 70, 9), (1, 1, 5, 8), (0, 2, 3, 3)]:
        k, w = make(rng, dtype, b, c, t), make(rng, dtype, c, taps)
        lag = np.arange(t)[:, None] - np.arange(t)
        inside = (lag >= 0) & (lag < taps)
        toeplitz = np.where(inside, double(w)[:, np.where(inside, taps - 1 - lag, 0)], 0)  # [c, t, u]

        def through(x, matrix):
            return np.einsum("bcu,ctu->bct", x, matrix)

        size = through(np.abs(double(k)), np.abs(toeplitz)) + 0.5
        want = through(double(k), toeplitz) + 0.5
        yield Case((k, w), {"eps": 0.5}, (want,), ((t + 26) * ROUNDOFF["f32"] * size,))


def conv2d(dtype, rng):
    for stride, pad, dilation, groups in [(1, 1, 1, 1), (2, 0, 1, 3), (1, 2, 2, 1)]:
        x, w = make(rng, dtype, 2, 6, 9, 11), make(rng, dtype, 9, 6 // groups, 3, 3)
        bias, unit = make(rng, dtype, 9), computed_in(dtype)

        def sums(x, w, stride=stride, pad=pad, dilation=dilation, groups=groups):
            padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
            extent = 2 * dilation + 1
            view = np.lib.stride_tricks.sliding_window_view(padded, (extent, extent), (2, 3))
            view = view[:, :, ::stride, ::stride, ::dilation, ::dilation]
            parts = zip(np.split(view, groups, 1), np.split(w, groups), strict=True)
            return np.concatenate([np.einsum("ncijab,kcab->nkij", v, f) for v, f in parts], 1)

        options = {"stride": stride, "pad": pad, "dilation": dilation, "groups": groups}
        want, magnitude = sums(double(x), double(w)), sums(np.abs(double(x)), np.abs(double(w)))
        bound = (w[0].size + 8) * unit * (magnitude + np.abs(double(bias))[:, None, None])
        yield Case((x, w), options, (want,), (bound,))
        if dtype == "f32":  # either factor may be rounded to 10 bits of fraction
            yield Case((x, w), options | {"math": "tf32"}, (want,), (bound + 2.0**-10 * (1 + 2.0**-12) * magnitude,))
        want = np.maximum(want + double(bias)[:, None, None], 0)
        yield Case((x, w, bias), options | {"epilogue": "bias+relu"}, (want,), (bound,))


def conv1d(dtype, rng):
    for stride, pad, dilation in [(1, 1, 1), (2, 0, 1), (1, 3, 2)]:
        x, w, bias = make(rng, dtype, 2, 4, 13), make(rng, dtype, 5, 4, 3), make(rng, dtype, 5)

        def sums(x, w, stride=stride, pad=pad, dilation=dilation):
            padded = np.pad(x, ((0, 0), (0, 0), (pad, pad)))
            view = np.lib.stride_tricks.sliding_window_view(padded, 2 * dilation + 1, 2)[:, :, ::stride, ::dilation]
            return np.einsum("ncia,kca->nki", view, w)

        options = {"stride": stride, "pad": pad, "dilation": dilation, "epilogue": "bias+relu"}
        want, magnitude = sums(double(x), double(w)), sums(np.abs(double(x)), np.abs(double(w)))
        bound = (w[0].size + 8) * computed_in(dtype) * (magnitude + np.abs(double(bias))[:, None])
        yield Case((x, w, bias), options, (np.maximum(want + double(bias)[:, None], 0),), (bound,))


def conv3d(dtype, rng):
    for stride, pad, dilation in [((1, 1, 1), (1, 1, 1), 1), ((2, 1, 3), (0, 1, 2), 1), ((1, 2, 1), (2, 0, 1), 2)]:
        x, w, bias = make(rng, dtype, 2, 3, 6, 7, 8), make(rng, dtype, 4, 3, 3, 2, 3), make(rng, dtype, 4)

        def sums(x, w, stride=stride, pad=pad, dilation=dilation):
            padded = np.pad(x, ((0, 0), (0, 0), *((side, side) for side in pad)))
            window = [(taps - 1) * dilation + 1 for taps in w.shape[2:]]
            view = np.lib.stride_tricks.sliding_window_view(padded, window, (2, 3, 4))
            steps = [slice(None, None, step) for step in (*stride, *[dilation] * 3)]
            return np.einsum("ncdijtab,kctab->nkdij", view[(..., *steps)], w)

        options = {"stride": stride, "pad": pad, "dilation": dilation, "epilogue": "bias+relu"}
        options = {k: ",".join(map(str, v)) if isinstance(v, tuple) else v for k, v in options.items()}
        want, magnitude = sums(double(x), double(w)), sums(np.abs(double(x)), np.abs(double(w)))
        of_channel = double(bias)[:, None, None, None]
        bound = (w[0].size + 8) * computed_in(dtype) * (magnitude + np.abs(of_channel))
        yield Case((x, w, bias), options, (np.maximum(want + of_channel, 0),), (bound,))


def transposed(axes):
    """Each element of x, times a filter, is added where its window lies."""

    def cases(dtype, rng):
        for stride, pad, more in [(1, 1, 0), (2, 0, 1), (3, 1, 2)]:
            x, w = make(rng, dtype, 2, 3, *(5, 4)[:axes]), make(rng, dtype, 3, 4, *(3, 2)[:axes])
            bias = make(rng, dtype, 4)

            def sums(x, w, stride=stride, pad=pad, more=more):
                sides = [(side - 1) * stride + taps + more for side, taps in zip(x.shape[2:], w.shape[2:])]
                y = np.zeros((len(x), w.shape[1], *sides))
                for at in np.ndindex(*x.shape[2:]):
                    window = tuple(slice(i * stride, i * stride + taps) for i, taps in zip(at, w.shape[2:]))
                    y[(..., *window)] += np.tensordot(x[(..., *at)], w, 1)
                return y[(..., *(slice(pad, side - pad) for side in sides))]

            options = {"stride": stride, "pad": pad, "output_pad": more, "epilogue": "bias"}
            of_channel = double(bias).reshape(-1, *[1] * axes)
            want, magnitude = sums(double(x), double(w)), sums(np.abs(double(x)), np.abs(double(w)))
            bound = (w[:, 0].size + 8) * computed_in(dtype) * (magnitude + np.abs(of_channel))
            yield Case((x, w, bias), options, (want + of_channel,), (bound,))

    return cases


# ---- boxes -----------------------------------------------------------------------------------------------------------


def nms(dtype, rng):
    for n, classes in [(0, None), (1, None), (90, None), (130, 3)]:
        corner, side = rng.integers(0, 60, (n, 2)), rng.integers(0, 30, (n, 2))  # now and then without an area
        boxes = np.concatenate((corner, corner + side), 1).astype(DTYPES[dtype])
        scores = rng.integers(0, 1 + n // 2, n).astype(DTYPES[dtype])  # with ties
        labels = None if classes is None else rng.integers(0, classes, n)
        kept = []
        for i in sorted(range(n), key=lambda i: (-float(scores[i]), i)):
            low = np.maximum(corner[i], corner[kept].reshape(-1, 2))
            both = np.clip(np.minimum(corner[i] + side[i], (corner + side)[kept].reshape(-1, 2)) - low, 0, None).prod(1)
            together = side[i].prod() + side[kept].reshape(-1, 2).prod(1) - both
            same = True if labels is None else labels[kept] == labels[i]
            if not ((2 * both > together) & same).any():
                kept.append(i)
        indices = np.full(n, -1, np.int64)
        indices[: len(kept)] = kept
        yield Case((boxes, scores, labels), {"iou": 0.5}, (indices, np.array([len(kept)])), (0, 0))


# ---- embeddings ------------------------------------------------------------------------------------------------------


def embedding(dtype, rng):
    for shape, index in [((3,), np.int32), ((2, 5), np.int64), ((0,), np.int64)]:
        table, rows = make(rng, dtype, 7, 33), rng.integers(-1, 8, shape).astype(index)
        inside = (rows >= 0) & (rows < 7)  # the others give zeros
        want = np.where(inside[..., None], table[np.where(inside, rows, 0)], np.zeros((), table.dtype))
        yield Case((table, rows), {}, (want,), (0,))


def embedding_norm(dtype, rng):
    for mode, cols, has_gamma, has_beta, scale in [
        ("rms", 64, 1, 0, 1.0),
        ("rms", 65, 0, 0, 2.75),
        ("layer", 64, 1, 1, -0.5),
        ("layer", 65, 0, 1, 1.0),
    ]:
        table, rows = make(rng, dtype, 7, cols), rng.integers(-1, 8, (2, 5)).astype(np.int64)
        gamma = make(rng, dtype, cols) if has_gamma else None
        beta = make(rng, dtype, cols) if has_beta else None
        inside = (rows >= 0) & (rows < 7)  # the others give zeros
        x = np.where(inside[..., None], double(table)[np.where(inside, rows, 0)], 0) * scale
        x = double(x.astype(np.float32).astype(DTYPES[dtype]))  # exact: the norm is that of the rounded row
        want = normed(x, gamma, beta, 1e-5, mode == "layer")
        size = (1 + np.abs(want)) * (1 if gamma is None else 1 + np.abs(double(gamma)))
        size = size + (0 if beta is None else np.abs(double(beta)))
        options = {"mode": mode, "eps": 1e-5, "scale": scale}
        yield Case((table, rows, gamma, beta), options, (x, want), (0, 64 * computed_in(dtype) * size))


def turned(x, positions, style):
    """x [..., s, h, d] turned by positions [s] or [b, s], and the size that errors are relative to."""
    half, halves = x.shape[-1] // 2, style == "neox"
    turns = np.asarray(positions)[..., None, None] * 10000.0 ** (-np.arange(half) / half)  # [..., s, 1, pairs]
    cos, sin = np.cos(turns), np.sin(turns)
    a, b = (double(x)[..., :half], double(x)[..., half:]) if halves else (double(x)[..., ::2], double(x)[..., 1::2])
    pairs, size = (a * cos - b * sin, a * sin + b * cos), np.abs(a) + np.abs(b)
    if halves:
        return np.concatenate(pairs, -1), np.concatenate((size, size), -1)
    return np.stack(pairs, -1).reshape(x.shape), np.repeat(size, 2, -1)


def rope(dtype, rng):
    for style in ["neox", "gptj"]:
        for given in [False, True]:
            x = make(rng, dtype, 2, 5, 3, 16)
            positions = rng.integers(0, 1000, 5).astype(np.int32) if given else None
            want, size = turned(x, np.arange(5) if positions is None else positions, style)
            yield Case((x, positions, None, None), {"style": style}, (want,), (8 * computed_in(dtype) * size,))


def rope_cache(dtype, rng):
    """Caches that tokens fill, one for each row: of other rows it is not said what they hold in a new cache."""
    b, s, page = 2, 32, 16
    for style, layout in [("neox", "bhsd"), ("gptj", "bshd"), ("neox", "paged")]:
        q, k, v = make(rng, dtype, b, s, 3, 24), make(rng, dtype, b, s, 2, 24), make(rng, dtype, b, s, 2, 8)
        positions = np.stack([rng.permutation(s) for _ in range(b)]).astype(np.int64)
        table = rng.permutation(b * s // page).reshape(b, s // page).astype(np.int32)

        def cache(x):
            rows = np.empty_like(x)  # [b, rows, heads, columns]
            for i in range(b):
                rows[i, positions[i]] = x[i]
            if layout == "bhsd":
                return rows.swapaxes(1, 2)
            if layout == "bshd":
                return rows
            pages = np.empty((table.size, page, *x.shape[2:]), x.dtype)
            pages[table.reshape(-1)] = rows.reshape(pages.shape)
            return pages

        want_q, size_q = turned(q, positions, style)
        want_k, size_k = turned(k, positions, style)
        error = 8 * computed_in(dtype)
        paged = layout == "paged"
        options = {"style": style} | ({"pages": table.size, "page": page} if paged else {"rows": s, "layout": layout})
        inputs = (q, k, v, positions, None, None, table if paged else None)
        wants = (want_q, cache(want_k), cache(v))
        yield Case(inputs, options, wants, (error * size_q, error * cache(size_k), 0))


# ---- attention -------------------------------------------------------------------------------------------------------


def attention(dtype, rng):
    """One head at a time, by definition. `window` is what the options say: keys before and after a query's own."""
    for options, window, lower_right, mask in [
        ({}, (-1, -1), False, None),
        ({"causal": "upper_left", "lse": True}, (-1, 0), False, None),
        ({"causal": "lower_right", "softcap": 3.0}, (-1, 0), True, None),
        ({"window": "4,2", "scale": 0.3, "lse": True}, (4, 2), False, "bool"),
        ({"lse": True}, (-1, -1), False, "f32"),
        ({"layout": "bshd", "causal": "upper_left"}, (-1, 0), False, None),
    ]:
        b, hq, hkv, sq, sk, d, dv = 2, 4, 2, 9, 14, 24, 16
        q, k, v = make(rng, dtype, b, hq, sq, d), make(rng, dtype, b, hkv, sk, d), make(rng, dtype, b, hkv, sk, dv)
        given = None
        if mask == "bool":
            given = rng.integers(0, 2, (hq, sq, sk)).astype(np.bool_) | np.eye(sq, sk, dtype=np.bool_)
        elif mask == "f32":
            given = rng.standard_normal((sq, sk)).astype(np.float32)
        wide_k, wide_v = (np.repeat(double(x), hq // hkv, 1) for x in (k, v))
        products = double(q) @ wide_k.swapaxes(-1, -2)
        size = np.abs(double(q)) @ np.abs(wide_k).swapaxes(-1, -2)
        scores = products * options.get("scale", d**-0.5)
        if "softcap" in options:
            scores = options["softcap"] * np.tanh(scores / options["softcap"])
        away = np.arange(sk) - np.arange(sq)[:, None] - (sk - sq if lower_right else 0)
        attends = np.broadcast_to((window[1] < 0) | (away <= window[1]), scores.shape)
        attends = attends & ((window[0] < 0) | (-away <= window[0]))
        if mask == "bool":
            attends = attends & given
        elif mask == "f32":
            scores = scores + double(given)
        scores = np.where(attends, scores, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.where(attends.any(-1), scores.max(-1), 0)
            weights = np.exp(scores - top[..., None])
            lse = top + np.log(weights.sum(-1))
            weights = np.where(attends.any(-1)[..., None], weights / weights.sum(-1)[..., None], 0)
        want = weights @ wide_v
        unit = computed_in(dtype)
        # An error of a score is a factor of its weight; 16-bit weights are rounded to their type before they meet v.
        error = (d + 4) * unit * np.max(size) + 32 * unit * (np.max(np.abs(scores[attends])) + 1)
        weighted = weights @ np.abs(wide_v)
        of_type = 0 if dtype == "f32" else ROUNDOFF[dtype]
        lost = (SMALLEST["f16"] if dtype == "f16" else 0) * np.sum(np.abs(wide_v))
        tolerance = (error + sk * unit + of_type) * (weighted + np.abs(want)) + lost
        if options.get("layout") == "bshd":
            q, k, v, want, tolerance = (x.swapaxes(1, 2) for x in (q, k, v, want, tolerance))
            q, k, v = (np.ascontiguousarray(x) for x in (q, k, v))
        outputs, near = (want,), (tolerance,)
        if "lse" in options:
            seen = attends.any(-1)
            assert seen.all()  # an infinite answer has no distance; the C++ cases have them
            outputs, near = (want, lse), (tolerance, error + sk * unit + 4 * unit * np.abs(lse))
        yield Case((q, k, v, given), options, outputs, near)
    yield from uneven_attention(dtype, rng)


def uneven_attention(dtype, rng):
    """Sequences of uneven lengths, each by definition and alone: behind each other, or with keys in pages of a cache."""
    hq, hkv, d, page = 4, 2, 24, 16
    queries, keys = [3, 0, 9, 1], [5, 4, 40, 17]
    cu_q, cu_k = (np.cumsum([0, *lengths]).astype(np.int32) for lengths in (queries, keys))
    q, k, v = (make(rng, dtype, sum(n), h, d) for n, h in ((queries, hq), (keys, hkv), (keys, hkv)))
    unit = computed_in(dtype)
    want, near = np.zeros(q.shape), np.zeros(q.shape)
    lse, lse_near = np.zeros((hq, len(q))), np.zeros((hq, len(q)))
    for b, (rows, length) in enumerate(zip(queries, keys, strict=True)):
        for h in range(hq):
            mine = slice(cu_q[b], cu_q[b + 1])
            q_b, k_b, v_b = (double(x) for x in (q[mine, h], *(x[cu_k[b] : cu_k[b + 1], h // 2] for x in (k, v))))
            attends = np.arange(length) <= np.arange(rows)[:, None] + length - rows
            scores = np.where(attends, q_b @ k_b.T * d**-0.5, -np.inf)
            weights = np.exp(scores)
            lse[h, mine] = np.log(weights.sum(-1))
            weights /= weights.sum(-1, keepdims=True)
            want[mine, h] = weights @ v_b
            size = np.max(np.abs(q_b) @ np.abs(k_b).T, initial=1)
            error = (d + 4) * unit * size + 32 * unit * (size + 1)
            of_type = 0 if dtype == "f32" else ROUNDOFF[dtype]
            lost = (SMALLEST["f16"] if dtype == "f16" else 0) * np.sum(np.abs(v_b))
            near[mine, h] = (error + length * unit + of_type) * (weights @ np.abs(v_b) + np.abs(want[mine, h])) + lost
            lse_near[h, mine] = error + length * unit + 4 * unit * np.abs(lse[h, mine])
    options = {"causal": "lower_right", "lse": True}
    most = {"max_q": max(queries), "max_k": max(keys)}
    yield Case((q, k, v, None, cu_q, cu_k), {**options, **most}, (want, lse), (near, lse_near))
    # The same with the keys in pages, in any order and with NaN where there are none.
    table = np.full((len(keys), 3), 1 << 20, np.int32)
    pages = [(b, n) for b, length in enumerate(keys) for n in range(-(-length // page))]
    caches = [np.full((len(pages) + 1, page, hkv, d), np.nan, x.dtype) for x in (k, v)]
    for number, (b, n) in zip(rng.permutation(len(pages)), pages, strict=True):
        table[b, n] = number
        first, last = cu_k[b] + n * page, min(cu_k[b] + (n + 1) * page, cu_k[b + 1])
        for cache, x in zip(caches, (k, v), strict=True):
            cache[number, : last - first] = x[first:last]
    inputs = (q, *caches, None, cu_q, None, np.asarray(keys, np.int32), table)
    yield Case(inputs, options, (want, lse), (near, lse_near))


def attention_merge(dtype, rng):
    """Softmax of two parts' logarithms, and the parts so weighted. A part with -inf had no keys."""
    for layout in ("bhsd", "bshd"):
        b, h, s, dv = 2, 3, 5, 12
        o_a, o_b = make(rng, dtype, b, h, s, dv), make(rng, dtype, b, h, s, dv)
        lse_a, lse_b = make(rng, "f32", b, h, s), make(rng, "f32", b, h, s)
        lse_a[:, 0, 1] = -np.inf
        lse_b[:, 1, 2] = -np.inf
        lse = np.logaddexp(double(lse_a), double(lse_b))
        weight_a, weight_b = (np.exp(double(part) - lse)[..., None] for part in (lse_a, lse_b))
        want = weight_a * double(o_a) + weight_b * double(o_b)
        unit = computed_in(dtype)
        finite = np.concatenate([part[np.isfinite(part)] for part in (lse_a, lse_b)])
        error = (16 + 4 * np.max(np.abs(finite))) * unit
        near = error * (weight_a * np.abs(double(o_a)) + weight_b * np.abs(double(o_b)))
        inputs = (o_a, lse_a, o_b, lse_b)
        if layout == "bshd":
            inputs = (np.ascontiguousarray(o_a.swapaxes(1, 2)), lse_a, np.ascontiguousarray(o_b.swapaxes(1, 2)), lse_b)
            want, near = want.swapaxes(1, 2), near.swapaxes(1, 2)
        yield Case(inputs, {"layout": layout}, (want, lse), (near, error + 4 * unit * np.abs(lse)))


# ---- the textbook's checklist ----------------------------------------------------------------------------------------


def lesson(function, integers=False):
    def cases(dtype, rng):
        for n in [0, 1, 300]:
            x = rng.integers(0, 100, n).astype(DTYPES[dtype]) if integers else make(rng, dtype, n)
            yield Case((x,), {}, (function(x),), (0,))

    return cases


def hashed(x):
    h, odd = x.astype(np.uint32), x.astype(np.uint32)
    for _ in range(64):
        h = h * np.uint32(1664525) + np.uint32(1013904223)
        odd = odd ^ (odd << np.uint32(13))
        odd = odd ^ (odd >> np.uint32(17))
        odd = odd ^ (odd << np.uint32(5))
    return np.where(np.arange(x.size) % 2 == 0, h, odd).astype(np.uint32).view(np.int32)


def blocks_reversed(x):
    return np.concatenate([x[i : i + 128][::-1] for i in range(0, x.size, 128)]) if x.size else x


def window(dtype, rng):
    for n, width in [(1, 9), (300, 9), (300, 33)]:
        x = make(rng, dtype, n)
        sums = np.convolve(double(x), np.ones(width), "full")[width // 2 :][:n]
        magnitude = np.convolve(np.abs(double(x)), np.ones(width), "full")[width // 2 :][:n]
        yield Case((x,), {"w": width}, (sums,), (width * computed_in(dtype) * magnitude,))


OPERATORS = {
    "add": binary(np.add),
    "mul": binary(np.multiply),
    "relu": elementwise(lambda x: np.maximum(x, 0), 0),
    "copy": elementwise(lambda x: x, 0),
    "sigmoid": elementwise(sigmoid),
    "tanh": elementwise(np.tanh),
    "gelu": elementwise(lambda x: x * normal_below(x), 8),
    "gelu_tanh": elementwise(lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), 8),
    "silu": elementwise(lambda x: x * sigmoid(x)),
    "exp": exp,
    "sum": reduction(np.sum, sum_error, empty=True),
    "mean": reduction(np.mean, mean_error, empty=True),
    "max": reduction(np.max, None),
    "min": reduction(np.min, None),
    "argmax": reduction(np.argmax, None),
    "argmin": reduction(np.argmin, None),
    "dot": dot,
    "trace": trace,
    "histogram": histogram,
    "transpose": transpose,
    "permute": permute,
    "softmax": softmax(logarithm=False),
    "log_softmax": softmax(logarithm=True),
    "layer_norm": norm(True),
    "rms_norm": norm(False),
    "add_layer_norm": norm(True, residual=True),
    "add_rms_norm": norm(False, residual=True),
    "gemm": gemm,
    "grouped_gemm": grouped_gemm,
    "linear": linear,
    "gemv": gemv,
    "max_pool2d": pool(False),
    "avg_pool2d": pool(True),
    "upsample": upsample,
    "adaptive_avg_pool2d": adaptive_avg_pool2d,
    "batch_norm": batch_norm(given=True),
    "batch_norm_stats": batch_norm_stats,
    "batch_norm_train": batch_norm(given=False),
    "group_norm": group_norm,
    "window_sum": window_sum,
    "dwconv": dwconv,
    "conv1d": conv1d,
    "conv2d": conv2d,
    "conv3d": conv3d,
    "conv_transpose1d": transposed(1),
    "conv_transpose2d": transposed(2),
    "nms": nms,
    "embedding": embedding,
    "embedding_norm": embedding_norm,
    "rope": rope,
    "rope_cache": rope_cache,
    "attention": attention,
    "attention_merge": attention_merge,
    "checklist_copy": lesson(lambda x: x),
    "checklist_branch": lesson(hashed, integers=True),
    "checklist_vecadd": lambda dtype, rng: (
        c for c in binary(np.add)(dtype, rng) if c.inputs[1].shape == c.inputs[0].shape
    ),
    "checklist_histogram": lesson(lambda x: np.bincount(x, minlength=256).astype(np.int32)),
    "checklist_window": window,
    "checklist_banks": lesson(blocks_reversed),
}
