"""attn_implementation="ridge" of the transformers library, beside its own eager attention, on the CPU runtime."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("transformers.masking_utils")
import ridge.torch  # noqa: E402

if "attention" not in ridge.torch.OPERATORS:
    pytest.skip("this build has no attention", allow_module_level=True)
import ridge.torch.transformers as of_ridge  # noqa: E402

SMALL = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
DECODER = SMALL | {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "max_position_embeddings": 64}
MODELS = {
    "LlamaForCausalLM": ("LlamaConfig", DECODER),
    "Qwen2ForCausalLM": ("Qwen2Config", DECODER),
    "MistralForCausalLM": ("MistralConfig", DECODER | {"sliding_window": 4}),
    "Gemma2ForCausalLM": ("Gemma2Config", DECODER | {"sliding_window": 4, "attn_logit_softcapping": 2.0}),
    "GptOssForCausalLM": (
        "GptOssConfig",
        DECODER | {"sliding_window": 4, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "BertModel": ("BertConfig", SMALL),
}


def build(name, how, seed=0):
    config, fields = MODELS[name]
    torch.manual_seed(seed)
    config = getattr(transformers, config)(**fields)
    config._attn_implementation = how
    return getattr(transformers, name)(config).eval()


def output(model, **inputs):
    return model(**inputs)[0]


@pytest.fixture(params=MODELS)
def pair(request):
    return build(request.param, "ridge"), build(request.param, "eager")


@pytest.mark.parametrize("padded", [False, True])
def test_is_what_eager_attention_is(pair, padded):
    ours, theirs = pair
    tokens = torch.randint(1, 100, (2, 9))
    mask = torch.ones(2, 9, dtype=torch.long)
    if padded:
        mask[1, :3] = 0
    with torch.no_grad():
        found, expected = (output(model, input_ids=tokens, attention_mask=mask) for model in (ours, theirs))
    seen = mask.bool()
    torch.testing.assert_close(found[seen], expected[seen], rtol=1e-4, atol=1e-4)


def test_gradients(pair):
    ours, theirs = pair
    tokens = torch.randint(1, 100, (2, 7))
    for model in pair:
        output(model, input_ids=tokens).square().sum().backward()
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
        if b.grad is not None:
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-3, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("name", [name for name in MODELS if "CausalLM" in name])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generates_the_same_tokens(name, cache):
    tokens = torch.randint(1, 100, (2, 6))
    more = {"attention_mask": torch.tensor([[1] * 6, [0, 0, 1, 1, 1, 1]]), "max_new_tokens": 5, "do_sample": False}
    more |= {"cache_implementation": "static"} if cache == "static" else {}
    found, expected = (build(name, how).generate(tokens, **more) for how in ("ridge", "eager"))
    assert torch.equal(found, expected)


def test_what_is_refused():
    x = torch.randn(1, 2, 3, 8)
    module = torch.nn.Module()
    with pytest.raises(ValueError, match="dropout"):
        of_ridge.attention(module, x, x, x, None, dropout=0.1)


@pytest.mark.parametrize("mask", [None, "bool", "added"])
def test_a_position_bias(mask):
    q, bias = torch.randn(2, 2, 5, 8), torch.randn(1, 2, 5, 5)
    seen = torch.rand(2, 1, 5, 5) < 0.7
    seen |= torch.eye(5, dtype=torch.bool)
    added = torch.where(seen, 0.0, -1e4)
    given = {"bool": seen, "added": added}.get(mask)
    module = torch.nn.Module()
    module.is_causal = False
    o, _ = of_ridge.attention(module, q, q, q, given, scaling=0.5, position_bias=bias)
    scores = 0.5 * q @ q.mT + bias + (added if mask else 0)
    torch.testing.assert_close(o, (scores.softmax(-1) @ q).transpose(1, 2), rtol=1e-4, atol=1e-4)
