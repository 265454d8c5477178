"""python -m ridge.bench --sweep OP: problems at random, as models have them, beside what PyTorch would run.

The problems are drawn by the program `ridge` (`ridge bench --sweep OP --list`): each operator's distribution is written
down once, beside its kernels. The results are those of `ridge bench --sweep OP --json`, under the same names.
"""

import json
import math
import statistics
import subprocess

from ridge import _program
from ridge.bench import report
from ridge.bench.case import Case

MOST = 20  # of the worst, and of the furthest from what was predicted
DIFFERS = "differs from Ridge's"


def cases(op, seed, count, gpu):
    """`count` cases of an operator; small ones where there is no GPU."""
    program = _program.find("ridge", "RIDGE_PROGRAM", "--sweep: problems are drawn", "make", ValueError)
    command = [program, "bench", "--sweep", op, "--seed", str(seed), "--count", str(count), "--list"]
    done = subprocess.run([*command, "--device", "cuda" if gpu else "cpu"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip().removeprefix("ridge: ") or f"ridge ended with {done.returncode}")
    return [Case.parse(line) for line in done.stdout.splitlines()]


def best_peer(m):
    return min(m.peers, key=lambda name: m.peers[name].us)


def _times_faster(m):
    return m.times_faster(best_peer(m))


def _times_off(m):
    return max(m.time.us / m.predicted_us, m.predicted_us / m.time.us) if m.predicted_us else 1.0


class Summary:
    """What measurements say together."""

    def __init__(self, measurements):
        self.failed = [m for m in measurements if m.error]
        measured = [m for m in measurements if not m.error]
        self.measured = len(measured)
        self.alone = [m for m in measured if not m.peers]
        self.differing = [m for m in measured if any(DIFFERS in why for why in m.refusals.values())]
        worst = sorted((m for m in measured if m.peers), key=_times_faster)
        furthest = sorted(measured, key=_times_off, reverse=True)
        self.geomean = math.exp(statistics.fmean(math.log(_times_faster(m)) for m in worst)) if worst else None
        self.p5 = _times_faster(worst[(len(worst) - 1) // 20]) if worst else None
        self.median_times_off = _times_off(furthest[len(furthest) // 2]) if furthest else None
        self.worst, self.furthest = worst[:MOST], furthest[:MOST]

    def show(self):
        print(
            f"\n{self.measured} measured, {len(self.alone)} of them without a peer; "
            f"{len(self.failed)} could not be measured"
        )
        for m in self.failed:
            print(f"  {m.case}: {m.error}")
        if self.differing:
            print(f"{len(self.differing)} with a peer that was left out, for its result differs")
            for m in self.differing:
                print(f"  {m.case}: " + ", ".join(f"{k}: {why}" for k, why in m.refusals.items() if DIFFERS in why))
        if self.worst:
            print(f"beside the fastest peer: geometric mean {self.geomean:.3f}x, 5th percentile {self.p5:.3f}x")
            print("  the worst beside the fastest peer")
            for m in self.worst:
                peer = best_peer(m)
                times = f"{m.time.us:.2f} us, {m.peers[peer].us:.2f} us by {peer}"
                print(f"  {_times_faster(m):6.3f}x  {m.case}  ({m.variant}: {times})")
        if self.furthest:
            print(f"of the predictions half are within {self.median_times_off:.2f}x")
            print("  the furthest from what was predicted")
            for m in self.furthest:
                ratio = m.time.us / m.predicted_us if m.predicted_us else math.nan
                print(f"  {ratio:6.2f}x  {m.case}  ({m.variant}: {m.time.us:.2f} us, predicted {m.predicted_us:.2f} us)")

    def fields(self):
        return {
            "measured": self.measured,
            "geomean": self.geomean,
            "p5": self.p5,
            "median_times_off": self.median_times_off,
            "worst": [
                {
                    "case": m.case,
                    "variant": m.variant,
                    "ridge_us": m.time.us,
                    "peer": best_peer(m),
                    "peer_us": m.peers[best_peer(m)].us,
                    "times_faster": _times_faster(m),
                }
                for m in self.worst
            ],
            "furthest": [
                {"case": m.case, "variant": m.variant, "ridge_us": m.time.us, "predicted_us": m.predicted_us}
                for m in self.furthest
            ],
            "failed": [{"case": m.case, "why": m.error} for m in self.failed],
            "without_peer": [m.case for m in self.alone],
            "differing": [m.case for m in self.differing],
        }


def to_json(measurements, request, settings):
    drawn = {"operator": request.sweep, "seed": request.seed, "count": request.count, "settings": settings}
    facts = report.facts(request.device, request.commit)
    return json.dumps(facts | drawn | Summary(measurements).fields() | report.fields(measurements, facts), indent=2) + "\n"
