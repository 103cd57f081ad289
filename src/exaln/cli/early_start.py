"""Starts the GPUs before a command is read in full: their driver needs 0.3 s, and no Python, to create its contexts.

The command line is looked at just enough to see whether it will use GPUs. A wrong guess costs time and nothing else:
errors are found, and reported, where the devices are opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

MANY_PAIRS = ("search", "score", "explain")
"""Commands whose engine auto is cuda where that is usable."""

FEW_PAIRS = ("align", "bench", "warm")
"""Commands that use GPUs only if an option or EXALN_ENGINE asks for them."""

ELSEWHERE = ("--cluster", "--plan", "--resume", "--help", "-h", "-help")
"""Options with which this process does not search."""

DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg")
"""One of them exists where there is a GPU: on Linux, and in Windows' subsystem for it."""


def start_gpus(arguments: Sequence[str]) -> None:
    """Start the GPUs that a command line will probably use, on other threads."""
    command = arguments[0] if arguments else ""
    if command not in MANY_PAIRS + FEW_PAIRS or any(word.partition("=")[0] in ELSEWHERE for word in arguments):
        return
    engine = _value_of("--engine", arguments) or os.environ.get("EXALN_ENGINE", "auto")
    devices, memory = _value_of("--devices", arguments), _value_of("--gpu-memory", arguments)
    if engine == "auto" and (devices or memory):
        engine = "cuda"
    if engine == "cuda" or (engine == "auto" and command in MANY_PAIRS and any(map(os.path.exists, DEVICE_FILES))):
        from exaln.engines.cuda.runtime.driver_start import start_driver

        start_driver(_numbers(devices))


def _value_of(option: str, arguments: Sequence[str]) -> str | None:
    """The value of an option, given as the next word or after an equals sign; the last one counts."""
    found = None
    for place, word in enumerate(arguments):
        name, has_value, value = word.partition("=")
        if name == option:
            found = value if has_value else "".join(arguments[place + 1 : place + 2])
    return found


def _numbers(devices: str | None) -> list[int] | None:
    """The numbers in a list such as "0,2"; None for all devices."""
    return None if devices is None else [int(word) for word in devices.split(",") if word.strip().isdecimal()]
