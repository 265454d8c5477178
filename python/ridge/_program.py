"""Where Ridge's programs are."""

import os
import shutil


def find(name, variable, use, made_by, error):
    """The program's path: as an environment variable says, or on the PATH; else an error with a sentence."""
    program = os.environ.get(variable) or shutil.which(name)
    if program is None:
        raise error(
            f"{use} by the program {name}, which is neither on the PATH nor named by {variable}; "
            f"it is made in a clone of Ridge by `{made_by}`"
        )
    return program
