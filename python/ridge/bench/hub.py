"""python -m ridge.bench.hub [NAME ...]: models of the transformers, torchvision and timm libraries as they are, in eager
mode, under torch.compile, and under torch.compile(backend="ridge").

Weights are random, of the public configurations, with 4 layers where a model repeats one; in bf16, images with channels
last. Each of the three is captured in a CUDA graph; they take turns, with a cold cache. An error is relative, against
the model in float32. Needs a GPU.
"""

import argparse
import copy
import dataclasses
import importlib
import sys
from typing import Callable

import torch

import ridge.torch
from ridge.bench.models import report, run
from ridge.torch.clock import GpuClock, in_turns

LAYERS, ROUNDS, WARM = 4, 20, 2

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
_GEMMA = {
    "hidden_size": 3584,
    "intermediate_size": 14336,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
}
_PHI = {"num_hidden_layers": LAYERS, "pad_token_id": 0}  # whose defaults are Phi-3-mini's
_T5 = {"d_model": 768, "d_ff": 3072, "num_layers": LAYERS, "num_heads": 12}
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


@dataclasses.dataclass(frozen=True)
class Model:
    inputs: Callable  # what makes them; a decoder's are a prompt
    maker: str  # the library's class or function
    config: str = ""  # the class of its configuration, of transformers alone
    fields: dict = dataclasses.field(default_factory=dict)  # of the configuration, or the function's arguments
    library: str = "transformers"
    attention: str = "sdpa"


def _images(batch, size=224):
    return lambda: _pixels(batch, 3, size, size)


MODELS = {
    "llama-3-8b:1x512": Model(
        lambda: _tokens(1, 512), "LlamaForCausalLM", "LlamaConfig", _LLAMA | {"vocab_size": 128256}
    ),
    "mistral-7b:1x2048": Model(
        lambda: _tokens(1, 2048), "MistralForCausalLM", "MistralConfig", _LLAMA | {"sliding_window": None}
    ),
    "qwen2-7b:1x1024": Model(lambda: _tokens(1, 1024), "Qwen2ForCausalLM", "Qwen2Config", _QWEN),
    "phi-3-mini:1x1024": Model(lambda: _tokens(1, 1024), "Phi3ForCausalLM", "Phi3Config", _PHI),
    # Its scores are capped, which PyTorch's attention does not offer: the library spells it out.
    "gemma-2-9b:1x1024": Model(
        lambda: _tokens(1, 1024), "Gemma2ForCausalLM", "Gemma2Config", _GEMMA, attention="eager"
    ),
    "bert-base:32x128": Model(lambda: _tokens(32, 128), "BertModel", "BertConfig", {"num_hidden_layers": LAYERS}),
    "bert-base:16x512": Model(lambda: _tokens(16, 512), "BertModel", "BertConfig", {"num_hidden_layers": LAYERS}),
    "t5-base:16x512": Model(lambda: _tokens(16, 512), "T5EncoderModel", "T5Config", _T5),
    "vit-b-16:64": Model(_images(64), "ViTModel", "ViTConfig", {"num_hidden_layers": LAYERS}),
    "vit-b-16:1": Model(_images(1), "ViTModel", "ViTConfig", {"num_hidden_layers": LAYERS}),
    "whisper-small:8": Model(lambda: _pixels(8, 80, 3000), "WhisperModel", "WhisperConfig", _WHISPER),
    "resnet-50:64": Model(_images(64), "resnet50", library="torchvision.models"),
    "resnet-50:1": Model(_images(1), "resnet50", library="torchvision.models"),
    "convnext-t:32": Model(_images(32), "convnext_tiny", library="torchvision.models"),
    "efficientnet-b0:32": Model(_images(32), "efficientnet_b0", library="torchvision.models"),
    "vit-b-16-torchvision:32": Model(_images(32), "vit_b_16", library="torchvision.models"),
    "swin-t:32": Model(_images(32), "swin_tiny_patch4_window7_224", library="timm.models"),
}


def build(name, device, dtype, **smaller):
    """The model, and a function that calls it or what was compiled of it. `smaller`: fields in place of the public ones."""
    made = MODELS[name]
    library = importlib.import_module(made.library)
    with torch.device(device):
        if made.config:
            config = getattr(library, made.config)(**{**made.fields, **smaller})
            config._attn_implementation = made.attention
            model = getattr(library, made.maker)(config)
        else:
            model = getattr(library, made.maker)(**{**made.fields, **smaller})
    if made.maker == "WhisperModel":
        model = model.encoder
    given = made.inputs().to(device)
    images = given.dim() == 4
    model = model.to(dtype, memory_format=torch.channels_last if images else torch.preserve_format).eval()
    if images:
        given = given.to(memory_format=torch.channels_last)
    more = {"use_cache": False} if made.maker.endswith("ForCausalLM") else {}

    def call(called):
        floats = given.is_floating_point()
        outputs = called(given.to(next(called.parameters()).dtype) if floats else given, **more)
        return outputs if isinstance(outputs, torch.Tensor) else outputs[0]

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
    once = {}
    for way, called in ways.items():
        try:
            once[way] = clock.prepare(lambda f=called: call(f))
        except RuntimeError as refusal:  # what a graph cannot hold: eager mode of a model that copies from the host
            m.refusals[way] = f"not in a CUDA graph: {str(refusal).splitlines()[0]}"
    m.times = in_turns(once, ROUNDS, WARM)
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
