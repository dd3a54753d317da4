"""The peers, each limited to one worker and configured as its documentation recommends."""

import sys
from pathlib import Path


def installed(name):
    """Returns the path of a program installed from requirements.txt."""
    return Path(sys.executable).parent / name
