"""The programs we stand beside, each limited to one worker and set up as its own documentation says."""

import sys
from pathlib import Path


def installed(name):
    """A program that came with requirements.txt."""
    return Path(sys.executable).parent / name
