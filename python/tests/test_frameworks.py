"""PyTorch on the CPU, JAX, and what else is installed. test_gpu.py has PyTorch on a GPU."""

import numpy as np
import pytest

import ridge

X = np.random.default_rng(0).standard_normal((5, 33)).astype(np.float32)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch")

    def test_kind_and_values(self, torch):
        x = torch.from_numpy(X)
        y = ridge.softmax(x)
        assert type(y) is torch.Tensor and y.device == x.device
        np.testing.assert_array_equal(y.numpy(), ridge.softmax(X))
        for view in [x.T, x[:, ::2], x[1:, 1:], x[:0], x[0, 0], x.expand(2, 5, 33)]:
            np.testing.assert_array_equal(ridge.relu(view).numpy(), view.clamp(min=0).numpy())

    def test_types(self, torch):
        for dtype in [
            torch.bfloat16,
            torch.float16,
            torch.float64,
            torch.float8_e4m3fn,
            torch.int32,
            torch.uint8,
            torch.bool,
        ]:
            x = torch.arange(10).to(dtype)
            y = ridge.copy(x)
            assert y.dtype == dtype and torch.equal(y.float(), x.float())

    def test_out(self, torch):
        x = torch.from_numpy(X)
        y = torch.empty(33, 5).T
        assert ridge.relu(x, out=y) is y and torch.equal(y, x.relu())
        counts = torch.empty(8, dtype=torch.int32)
        ridge.histogram(x, bins=8, range=(-3, 3), out=counts)
        assert torch.equal(counts.double(), torch.histc(x.double(), 8, -3, 3))

    def test_gradients_are_not_lost_in_silence(self, torch):
        x = torch.from_numpy(X).requires_grad_()
        with pytest.raises(ValueError, match="relu: a requires grad"):
            ridge.relu(x)
        with pytest.raises(ValueError, match="relu: y requires grad"):
            ridge.relu(x.detach(), out=x)
        assert torch.equal(ridge.relu(x.detach()), x.detach().relu())
        with torch.no_grad():
            assert torch.equal(ridge.relu(x), x.relu())
        with torch.inference_mode():
            ridge.relu(torch.nn.Parameter(x))

    def test_views_that_no_kernel_can_read(self, torch):
        negated = torch.randn(3, dtype=torch.complex64).conj().imag
        assert negated.is_neg()
        with pytest.raises(ValueError, match="negated"):
            ridge.relu(negated)
        assert torch.equal(ridge.relu(negated.resolve_neg()), negated.relu())
        for strange in [torch.eye(3).to_sparse(), torch.empty(3, device="meta")]:
            with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)):
                ridge.relu(strange)

    def test_plans(self, torch):
        x = torch.from_numpy(X)
        plan = ridge.plan("softmax", x)
        assert type(plan.run(x)) is torch.Tensor and type(plan.run(X)) is np.ndarray
        assert ridge.plan("softmax", ridge.Spec(X.shape, torch.float32)).explain().json == plan.explain().json

    def test_mixed(self, torch):
        x = torch.from_numpy(X)
        assert type(ridge.add(x, X)) is torch.Tensor and type(ridge.add(X, x)) is np.ndarray


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self):
        jax = pytest.importorskip("jax")
        with jax.default_device(jax.devices("cpu")[0]):
            yield jax

    def test_kind_and_values(self, jax):
        x = jax.numpy.asarray(X)
        y = ridge.softmax(x)
        assert isinstance(y, jax.Array)
        np.testing.assert_array_equal(np.asarray(y), ridge.softmax(X))
        computed = x * 2 + 1  # perhaps on its way still
        np.testing.assert_array_equal(np.asarray(ridge.relu(computed)), np.maximum(X * 2 + 1, 0))
        half = ridge.relu(x.astype(jax.numpy.bfloat16))
        assert half.dtype == jax.numpy.bfloat16
        assert int(ridge.histogram(x, bins=4, range=(-9, 9)).sum()) == X.size

    def test_arrays_are_not_written(self, jax):
        with pytest.raises(ValueError, match="relu: y is read-only"):
            ridge.relu(X, out=jax.numpy.zeros(X.shape))


def test_array_api():
    strict = pytest.importorskip("array_api_strict")
    y = ridge.relu(strict.asarray(X))
    np.testing.assert_array_equal(np.asarray(y), np.maximum(X, 0))
