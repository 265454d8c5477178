"""The operators that models are written in: PyTorch's, and Ridge's under the same names.

Tokens are rows, [tokens, width]. Heads are [batch, tokens, heads, width of a head], also as views of a wider tensor, so
that no operator's result has to be copied for the next. Images are [batch, height, width, channels], videos [batch,
frames, height, width, channels]. The weight of a product is [out, in].
"""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import ridge.torch
from ridge.bench.peers.table import ACTIVATIONS
from ridge.torch.gated import gated

_NMS_ROUNDS = 8
_MOMENTUM, _EPS = 0.1, 1e-5  # batch norms'


class Torch:
    """What a user of PyTorch writes; eager mode runs it as it stands here."""

    # ---- products ----------------------------------------------------------------------------------------------------

    def linear(self, x, w, bias=None, activation=None, residual=None):
        """act(x w^T + bias) + residual."""
        y = F.linear(x, w, bias)
        y = ACTIVATIONS[activation](y) if activation else y
        return y if residual is None else y + residual

    def gated(self, x, w, activation, bias=None):
        """act(x gate^T) * (x up^T). w [2 out, in] has the rows of gate, then those of up; so has bias [2 out]."""
        gate, up = self.linear(x, w, bias).chunk(2, -1)
        return ACTIVATIONS[activation](gate) * up

    def grouped(self, x, w, offsets):
        """Rows offsets[g] to offsets[g + 1] of x times w[g]^T. w [groups, out, in], offsets [groups + 1] i32."""
        return F.grouped_mm(x, w.mT, offs=offsets[1:])

    def gated_grouped(self, x, w, offsets, activation):
        """gated() with the group's weights of each row. w [groups, 2 out, in]."""
        gate, up = self.grouped(x, w, offsets).chunk(2, -1)
        return ACTIVATIONS[activation](gate) * up

    def linear_time_last(self, x, w):
        """x [batch, time, in] to [batch, out, time]."""
        return torch.bmm(w.expand(x.shape[0], -1, -1), x.mT)

    def linear_gate_add(self, x, w, bias, gate, residual):
        """residual + gate * (x w^T + bias). residual [batch, tokens, out]; gate [batch, out], a row for each image."""
        return residual + gate.unsqueeze(1) * self.linear(x, w, bias).view(residual.shape)

    # ---- norms -------------------------------------------------------------------------------------------------------

    def rms_norm(self, x, gamma, eps):
        return F.rms_norm(x, gamma.shape, gamma, eps)

    def layer_norm(self, x, gamma, beta, eps):
        return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

    def add_rms_norm(self, x, residual, gamma, eps):
        """The norm of x + residual, and that sum."""
        x = x + residual
        return self.rms_norm(x, gamma, eps), x

    def linear_add_rms_norm(self, x, w, residual, gamma, eps):
        """The end of a branch and the norm that begins the next: the norm of x w^T + residual, and that sum."""
        return self.add_rms_norm(self.linear(x, w), residual, gamma, eps)

    def linear_add_layer_norm(self, x, w, bias, residual, gamma, beta, eps):
        """The layer norm of x w^T + bias + residual, and that sum."""
        x = self.linear(x, w, bias, residual=residual)
        return self.layer_norm(x, gamma, beta, eps), x

    def modulated_layer_norm(self, x, shift, scale, eps):
        """(1 + scale) * norm(x) + shift. x [batch, tokens, width]; shift, scale [batch, width], of each image."""
        return self.layer_norm(x, None, None, eps) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)

    def group_norm(self, x, gamma, beta, groups, eps, activation=None):
        """Of images. act(the norm over a group's channels and all pixels)."""
        y = F.group_norm(x.permute(0, 3, 1, 2), groups, gamma, beta, eps).permute(0, 2, 3, 1)
        return ACTIVATIONS[activation](y) if activation else y

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def embedding(self, table, indices, scale=None):
        y = F.embedding(indices, table)
        return y if scale is None else y * scale

    def embedding_rms_norm(self, table, indices, gamma, eps, scale=None):
        """The norm of an embedding, and the embedding."""
        x = self.embedding(table, indices, scale)
        return self.rms_norm(x, gamma, eps), x

    def angles(self, cos, sin, positions, dtype):
        """What rope() takes, made once for all layers. cos, sin [positions, width / 2] f32; positions [tokens], or how
        many there are from 0 on."""
        at = slice(positions) if isinstance(positions, int) else positions
        return tuple(torch.cat((table[at], table[at]), -1).to(dtype).unsqueeze(1) for table in (cos, sin))

    def rope(self, x, angles):
        """Heads whose halves are turned."""
        cos, sin = angles
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def rope_cache(self, heads, angles, position, cache):
        """heads [batch, tokens, those of q, k and v, d]: q turned. k, turned too, and v go to `position` [tokens] of
        cache, (keys, values) [batch, rows, kv heads, d]."""
        keys, values = cache
        count = keys.shape[2]
        qk, v = heads.split((heads.shape[2] - count, count), 2)
        q, k = self.rope(qk, angles).split((qk.shape[2] - count, count), 2)
        keys[:, position], values[:, position] = k, v
        return q

    def attention(self, q, k, v, causal=False, window=None, softcap=None, mask=None, scale=None):
        """q [batch, queries, heads, d] and k, v [batch, keys, fewer heads, d], the result as q.

        causal    the last query stands at the last key; there are as many queries as keys, or one
        window    of causal attention: a query sees so many keys, the last at its own position
        softcap   of causal attention: scores become softcap * tanh(score / softcap)
        mask      [1, heads, queries, keys], added to scores; not with window or softcap
        """
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        queries, keys = q.shape[2], k.shape[2]
        window = window if window and window < keys else None
        if softcap or window:
            o = self._capped_attention(q, k, v, window, softcap, scale or q.shape[-1] ** -0.5)
        else:
            o = F.scaled_dot_product_attention(
                q, k, v, mask, is_causal=causal and queries > 1, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
            )
        return o.transpose(1, 2)

    def _capped_attention(self, q, k, v, window, softcap, scale):
        """Causal, [batch, heads, tokens, d]. scaled_dot_product_attention has no softcap: one by one. Heads that share
        keys are further queries."""
        batch, heads, queries, d = q.shape
        shared = k.shape[1]
        scores = (q * scale).reshape(batch, shared, -1, d) @ k.mT
        if softcap:
            scores = softcap * torch.tanh(scores / softcap)
        scores = scores.unflatten(2, (-1, queries))
        if queries > 1 or window:
            i = torch.arange(k.shape[2] - queries, k.shape[2], device=q.device).unsqueeze(1)
            j = torch.arange(k.shape[2], device=q.device)
            scores = scores.masked_fill(~_visible(window)(0, 0, i, j), -math.inf)
        weights = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
        return (weights.flatten(2, 3) @ v).reshape(q.shape)

    def softcap(self, x, cap):
        return cap * torch.tanh(x / cap)

    def cross_entropy(self, logits, targets):
        """The mean over tokens, in float32."""
        return F.cross_entropy(logits.float(), targets)

    # ---- images and signals ------------------------------------------------------------------------------------------

    def conv2d(self, x, w, bias, stride=1, pad=0, activation=None, residual=None, groups=1, added=None):
        """act(the convolution + bias + residual) + added, with one of these two. w [filters, rows, columns, channels of
        a group]; stride and pad are numbers, or (of h, of w)."""
        y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), bias, stride, pad, 1, groups).permute(0, 2, 3, 1)
        y = y if residual is None else y + residual
        y = ACTIVATIONS[activation](y) if activation else y
        return y if added is None else y + added

    def batch_norm(self, x, gamma, beta, mean, var, activation=None, residual=None):
        """act(the norm of images by their own statistics + residual). Those move mean and var, the running ones, by a
        tenth, after keep_statistics() at the latest."""
        y = F.batch_norm(x.permute(0, 3, 1, 2), mean, var, gamma, beta, True, _MOMENTUM, _EPS).permute(0, 2, 3, 1)
        y = y if residual is None else y + residual
        return ACTIVATIONS[activation](y) if activation else y

    def keep_statistics(self):
        """Behind the last batch_norm() of a step."""

    def causal_conv3d(self, x, w, bias, pad, residual=None):
        """The convolution + bias + residual of a video, whose frames see those before them alone. w [filters, frames,
        rows, columns, channels]; pad: of rows and columns on each side."""
        x, w = x.movedim(-1, 1), w.movedim(-1, 1)
        x = F.pad(x, (pad, pad, pad, pad, w.shape[2] - 1, 0))
        y = F.conv3d(x, w, bias).movedim(1, -1)
        return y if residual is None else y + residual

    def conv_transpose2d(self, x, w, bias, stride):
        """Each pixel times the filters, stride pixels apart. w [channels, rows, columns, filters]."""
        x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
        return F.conv_transpose2d(x, w, bias, stride).permute(0, 2, 3, 1)

    def max_pool2d(self, x, size, stride, pad):
        return F.max_pool2d(x.permute(0, 3, 1, 2), size, stride, pad).permute(0, 2, 3, 1)

    def mean_of_pixels(self, x):
        return x.mean((1, 2))

    def upsample(self, x, scale):
        """Each pixel scale * scale times."""
        return F.interpolate(x.permute(0, 3, 1, 2), scale_factor=scale, mode="nearest").permute(0, 2, 3, 1)

    def silu(self, x):
        return F.silu(x)

    def softmax(self, x):
        return torch.softmax(x, -1)

    def nms(self, boxes, scores, classes, iou):
        """The boxes that overlap none of their class that is kept and has a higher score: their indices by descending
        score, then -1, [images * best]. boxes [images, best, 4] of x1, y1, x2, y2; scores [images, best], which
        descend; classes [images, best], of which no two images share one.

        torchvision's waits for the device, so that no CUDA graph holds it. What one holds are rounds over all pairs, in
        each of which a box falls to those before it that stand. k rounds settle chains of k boxes; with scores that
        follow no order of places, chains are of about log(best)."""
        low, high = boxes.chunk(2, -1)
        area = (high - low).prod(-1)
        common = torch.minimum(high.unsqueeze(2), high.unsqueeze(1)) - torch.maximum(low.unsqueeze(2), low.unsqueeze(1))
        common = common.clamp(min=0).prod(-1)
        overlap = common > iou * (area.unsqueeze(2) + area.unsqueeze(1) - common)
        falls = (overlap & (classes.unsqueeze(2) == classes.unsqueeze(1))).tril(-1)  # [images, which, to which]
        kept = torch.ones_like(classes, dtype=torch.bool)
        for _ in range(_NMS_ROUNDS):
            kept = ~(falls & kept.unsqueeze(1)).any(2)
        ranked, indices = torch.where(kept, scores, -1).flatten().sort(descending=True, stable=True)
        return torch.where(ranked < 0, -1, indices)

    def causal_conv(self, k, w, eps=0.0):
        """eps + the sum over u <= t of w[c, L-1-(t-u)] k[b, c, u]: a long filter of each channel. k [b, c, T], w
        [c, L], float32. By Fourier transforms, which are faster by far than a grouped conv1d of this length."""
        time = k.shape[-1]
        points = 1 << (time + w.shape[-1] - 2).bit_length()  # no wrap
        product = torch.fft.rfft(k, points) * torch.fft.rfft(w.flip(-1), points)
        y = torch.fft.irfft(product, points)[..., :time]
        return y + eps if eps else y


def _visible(window):
    """Which keys j a query at position i sees."""
    if window is None:
        return lambda b, h, i, j: j <= i
    return lambda b, h, i, j: (j <= i) & (j > i - window)


class Flex(Torch):
    """What torch.compile is given. Attention that scaled_dot_product_attention lacks is FlexAttention, which is for
    torch.compile alone. A call outside of torch.compile comes first: it makes the block masks."""

    def __init__(self):
        self._masks = {}

    def _capped_attention(self, q, k, v, window, softcap, scale):
        queries, keys = q.shape[2], k.shape[2]
        key = (queries, keys, window)
        if not torch.compiler.is_compiling():
            if queries > 1 or window:
                at = keys - queries
                seen = _visible(window)
                self._masks[key] = create_block_mask(
                    lambda b, h, i, j: seen(b, h, i + at, j), None, None, queries, keys, device=q.device
                )
            return super()._capped_attention(q, k, v, window, softcap, scale)

        def capped(score, b, h, i, j):
            return softcap * torch.tanh(score / softcap)

        return flex_attention(
            q,
            k,
            v,
            score_mod=capped if softcap else None,
            block_mask=self._masks.get(key),
            scale=scale,
            enable_gqa=q.shape[1] != k.shape[1],
        )


class Ridge(Torch):
    """Ridge's operators, with what they fuse. Where Ridge has none, the method is Torch's: softcap of logits and the
    cross entropy, and the elementwise rest of modulation. Gradients are on where a model is trained, and only there."""

    def __init__(self):
        self._statistics = []  # ((running mean, running var), [mean, var], n / (n - 1)) of each batch norm of a step

    def linear(self, x, w, bias=None, activation=None, residual=None):
        return ridge.torch.linear(x, w, bias, residual, activation=activation)

    def gated(self, x, w, activation, bias=None):
        if torch.is_grad_enabled():  # the fused gate keeps neither factor: its backward would compute both again
            return super().gated(x, w, activation, bias)
        gate, up = w.chunk(2)
        of_gate, of_up = (None, None) if bias is None else bias.chunk(2)
        return gated(x, gate, of_gate, up, of_up, activation)

    def grouped(self, x, w, offsets):
        if torch.is_grad_enabled():  # grouped_gemm has no gradient
            return super().grouped(x, w, offsets)
        return ridge.torch.grouped_gemm(x, w, offsets, layout="nt")

    def gated_grouped(self, x, w, offsets, activation):
        if torch.is_grad_enabled():
            return super().gated_grouped(x, w, offsets, activation)
        gate, up = w.chunk(2, 1)  # groups take no gate: two products, and theirs
        gate = ridge.torch.grouped_gemm(x, gate, offsets, layout="nt", epilogue=activation)
        return ridge.torch.mul(gate, ridge.torch.grouped_gemm(x, up, offsets, layout="nt"))

    def linear_time_last(self, x, w):
        return ridge.torch.gemm(w, x, layout="nt")

    def rms_norm(self, x, gamma, eps):
        return ridge.torch.rms_norm(x, gamma, eps=eps)

    def layer_norm(self, x, gamma, beta, eps):
        return ridge.torch.layer_norm(x, gamma, beta, eps=eps)

    def add_rms_norm(self, x, residual, gamma, eps):
        return ridge.torch.add_rms_norm(x, residual, gamma, eps=eps)

    def linear_add_rms_norm(self, x, w, residual, gamma, eps):
        if torch.is_grad_enabled():  # add_rms_norm's backward adds up what comes back through the sum
            return self.add_rms_norm(self.linear(x, w), residual, gamma, eps)
        x = self.linear(x, w, residual=residual)  # the product adds it: one tensor less to read
        return self.rms_norm(x, gamma, eps), x

    def group_norm(self, x, gamma, beta, groups, eps, activation=None):
        return ridge.torch.group_norm(
            x, gamma, beta, groups=groups, eps=eps, activation=activation or "none", layout="nhwc"
        )

    def embedding(self, table, indices, scale=None):
        return ridge.torch.embedding(table, indices, scale=scale)

    def embedding_rms_norm(self, table, indices, gamma, eps, scale=None):
        x, y = ridge.torch.embedding_norm(table, indices, gamma, eps=eps, scale=scale)
        return y, x

    def angles(self, cos, sin, positions, dtype):
        return None if isinstance(positions, int) else positions, cos, sin

    def rope(self, x, angles):
        return ridge.torch.rope(x, *angles)

    def rope_cache(self, heads, angles, position, cache):
        count = cache[0].shape[2]
        q, k, v = heads.split((heads.shape[2] - 2 * count, count, count), 2)
        return ridge.torch.rope_cache_(q, k, v, *cache, *angles, layout="bshd")

    def attention(self, q, k, v, causal=False, window=None, softcap=None, mask=None, scale=None):
        found = ridge.torch.attention(
            q,
            k,
            v,
            mask,
            layout="bshd",
            causal="lower_right" if causal else None,
            window=f"{window - 1},0" if window else None,
            softcap=softcap,
            scale=scale,
            lse=torch.is_grad_enabled() or None,  # for the backward, which would compute it again
        )
        return found[0] if isinstance(found, list) else found

    def conv2d(self, x, w, bias, stride=1, pad=0, activation=None, residual=None, groups=1, added=None):
        before, after = ("residual" if one is not None else "" for one in (residual, added))
        return ridge.torch.conv2d(
            x,
            w,
            bias,
            residual if after == "" else added,
            stride=stride,
            pad=pad,
            groups=groups,
            layout="nhwc",
            epilogue="+".join(part for part in ("bias" * (bias is not None), before, activation, after) if part) or None,
        )

    def batch_norm(self, x, gamma, beta, mean, var, activation=None, residual=None):
        y, *found = ridge.torch.batch_norm_train(
            x, gamma, beta, residual, eps=_EPS, layout="nhwc", activation=activation
        )
        count = x[..., 0].numel()
        self._statistics.append(((mean, var), [t.detach() for t in found], count / (count - 1)))
        return y

    def keep_statistics(self):
        """Of all layers at once: each has few numbers."""
        moved = [running for pair, _, _ in self._statistics for running in pair]
        found = [t for _, pair, _ in self._statistics for t in pair]
        factors = [factor for _, _, of_var in self._statistics for factor in (1.0, of_var)]  # the running var is unbiased
        self._statistics.clear()
        with torch.no_grad():
            torch._foreach_lerp_(moved, torch._foreach_mul(found, factors), _MOMENTUM)

    def causal_conv3d(self, x, w, bias, pad, residual=None):
        pads = (w.shape[1] - 1, pad, pad, 0, pad, pad)
        epilogue = "bias" if residual is None else "bias+residual"
        return ridge.torch.conv3d(
            x, w, bias, residual, pad=",".join(map(str, pads)), layout="ndhwc", epilogue=epilogue
        )

    def conv_transpose2d(self, x, w, bias, stride):
        return ridge.torch.conv_transpose2d(x, w, bias, stride=stride, layout="nhwc", epilogue="bias")

    def max_pool2d(self, x, size, stride, pad):
        return ridge.torch.max_pool2d(x, r=size, stride=stride, pad=pad, layout="nhwc")

    def mean_of_pixels(self, x):
        return ridge.torch.mean(x.flatten(1, 2), axis=1)

    def upsample(self, x, scale):
        return ridge.torch.upsample(x, scale=scale, layout="nhwc")

    def silu(self, x):
        return ridge.torch.silu(x)

    def softmax(self, x):
        return ridge.torch.softmax(x)

    def nms(self, boxes, scores, classes, iou):
        return ridge.torch.nms(boxes.flatten(0, 1), scores.flatten(), classes.flatten(), iou=iou)[0]

    def causal_conv(self, k, w, eps=0.0):
        return ridge.torch.dwconv(k, w, eps=eps)
