"""ridge.tune(): choices that the device makes."""

from . import _ridge


def tune(mode=True):
    """Let plans that are made from now on take the variant that is measured to be the fastest, in this process.

    True     when a plan first runs, the few variants that are predicted to be nearly as fast as the chosen one are timed
             on copies of its tensors, with a cold cache. The fastest is kept in the tuning file, under the device's
             name, Ridge's version and the problem, where later plans and other processes find it. Such a first run
             waits for its stream, needs room for the copies and takes some milliseconds; while a CUDA graph is
             captured nothing is measured, and the model's choice runs.
    "read"   what the file has is taken, and nothing is measured.
    False    the model of time chooses alone, whatever RIDGE_TUNE says.

    The file is the one that the environment's RIDGE_TUNE_CACHE names, else ridge/tuning in the user's cache folder.
    Without a call the environment decides: RIDGE_TUNE=1, read or 0; RIDGE_TUNE_CACHE alone means read. The option
    tune=1 or tune=0 of a call or of ridge.plan() holds for it alone.
    """
    if mode not in (True, False, "read"):
        raise ValueError(f"ridge.tune: mode is {mode!r}; it must be True, False or 'read'")
    _ridge.set_tuning("read" if mode == "read" else str(int(mode)))
