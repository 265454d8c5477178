"""Where Ridge's programs are."""

import os
import pathlib
import shutil


def find(name, variable, use, made_by, error):
    """The program's path: as an environment variable says, or in this package, or on the PATH; else an error."""
    packaged = pathlib.Path(__file__).with_name("bin") / name
    program = os.environ.get(variable) or (str(packaged) if packaged.exists() else shutil.which(name))
    if program is None:
        raise error(
            f"{use} by the program {name}, which is not in the package, not on the PATH and not named by "
            f"{variable}; it is made in a clone of Ridge by `{made_by}`"
        )
    return program
