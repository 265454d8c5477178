"""Ctrl-C while an operator runs on the CPU."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import ridge


@pytest.fixture(autouse=True)
def python_handles_ctrl_c():
    """A shell starts what runs in its background with the signal ignored, and Python leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


ONES = np.ones(6000, np.float32)
LONG = np.broadcast_to(ONES, (4_000_000, 6000))  # whose sums take minutes, and no memory


def rows(n):
    return np.broadcast_to(ONES, (n, 6000))


def after(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def long_call():
    return ridge.sum(LONG, axis=-1)


def long_blocks():
    return ridge.sum(LONG)


def long_plan():
    return ridge.plan("sum", LONG, axis=-1).run(LONG)


def many_calls():
    while True:
        ridge.relu(rows(100))


@pytest.mark.parametrize("call", [long_call, long_blocks, long_plan, many_calls])
def test_ctrl_c_is_answered_within_a_second(call):
    timer = after(0.5, interrupt)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        call()
    assert time.monotonic() - begin < 0.5 + 1
    timer.join()
    assert (ridge.relu(-rows(10)) == 0).all()


def test_a_handler_that_returns_does_not_end_the_operator():
    x = rows(20_000)
    seen, refused = [], []

    def handler(number, frame):
        seen.append(number)
        try:
            ridge.relu(ONES)
        except RuntimeError as error:
            refused.append(str(error))

    former = signal.signal(signal.SIGUSR1, handler)
    done = threading.Event()

    def send():
        while not done.wait(0.02):
            os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        for _ in range(3):
            y = ridge.sum(x, axis=-1)
            assert (y == 6000).all()
    finally:
        done.set()
        sender.join()
        signal.signal(signal.SIGUSR1, former)
    assert seen
    for sentence in refused:  # a handler in the middle of an operator cannot run another one
        assert sentence.startswith("relu: the call comes from a signal's handler in the middle of another operator")


def test_what_a_handler_raises_comes_out():
    def handler(number, frame):
        raise LookupError("by the handler")

    former = signal.signal(signal.SIGUSR1, handler)
    try:
        timer = after(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1))
        with pytest.raises(LookupError, match="by the handler"):
            long_call()
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_other_threads_operators_go_on():
    x = rows(20_000)
    sums = []
    other = threading.Thread(target=lambda: sums.extend(ridge.sum(x, axis=-1) for _ in range(3)))
    other.start()
    timer = after(0.1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        long_call()
    timer.join()
    other.join()
    assert len(sums) == 3 and all((y == 6000).all() for y in sums)
