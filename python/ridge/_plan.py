"""ridge.plan(): the variant that will run, why, and how fast it can be at best."""

import html
import json

from . import _ridge
from ._spec import Lent, Spec


def _time(us):
    return f"{us:.3g} us" if us < 1000 else f"{us / 1000:.3g} ms"


def _table(rows):
    cells = ("".join(f"<td style='text-align:left'>{html.escape(str(cell))}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


class Explanation:
    """What a plan decided. str() is the account for people, .json the same for programs."""

    def __init__(self, text, json):
        self.text, self.json = text, json

    def __str__(self):
        return self.text

    def __repr__(self):
        return self.text

    def _facts(self):
        e = self.json
        return [
            ("operator", f"{e['operator']} {e['problem']}"),
            ("device", e["device"]),
            ("variant", e["variant"]),
            ("bound by", e["bound"]),
            ("moves", f"{e['bytes']:.4g} bytes"),
            ("least time", _time(e["least_us"])),
            ("predicted time", _time(e["predicted_us"])),
            ("workspace", f"{e['workspace_bytes']} bytes"),
        ]

    def _repr_html_(self):
        candidates = [
            (c["variant"], _time(c["predicted_us"]) if c["fits"] else c["reason"]) for c in self.json["candidates"]
        ]
        return _table(self._facts()) + _table(candidates)


class Plan(_ridge.Plan):
    """A plan for one operator on tensors of one kind, made by ridge.plan(). Threads may share it.

    It can be copied and pickled. What goes into the copy is what the plan was made from: the operator, its options,
    `device`, and of the tensors their types, shapes, strides, alignment, and which of them share memory; not their data.
    It is planned anew where it is loaded, so that the variant may be another one there, unless one was named. Where the
    tensors are on a GPU that the machine does not have, loading raises ridge.NoDevice; a plan that was made for a
    model's name ("H200") is loaded anywhere.
    """

    def __reduce__(self):
        return _planned_again, self._origin(), self.__dict__ or None

    @property
    def variant(self):
        """The variant that was chosen, by name."""
        return self.explain().json["variant"]

    def explain(self):
        """What was chosen from what and why, what bounds it, and its least and predicted time."""
        return Explanation(self._explain_text(), json.loads(self._explain_json()))

    def __repr__(self):
        e = self.explain().json
        return (
            f"<ridge.Plan {e['operator']} {e['problem']} on {e['device']}: {e['variant']}, bound by {e['bound']}, "
            f"at least {_time(e['least_us'])}, predicted {_time(e['predicted_us'])}>"
        )

    def _repr_html_(self):
        return _table(self.explain()._facts())


def _planned_again(op, inputs, outputs, options, device):
    """The plan of what _ridge.Plan._origin() gave, for copy and pickle."""
    tensors = {name: Lent(*fields) for name, fields in inputs}
    out = None if outputs is None else tuple(Lent(*fields) for fields in outputs)
    # Where it is a result's type, the option `out` is a text, and there are no tensors for results.
    return _ridge.make_plan(Plan, op, **{"out": out, "device": device, **tensors, **dict(options)})


def plan(op, /, *inputs, out=None, device=None, **options):
    """Plan an operator and run nothing.

    op       an operator's name, or its function
    inputs   tensors, or ridge.Spec where there are none yet; optional inputs also by keyword
    out      where the result will go; without it, arrays that are made by each run
    device   "cpu", "cuda:0": where the tensors are; or the name of a model ("H200"), as if they were on one: such a
             plan explains and does not run
    """
    return _ridge.make_plan(Plan, op, *inputs, out=out, device=device, **options)


def infer(op, /, *inputs, **options):
    """What the outputs will be, as a tuple of ridge.Spec: from the inputs' types and shapes, whatever is in them.

    op and inputs are as in ridge.plan().
    """
    device = inputs[0].device if inputs and isinstance(inputs[0], Spec) else "cpu"
    types = _ridge.infer_types(op, *inputs, **options)
    return tuple(Spec(shape, Spec.name_of(code, bits), device=device) for code, bits, shape in types)
