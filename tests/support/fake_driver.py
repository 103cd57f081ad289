"""A driver of GPUs that does nothing, as a library: fake_driver.c, built for a test."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_suffix(".c")


def built_driver(folder: Path) -> Path:
    """The folder, with the driver in it: for LD_LIBRARY_PATH. Skips the test where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, SOURCE], check=True)
    (folder / "libnvidia-ml.so.1").symlink_to(library)
    return folder
