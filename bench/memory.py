"""What memory this process holds."""

import ctypes
import gc
from pathlib import Path


def peak_memory() -> int:
    """Read the peak from Linux's /proc: getrusage's begins with that of the process that started this one."""
    return _status("VmHWM:")


def held_memory() -> int:
    """Collect garbage, give what is free back to the system, and say what is left."""
    gc.collect()
    _give_back()
    return _status("VmRSS:")


def _give_back() -> None:
    """Do for the allocator of C what Go's FreeOSMemory does for that of Go."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)


def _status(field: str) -> int:
    """Read a size in bytes; 0 where it cannot be told."""
    try:
        status = Path("/proc/self/status").read_text("ascii")
    except OSError:
        return 0
    return int(status.partition(field)[2].split()[0]) * 1024
