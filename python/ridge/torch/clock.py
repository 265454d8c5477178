"""How runs are timed. On a GPU each is a CUDA graph, replayed between two events after the L2 cache was emptied."""

import functools
import math
import random
import statistics
import time

import torch

COPY_BYTES = 1 << 30


class Timing:
    """Of several measurements in microseconds: the median, and half the interquartile range as a share of it."""

    def __init__(self, measured):
        ordered = sorted(measured)
        count = len(ordered)
        self.us = statistics.median(ordered)
        self.noise = (ordered[count * 3 // 4] - ordered[count // 4]) / 2 / self.us


def in_turns(once, rounds, warm, seconds=math.inf, least_rounds=5):
    """{name: Timing} of {name: what measures one run}. In turns, so that a change of clocks meets all of them: some
    rounds to warm up, then `rounds`, or as many beyond the least as fit into `seconds`. Each round has an order of its
    own at random, so that what a run leaves behind (a copy of 1 GiB: translation buffers without anyone else's pages)
    meets all of them."""
    taken = {name: [] for name in once}
    order, chance = list(once.items()), random.Random(1)
    start = math.inf
    for turn in range(-warm, rounds):
        if turn == 0:
            start = time.perf_counter()
        if turn >= least_rounds and time.perf_counter() - start > seconds:
            break
        chance.shuffle(order)
        for name, run in order:
            us = run()
            if turn >= 0:
                taken[name].append(us)
    return {name: Timing(us) for name, us in taken.items()}


class CpuClock:
    """By the steady clock. What is measured of Ridge is the CPU runtime, which checks and does not hurry."""

    repeats = 5
    copy = None

    def prepare(self, work):
        work()  # warm
        return lambda: self._measure(work)

    queued = prepare

    @staticmethod
    def _measure(work):
        start = time.perf_counter()
        work()
        return (time.perf_counter() - start) * 1e6


class GpuClock:
    """Cold and clean: before each measurement, more than the L2 cache holds is written, which evicts what others left
    there, and then as much is read, so that no written line is left for the next run to write back."""

    repeats = 30

    def __init__(self, device, share_memory=False):
        """share_memory: all graphs have one pool of memory, and overwrite each other's results."""
        self.device = torch.device(device)
        self._pool = torch.cuda.graph_pool_handle() if share_memory else None
        self.stream = torch.cuda.Stream(self.device)
        l2 = torch.cuda.get_device_properties(self.device).L2_cache_size
        words = max(2 * l2, 1 << 20) // 4 + 1024
        self._dirty = torch.empty(words, dtype=torch.float32, device=self.device)
        self._clean = torch.zeros(words, dtype=torch.float32, device=self.device)
        self._sum = torch.zeros((), dtype=torch.float32, device=self.device)
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def prepare(self, work):
        """What measures one replay of a graph that holds one call: the device's time, not the launching thread's."""
        self._warm(work)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self.stream):
            work()

        def once():
            return self._measure(graph.replay)

        once.work = work  # a replay reads what it holds: inputs, and what a forward pass kept
        return once

    def queued(self, work):
        """For work that a graph cannot hold (it waits for the device), or does at half its speed (a copy)."""
        self._warm(work)
        return lambda: self._measure(work)

    @functools.cached_property
    def copy(self):
        """What measures a copy of COPY_BYTES."""
        source = torch.full((COPY_BYTES,), 0x5A, dtype=torch.uint8, device=self.device)
        target = torch.empty_like(source)
        return self.queued(lambda: target.copy_(source))

    def _warm(self, work):
        self.stream.wait_stream(torch.cuda.current_stream(self.device))  # the inputs were made there
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                work()
        self.stream.synchronize()

    def _measure(self, work):
        with torch.cuda.stream(self.stream):
            self._dirty.fill_(1)
            torch.sum(self._clean, dim=0, out=self._sum)
            self._events[0].record()
            work()
            self._events[1].record()
        self._events[1].synchronize()
        return self._events[0].elapsed_time(self._events[1]) * 1e3
