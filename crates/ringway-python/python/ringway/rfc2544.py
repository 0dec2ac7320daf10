"""Benchmarks of network devices by RFC 2544, as objects.

    from ringway.rfc2544 import Run

    run = Run(virtual_time=True, test=["throughput"], sizes=[64, 1518])
    for result in run.start().throughput:
        print(result.size, result.fps)

The command `ringway` does the work, in a process of its own. `ringway rfc2544 --help` lists the
options, and docs/json.md the keys of a report.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._native import Error

__all__ = ["Report", "Run", "Throughput"]


@dataclass(frozen=True)
class Throughput:
    """The highest rate at which a device lost no frame of one size."""

    size: str
    """Bytes of a frame with FCS, or the name of a mix."""
    fps: float
    """Frames a second."""
    line_fps: float
    """Frames a second that the link carries."""
    trials: int
    """Trials that the search took."""

    @property
    def share(self) -> float:
        """The part of the line rate, from 0 to 1."""
        return self.fps / self.line_fps


@dataclass(frozen=True)
class Report:
    """What a run found: the report that the command saves."""

    data: Mapping[str, Any]
    """The whole report, with the keys of docs/json.md."""

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """A report from a file that `--save` wrote."""
        return cls(json.loads(Path(path).read_text()))

    @property
    def throughput(self) -> list[Throughput]:
        """The results of the throughput test, one for each size."""
        names = Throughput.__dataclass_fields__
        return [Throughput(**{n: row[n] for n in names}) for row in self.results("throughput")]

    def results(self, test: str) -> list[Mapping[str, Any]]:
        """The results of any test: `latency`, `loss`, `back_to_back`, `burst`, `recovery`, `reset`."""
        return list(self.data["results"].get(test, []))

    @property
    def partial(self) -> list[str]:
        """Why the run is not a whole benchmark of RFC 2544; empty when it is one."""
        return list(self.data["partial"])

    @property
    def interrupted(self) -> bool:
        """Whether the run was ended early."""
        return bool(self.data["interrupted"])


class Run:
    """A run, with the options of `ringway rfc2544` as arguments: `--tx a` is `tx="a"`."""

    def __init__(self, *, command: str | Sequence[str] = "ringway", **options: Any) -> None:
        program = [command] if isinstance(command, str) else list(command)
        self.words = [*program, "rfc2544", *words(options)]

    def plan(self) -> str:
        """What the run will do, and how long it will take. Sends nothing."""
        return self._call("--plan")

    def start(self) -> Report:
        """Runs to the end."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "report.json")
            self._call("--save", str(file))
            return Report.load(file)

    def _call(self, *more: str) -> str:
        try:
            done = subprocess.run([*self.words, *more], capture_output=True, text=True, check=False)
        except OSError as cause:
            raise failure(f"{self.words[0]}: it does not start: {cause.strerror}") from cause
        if done.returncode != 0:
            raise failure(done.stderr.strip() or f"{self.words[0]}: status {done.returncode}")
        return done.stdout

    def __repr__(self) -> str:
        return f"<Run {' '.join(self.words)}>"


def words(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line."""
    found = []
    for name, value in options.items():
        name = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            found.append(name)
        elif isinstance(value, Iterable) and not isinstance(value, str):
            found.append(f"{name}={','.join(map(str, value))}")
        else:
            found.append(f"{name}={value}")
    return found


def failure(text: str) -> Error:
    """The failure of a run."""
    error = Error(text)
    error.kind, error.remedy = "io", None
    return error
