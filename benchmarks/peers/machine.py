"""What the machine is, and what else it does meanwhile."""

import ctypes
import os
import pathlib
import platform
import time


def about():
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


class Load:
    """Cores that others used since this was made."""

    def __init__(self):
        self._began = time.perf_counter()
        self._before = _busy()

    def others(self):
        total, own = _busy()
        seconds = time.perf_counter() - self._began
        used = (total - self._before[0]) - (own - self._before[1])
        return round(max(0.0, used / seconds), 2)


def _busy():
    """Seconds that all cores were busy, and this process and its children."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    numbers = [int(x) for x in fields]
    tick = os.sysconf("SC_CLK_TCK")
    own = 0.0
    for pid in _family(os.getpid()):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        own += sum(int(x) for x in stat.rpartition(")")[2].split()[11:15]) / tick
    return (sum(numbers) - numbers[3] - numbers[4]) / tick, own


def adopt_orphans():
    """Makes this process the parent of what its children leave behind, so that
    what servers of engines use counts as theirs."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _family(pid):
    """The process and all below it."""
    children = {}
    for entry in os.listdir("/proc"):
        try:
            stat = pathlib.Path(f"/proc/{int(entry)}/stat").read_text()
        except (OSError, ValueError):
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(entry))
    found, queue = {pid}, [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            if child not in found:
                found.add(child)
                queue.append(child)
    return found
