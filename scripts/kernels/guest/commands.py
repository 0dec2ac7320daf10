"""Runs Ringway and what it is tried with, and tells a refusal from a fault."""

import json
import os
import re
import signal
import subprocess
import time

# What a refusal must not say: all runs as root.
RIGHTS = re.compile(r"run as root|permission denied|not permitted|CAP_[A-Z_]+|privilege", re.IGNORECASE)
FACES_OF_A_CRASH = re.compile(r"panicked at|RUST_BACKTRACE|core dumped")


class Refused(Exception):
    """Ringway said in a sentence that this does not work here."""


class Failed(Exception):
    """Something went wrong and no sentence said so, or a wrong one."""


started = []


def inside(namespace):
    return ["nsenter", "--net=/run/netns/" + namespace] if namespace else []


class Process:
    """A command in the background, with its output in files."""

    def __init__(self, command, namespace=None):
        self.command = command
        self.out = open("/tmp/process-%d.out" % len(started), "w+", errors="replace")
        self.err = open("/tmp/process-%d.err" % len(started), "w+", errors="replace")
        words = inside(namespace) + ["sh", "-c", "exec " + command]
        self.child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, start_new_session=True)
        started.append(self)

    def running(self):
        return self.child.poll() is None

    def says(self):
        """Standard output and standard error so far."""
        return [open(file.name, errors="replace").read() for file in (self.out, self.err)]

    def wait(self, seconds):
        """Whether it ended by itself in time."""
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def until(self, pattern, seconds=40):
        """Waits until it says what matches; an end before that is a refusal or a failure."""
        end = time.monotonic() + seconds
        while not re.search(pattern, "\n".join(self.says())):
            if not self.running():
                judge(self.command, self.child.returncode, *self.says())
                raise Failed("`%s` ended before it was ready" % self.command)
            if time.monotonic() > end:
                raise Failed("`%s` was not ready after %d s" % (self.command, seconds))
            time.sleep(0.1)
        return self

    def end(self, number=signal.SIGINT, seconds=15):
        """Ends it; its standard output."""
        if self.running():
            self.child.send_signal(number)
            if not self.wait(seconds):
                self.kill()
                raise Failed("`%s` did not end within %d s of signal %d" % (self.command, seconds, number))
        if number != signal.SIGKILL:
            judge(self.command, self.child.returncode, *self.says())
        return self.says()[0]

    def kill(self):
        if self.running():
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


def kill_all():
    while started:
        process = started.pop()
        process.kill()
        process.out.close()
        process.err.close()


def judge(command, code, out, err):
    """Does nothing when a command of Ringway ended well."""
    if code == 0:
        return
    last = [line for line in (out + "\n" + err).splitlines() if line.strip()][-1:]
    sentences = re.findall(r"^ringway: (.*?)(?: \[E\d{4}\])?$", err, re.MULTILINE)
    if code < 0 or code >= 128 or FACES_OF_A_CRASH.search(err) or not sentences:
        raise Failed("`%s` ended with code %d: %s" % (command, code, " ".join(last)[:300]))
    if RIGHTS.search(sentences[-1]):
        raise Failed("blames rights: " + sentences[-1])
    raise Refused(sentences[-1])


def run(command, namespace=None, seconds=60):
    """Runs a command of Ringway; its standard output."""
    process = Process(command, namespace)
    if not process.wait(seconds):
        process.kill()
        raise Failed("`%s` did not end in %d s" % (command, seconds))
    judge(command, process.child.returncode, *process.says())
    return process.says()[0]


def system(command, namespace=None, seconds=30, must=True):
    """Runs a command of the system; its output."""
    words = inside(namespace) + ["sh", "-c", command]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise Failed("`%s` did not end in %d s" % (command, seconds)) from late
    if must and done.returncode != 0:
        raise Failed("`%s` ended with code %d: %s" % (command, done.returncode, (done.stdout + done.stderr).strip()[-300:]))
    return done.stdout + done.stderr


def result(text):
    """The JSON object that a command printed last."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failed("no JSON in " + repr(text[-200:]))


def wait_for(what, true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise Failed("waited %d s for %s" % (seconds, what))
        time.sleep(0.1)
