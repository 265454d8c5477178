"""python -m ridge.bench.hub [NAME ...]: models of the transformers library as they are, in eager mode, under
torch.compile, and under torch.compile(backend="ridge").

Weights are random, of the public configurations with 4 layers, in bf16. Each of the three is captured in a CUDA graph;
they take turns, with a cold cache. An error is ||y - y_eager|| / ||y_eager||. Needs a GPU.
"""

import argparse
import json
import pathlib
import sys

import torch

import ridge.torch
from ridge.torch.clock import GpuClock

LAYERS, ROUNDS, WARM_ROUNDS = 4, 20, 2

_LLAMA = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}
_QWEN = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
}
_WHISPER = {
    "d_model": 768,
    "encoder_layers": LAYERS,
    "decoder_layers": 1,
    "encoder_attention_heads": 12,
    "decoder_attention_heads": 12,
    "encoder_ffn_dim": 3072,
    "decoder_ffn_dim": 3072,
}


def _tokens(batch, count, known=30000):
    return torch.randint(0, known, (batch, count))


def _pixels(*shape):
    return torch.randn(*shape)


# name: (class, configuration's class, its fields, inputs). A decoder's inputs are a prompt.
MODELS = {
    "llama-3-8b:1x512": ("LlamaForCausalLM", "LlamaConfig", _LLAMA | {"vocab_size": 128256}, lambda: _tokens(1, 512)),
    "mistral-7b:1x2048": ("MistralForCausalLM", "MistralConfig", _LLAMA | {"sliding_window": None}, lambda: _tokens(1, 2048)),
    "qwen2-7b:1x1024": ("Qwen2ForCausalLM", "Qwen2Config", _QWEN, lambda: _tokens(1, 1024)),
    "bert-base:32x128": ("BertModel", "BertConfig", {"num_hidden_layers": LAYERS}, lambda: _tokens(32, 128)),
    "bert-base:16x512": ("BertModel", "BertConfig", {"num_hidden_layers": LAYERS}, lambda: _tokens(16, 512)),
    "t5-base:16x512": (
        "T5EncoderModel",
        "T5Config",
        {"d_model": 768, "d_ff": 3072, "num_layers": LAYERS, "num_heads": 12},
        lambda: _tokens(16, 512),
    ),
    "vit-b-16:64": ("ViTModel", "ViTConfig", {"num_hidden_layers": LAYERS}, lambda: _pixels(64, 3, 224, 224)),
    "vit-b-16:1": ("ViTModel", "ViTConfig", {"num_hidden_layers": LAYERS}, lambda: _pixels(1, 3, 224, 224)),
    "whisper-small:8": ("WhisperModel", "WhisperConfig", _WHISPER, lambda: _pixels(8, 80, 3000)),
}


def build(name, device, dtype, **smaller):
    """The model, and a function that calls it or what was compiled of it. `smaller`: fields in place of the public ones."""
    import transformers

    kind, config, fields, inputs = MODELS[name]
    config = getattr(transformers, config)(**{**fields, **smaller})
    config._attn_implementation = "sdpa"
    with torch.device(device):
        model = getattr(transformers, kind)(config)
    model = (model.encoder if kind == "WhisperModel" else model).to(dtype).eval()
    given = inputs().to(device)
    more = {"use_cache": False} if kind.endswith("ForCausalLM") else {}

    def call(called):
        floats = given.is_floating_point()
        return called(given.to(next(called.parameters()).dtype) if floats else given, **more)[0]

    return model, call


def measure(name, device):
    """A Measurement as of the other models, and the report of what was replaced."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, call = build(name, device, torch.bfloat16)
    want = [call(copy.deepcopy(model).float())]
    ways = {"eager": model, "compile": torch.compile(model), "ridge": torch.compile(model, backend=ridge.torch.backend)}
    m = run.Measurement(*name.split(":"))
    m.errors = {way: max(run.relative_errors([call(called).float()], want)) for way, called in ways.items()}
    m.failure = run.judge([m.errors["ridge"]], [m.errors["eager"]])
    clock = GpuClock(device)
    m.times = in_turns({way: clock.prepare(lambda f=called: call(f)) for way, called in ways.items()}, ROUNDS, WARM)
    return m, ridge.torch.report(model)


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m ridge.bench.hub", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--report", action="store_true", help="print what was replaced in each, and why not")
    parser.add_argument("--commit", help="a text for the results' field `commit`")
    parser.add_argument("--json", metavar="FILE", help="write the results, in place of those of the same cases")
    request = parser.parse_args(arguments)
    unknown = [name for name in request.names if name not in MODELS]
    if unknown or not torch.cuda.is_available():
        what = f"'{unknown[0]}' is none of {', '.join(MODELS)}" if unknown else "there is no GPU"
        print(f"ridge.bench.hub: {what}", file=sys.stderr)
        return 2
    failed = False
    report.head()
    with torch.no_grad():
        for name in request.names or MODELS:
            m, replaced = measure(name, "cuda")
            failed |= bool(m.failure)
            report.row(m)
            if request.report:
                print(replaced)
            if request.json:
                fields = report.fields(m, "cuda", request.commit)
                report.write(request.json, [{**fields, "report": str(replaced).splitlines()}])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
