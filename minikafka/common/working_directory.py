"""Whether Python code and settings may come from the working directory, which may be somebody else's log directory."""

import os
import sys


def is_on_the_path() -> bool:
    """Whether this process imports from its working directory, as a notebook's kernel and a script beside it do.

    An installed command such as `minikafka` does not. What this process starts, or imports, is to follow it in this.
    """
    here = os.path.realpath(os.curdir)
    return any(os.path.realpath(each or os.curdir) == here for each in sys.path)
