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
from ridge.bench.clock import GpuClock

LAYERS, ROUNDS, WARM_ROUNDS = 4, 20, 2
DEVICE = "cuda"

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
    return torch.randint(0, known, (batch, count), device=DEVICE)


def _pixels(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16)


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


def _make(name):
    """The model, and a function that calls it or what was compiled of it."""
    import transformers

    kind, config, fields, inputs = MODELS[name]
    config = getattr(transformers, config)(**fields)
    config._attn_implementation = "sdpa"
    with torch.device(DEVICE):
        model = getattr(transformers, kind)(config)
    model = (model.encoder if kind == "WhisperModel" else model).to(torch.bfloat16).eval()
    given = inputs()
    more = {"use_cache": False} if kind.endswith("ForCausalLM") else {}
    return model, lambda called: called(given, **more)[0]


def measure(name, clock):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, call = _make(name)
    runs = {"eager": model, "compile": torch.compile(model), "ridge": torch.compile(model, backend=ridge.torch.backend)}
    outputs = {way: call(run).float() for way, run in runs.items()}
    eager = outputs["eager"]
    errors = {way: ((y - eager).norm() / eager.norm()).item() for way, y in outputs.items()}
    del outputs, eager
    timed = {way: clock.prepare(lambda run=run: call(run)) for way, run in runs.items()}
    rounds = [{way: once() for way, once in timed.items()} for _ in range(WARM_ROUNDS + ROUNDS)][WARM_ROUNDS:]
    times = {f"{way}_ms": sorted(r[way] for r in rounds)[ROUNDS // 2] / 1e3 for way in runs}
    entries = ridge.torch.report(model).entries
    return {
        "model": name,
        **times,
        "error": errors["ridge"],
        "compile_error": errors["compile"],
        "replaced": sum(entry.replaced for entry in entries),
        "found": len(entries),
    }, str(ridge.torch.report(model))


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m ridge.bench.hub", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--report", action="store_true", help="print what was replaced in each, and why not")
    parser.add_argument("--commit", help="a text for the results' field `commit`")
    parser.add_argument("--json", metavar="FILE", help="write the results")
    request = parser.parse_args(arguments)
    unknown = [name for name in request.names if name not in MODELS]
    if unknown or not torch.cuda.is_available():
        what = f"'{unknown[0]}' is none of {', '.join(MODELS)}" if unknown else "there is no GPU"
        print(f"ridge.bench.hub: {what}", file=sys.stderr)
        return 2
    results = []
    device = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "commit": request.commit}
    with torch.no_grad():
        for name in request.names or MODELS:
            found, report = measure(name, GpuClock(DEVICE))
            results.append({**found, **device})
            times = "  ".join(f"{way} {found[way + '_ms']:7.3f} ms" for way in ("eager", "compile", "ridge"))
            print(f"{name:20} {times}  {found['compile_ms'] / found['ridge_ms']:.2f}x  error {found['error']:.1e}", flush=True)
            if request.report:
                print(report)
            if request.json:
                pathlib.Path(request.json).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
