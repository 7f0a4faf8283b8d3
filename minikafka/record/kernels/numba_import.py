"""numba, with no settings out of a directory that Python imports nothing from.

numba reads `.numba_config.yaml` in the working directory, when it is imported and before each compilation. The file may
name a directory for numba's cache, out of which numba unpickles, and unpickling runs code.
"""

import os
import sys
from typing import Any

from minikafka.common import working_directory

_SETTINGS = ".numba_config.yaml"


def imported_numba() -> Any:
    """The module. Raises ImportError where it is not installed, and where it would read settings of a stranger's."""
    if "numba" not in sys.modules and not working_directory.is_on_the_path():
        if os.path.lexists(_SETTINGS):
            raise ImportError(f"{_SETTINGS} in the working directory would set numba up; work in another directory")
        from numba.core import config

        config._config_fname = os.devnull  # which is no regular file, so that numba looks for none later
    import numba

    return numba
