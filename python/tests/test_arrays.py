"""What a call takes and gives: layouts, types, places for the result."""

import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import ridge

X = np.arange(24, dtype=np.float32).reshape(4, 6) / 7


def relu(x):
    return np.maximum(x, 0)


@pytest.mark.parametrize(
    "x",
    [
        X,
        X.T,
        X[::-1],
        X[:, ::2],
        X[1:, 1:],
        X[0, 0],
        np.float32(3) * np.ones(()),
        np.broadcast_to(X[:1], (4, 6)),
        X[:0],
    ],
    ids=["rows", "columns", "backwards", "gaps", "off 16 bytes", "scalar", "0-d", "broadcast", "empty"],
)
def test_layouts(x):
    x = np.asarray(x) if not isinstance(x, np.ndarray) else x
    np.testing.assert_array_equal(ridge.relu(x), relu(x))
    np.testing.assert_allclose(ridge.add(x, x), x + x)


def test_read_only_input():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(ridge.relu(x), relu(x))
    np.testing.assert_array_equal(ridge.relu(np.frombuffer(X.tobytes(), np.float32)), relu(X.ravel()))


def test_memmap(tmp_path):
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(100,))
    mapped[:] = -1
    np.testing.assert_array_equal(ridge.relu(mapped), np.zeros(100))


def test_out():
    y = np.empty((6, 4), np.float32).T
    assert ridge.relu(X, out=y) is y
    np.testing.assert_array_equal(y, relu(X))
    assert ridge.relu(X, out=(y,)) is y
    x = X.copy()
    ridge.softmax(x, out=x)  # in place
    np.testing.assert_array_equal(x, ridge.softmax(X))
    ridge.softmax(x, out=x)  # and again, by the plan that is kept
    np.testing.assert_array_equal(x, ridge.softmax(ridge.softmax(X)))


def test_out_says_its_type_where_the_operator_asks():
    x = np.arange(100, dtype=np.uint8)
    counts = np.empty(256, np.int32)
    assert ridge.histogram(x, out=counts) is counts
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=256))
    assert ridge.histogram(x, out="i32").dtype == np.int32
    assert ridge.histogram(x).dtype == np.int64


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_ml_dtypes(dtype):
    x = X.astype(dtype)
    y = ridge.copy(x)
    assert y.dtype == dtype and y.tobytes() == x.tobytes()
    np.testing.assert_array_equal(ridge.transpose(x).astype(np.float32), x.T.astype(np.float32))


def test_options():
    x = np.array([0, 1, 1, 5], np.int32)
    want = np.histogram(x, 3, (0, 6))[0]
    for bins, edges in [(3, (0, 6)), ("3", "0,6"), (np.int64(3), [0.0, 6]), (True + 2, (np.float32(0), 6))]:
        np.testing.assert_array_equal(ridge.histogram(x, bins=bins, range=edges), want)
    np.testing.assert_array_equal(ridge.histogram(x, bins=3, range=(-1e-5, 6.5)), np.histogram(x, 3, (-1e-5, 6.5))[0])
    assert ridge.sum(x, axis=None) == 7  # None: not given
    for variant in ridge.ops()["transpose"]["variants"]:
        try:
            np.testing.assert_array_equal(ridge.transpose(X, variant=variant["name"]), X.T)
        except ridge.Unsupported as refusal:
            assert variant["name"] in str(refusal)


def test_inputs_by_name():
    np.testing.assert_array_equal(ridge.add(b=X, a=X), X + X)
    np.testing.assert_array_equal(ridge.add(X, b=X[0]), X + X[0])
    np.testing.assert_array_equal(ridge.gemm(X, X.T.copy(), None, None), ridge.gemm(X, X.T.copy()))


def test_inputs_that_are_left_out():
    a, b, bias = X, X.T.copy(), np.arange(4, dtype=np.float32)
    try:
        ridge.add(X, X, inputs="a,b")
    except ValueError:
        pytest.skip("this build's operators are not told which inputs they are brought")
    np.testing.assert_allclose(ridge.gemm(a, b, bias=bias, epilogue="bias"), X @ b + bias, rtol=1e-5)
    plan = ridge.plan("gemm", a, b, bias=bias, epilogue="bias")
    np.testing.assert_allclose(plan.run(a, b, bias=bias), X @ b + bias, rtol=1e-5)
    with pytest.raises(TypeError, match="must be a, b, bias"):
        plan.run(a, b, bias)


def test_equal_options_of_different_types_are_told_apart():
    x = np.array([0, 1, 1, 5], np.float64)
    a = ridge.histogram(x, bins=2, range=(0, 4))
    b = ridge.histogram(x, bins=4, range=(0, 4))
    c = ridge.histogram(x, bins=2, range=(0, 40))
    assert a.tolist() == [3, 0] and b.tolist() == [1, 2, 0, 0] and c.tolist() == [4, 0]


def test_many_shapes_pass_through_the_cache():
    for _ in range(2):
        for n in range(1, 1500):  # more than it holds
            assert ridge.sum(X.ravel()[: n % 24 + 1].repeat(n // 24 + 1)).dtype == np.float32
    ones = np.ones(2000, np.float32)
    assert [float(ridge.sum(ones[:n])) for n in range(1, 2000)] == list(range(1, 2000))


def test_threads():
    x = np.random.default_rng(0).standard_normal((64, 257)).astype(np.float32)
    want, wrong = ridge.softmax(x), []

    def work(seed):
        for i in range(100):
            rows = 1 + (seed + i) % 64
            if not np.array_equal(ridge.softmax(x[:rows]), want[:rows]):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(7 * seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_goes_on_while_an_operator_runs():
    """Another thread sees the time between a call's start and its end, in which nothing makes this one give way."""
    x = np.ones((200, 200), np.float32)
    inside, seen, done = False, False, False

    def watch():
        nonlocal seen
        while not done:
            seen = seen or inside
            time.sleep(0)

    interval = sys.getswitchinterval()
    watcher = threading.Thread(target=watch)
    watcher.start()
    sys.setswitchinterval(1000)  # seconds: no thread is interrupted
    try:
        for _ in range(10000):
            inside = True
            ridge.gemm(x, x)
            inside = False
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
        done = True
        watcher.join()
    assert seen
