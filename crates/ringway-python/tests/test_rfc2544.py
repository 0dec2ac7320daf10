"""Runs of RFC 2544, in virtual time."""

import os
import shutil

import pytest

import ringway
from ringway.rfc2544 import Report, Run

COMMAND = os.environ.get("RINGWAY_COMMAND") or shutil.which("ringway")
pytestmark = pytest.mark.skipif(COMMAND is None, reason="SKIPPED: there is no command ringway")


def run(**options):
    return Run(command=COMMAND, virtual_time=True, **options)


def test_a_run_finds_the_line_rate(tmp_path):
    report = run(sizes=[64, 1518], test="throughput").start()
    assert [(r.size, round(r.fps), r.share) for r in report.throughput] == [("64", 14880952, 1), ("1518", 812744, 1)]
    assert report.partial and not report.interrupted and report.results("latency") == []


def test_options_are_words_of_the_command():
    words = run(sizes=[64, 128], ipv6=True, vlan=None, bidir=False, link="1G").words
    assert words[1:] == ["rfc2544", "--virtual-time", "--sizes=64,128", "--ipv6", "--link=1G"]


def test_a_plan_sends_nothing():
    assert "trial" in run(sizes=[64]).plan()


def test_failures_have_the_message_of_the_command(tmp_path):
    with pytest.raises(ringway.Error, match="sizes"):
        run(sizes="tiny").start()
    with pytest.raises(ringway.Error, match="does not start"):
        Run(command=str(tmp_path / "none")).plan()
    with pytest.raises(FileNotFoundError):
        Report.load(tmp_path / "none")
