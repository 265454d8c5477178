"""`python -m ridge`, and the command `ridge` that pip puts on the PATH: the command line program in this package."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("bin") / "ridge"
    if not program.exists():
        sys.exit(
            "ridge: this package was built without the command line, which needs the headers of CLI11, fmt and "
            "nlohmann_json"
        )
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
