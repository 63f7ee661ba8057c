#!/usr/bin/env python3
"""Records every call and return of a Python program into a trace file.

    python3 record.py [-o OUT.trace] [-c] [-s N] SCRIPT [ARGUMENT...]
    python3 record.py [-o OUT.trace] [-c] [-s N] -m MODULE [ARGUMENT...]

Any CPython from 3.9 on, with nothing but its standard library. The format is specified in docs/trace-format.md; blocks are
written as LZ4 literals, uncompressed, as compressing in Python would take longer than the program.

What is recorded: each call of a Python function, by call site (function and line); a generator or coroutine that is resumed is
called, and one that yields or awaits returns; a function left by an exception returns. With -c, C functions too. Threads that
the `threading` module starts are recorded from their `run` to its return; the main thread from the script's first line
to its last (`atexit` functions and threads left over come later and are not in it, but the threads are waited for).

What is not: threads started by `_thread` or by C code, switches of greenlets, the children of `os.fork`, and whatever
runs inside the recorder's own callback (a signal handler or a finalizer that strikes there). A program that ends by `os._exit`
or a signal leaves a file without its last block: what is in it is good. A program that calls `sys.setprofile` ends the
recording of that thread, and so does an exception (Ctrl-C) that strikes inside the callback: a message then says so.
"""

import argparse
import array
import os
import struct
import sys
import threading
import time
import types
import zlib

MAX_EVENTS = 65535  # in a block
MAX_PENDING = 1 << 18  # bytes of definitions in a block, about
MAX_TEXT = 65535  # bytes
DEFINITIONS, EVENTS, END = 1, 2, 3  # kinds of blocks
RETURN = -1


def number(value):
    """LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return out


def text(string):
    data = string.encode("utf-8", "replace")
    if len(data) > MAX_TEXT:
        data = data[:MAX_TEXT].decode("utf-8", "ignore").encode("utf-8")
    return number(len(data)) + data


def literals(raw):
    """An LZ4 block that holds `raw` as it is."""
    if len(raw) < 15:
        return bytes((len(raw) << 4,)) + raw
    full, rest = divmod(len(raw) - 15, 255)
    return b"\xf0" + b"\xff" * full + bytes((rest,)) + raw


class Trace:
    """The file, and what is defined in it. Methods are called with `lock` held, by one thread at a time."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.out = open(path, "wb")
        header = b"\x89trace\r\n" + struct.pack("<HBBQ", 1, 1, 0, 1_000_000_000)
        self.out.write(header + struct.pack("<I", zlib.crc32(header)))
        self.pending = bytearray()
        self.functions = {}  # key -> id
        self.sites = {}  # (caller, line) -> id
        self.edges = {}  # (site or None, callee) -> id
        self.seen = {}  # what a call looks like -> (edge, callee): see Recorder
        self.kept = []  # objects whose id() is a key
        self.threads = []
        self.events = 0
        self.lost = 0
        self.is_closed = False

    def block(self, kind, raw):
        stored = literals(bytes(raw))
        head = struct.pack("<III", kind, len(raw), len(stored))
        self.out.write(head + struct.pack("<I", zlib.crc32(stored, zlib.crc32(head))))
        self.out.write(stored)

    def spill(self, above=0):
        if len(self.pending) > above:
            self.block(DEFINITIONS, self.pending)
            self.pending.clear()

    def define(self, entry):
        self.pending += entry
        self.spill(MAX_PENDING)

    def function(self, key, name, file, line, keep):
        if key not in self.functions:
            self.functions[key] = len(self.functions)
            self.kept.append(keep)
            self.define(b"\x01" + text(name) + text(file) + number(line))
        return self.functions[key]

    def python_function(self, code):
        name = getattr(code, "co_qualname", code.co_name)
        return self.function(id(code), name, code.co_filename, code.co_firstlineno, code)

    def c_function(self, function):
        module = getattr(function, "__module__", None)
        name = getattr(function, "__qualname__", None) or repr(function)
        name = "%s.%s" % (module, name) if module else name
        return self.function(name, name, "", 0, None)

    def edge(self, caller, line, callee):
        """The edge from a line of a caller, which may be None."""
        site = None
        if caller is not None:
            site = self.sites.get((caller, line))
            if site is None:
                site = self.sites[caller, line] = len(self.sites)
                self.define(b"\x02" + number(caller) + number(line))
        edge = self.edges.get((site, callee))
        if edge is None:
            edge = self.edges[site, callee] = len(self.edges)
            self.define(b"\x03" + number(0 if site is None else site + 1) + number(callee))
        return edge

    def close(self):
        with self.lock:
            for thread in self.threads:
                thread.seal()
            self.is_closed = True
            self.spill()
            self.block(END, number(self.events) + number(self.lost))
            self.out.close()

    def forget(self):
        """In a forked child: the file is the parent's, and so is what it has not written yet, which would be at the end."""
        self.lock = threading.Lock()
        self.is_closed = True
        if not self.out.closed:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.out.fileno(), inheritable=False)
            os.close(null)
        sys.setprofile(None)
        threading.setprofile(None)


class Recorder:
    """One thread: its open calls, and the events of its open block."""

    def __init__(self, trace, with_c, every):
        self.trace = trace
        self.every = every
        self.events = []
        self.positions = []  # of time stamps
        self.times = []
        self.base = self.now = time.perf_counter_ns()
        self.is_over = False
        with trace.lock:
            self.id = len(trace.threads)
            trace.threads.append(self)
            if not trace.is_closed:
                trace.define(b"\x04" + number(self.base) + text(threading.current_thread().name))
        self.profile = self.callback(with_c)

    def seal(self):
        """Writes the open block; the trace's lock is held."""
        trace, events = self.trace, self.events
        if trace.is_closed or self.is_over:
            return
        while events:
            part = events[:MAX_EVENTS]
            count = len(part)
            # Another thread may be between the two appends of a stamp.
            stamps = min(sum(1 for at in self.positions if at <= count), len(self.times))
            positions, times = self.positions[:stamps], self.times[:stamps]
            codes = dict.fromkeys(part)
            codes.pop(RETURN, None)
            raw = number(self.id) + number(self.base) + number(count) + number(len(codes)) + number(stamps)
            for code, edge in enumerate(codes, 1):
                raw += number(edge)
                codes[edge] = code
            width = "B" if len(codes) <= 255 else "H"
            codes[RETURN] = 0
            column = array.array(width, map(codes.__getitem__, part))
            if sys.byteorder == "big":
                column.byteswap()
            raw += column.tobytes()
            raw += distances(0, positions) + distances(self.base, times)
            trace.spill()
            trace.block(EVENTS, raw)
            trace.events += count
            # In place, as the callback holds the lists.
            del events[:count], self.times[:stamps]
            self.positions[:] = [at - count for at in self.positions[stamps:]]
            self.base = times[-1] if times else self.base

    def full(self):
        """Takes the time, writes the block if it is full, and says at how many events to come again."""
        now = time.perf_counter_ns()
        self.positions.append(len(self.events))
        self.times.append(now)
        self.now = now
        if len(self.events) >= MAX_EVENTS:
            with self.trace.lock:
                if self.trace.is_closed:
                    self.events.clear()
                    sys.setprofile(None)
                self.seal()
        return min(len(self.events) + self.every, MAX_EVENTS)

    def end(self):
        """The thread's first function has returned."""
        sys.setprofile(None)
        with self.trace.lock:
            self.seal()
            self.is_over = True
            if not self.trace.is_closed:
                self.trace.define(b"\x05" + number(self.id) + number(time.perf_counter_ns()))

    def callback(self, with_c):
        """The function for sys.setprofile. Everything it needs often is in its closure."""
        trace, full = self.trace, self.full
        events, append, seen = self.events, self.events.append, self.trace.seen
        frames = []  # of open calls: id(frame), or its complement for a C function that the frame has called
        callees = []  # their functions
        limit = min(self.every, MAX_EVENTS)

        def define(key, frame, back, arg):
            with trace.lock:
                callee = trace.python_function(frame.f_code) if arg is None else trace.c_function(arg)
                trace.kept.append((frame.f_code, back and back.f_code))
                caller = callees[-1] if callees else None
                seen[key] = trace.edge(caller, (back and back.f_lineno) or 0, callee), callee
            return seen[key]

        def enter(frame, back):
            nonlocal limit
            if frames:
                key = callees[-1], id(back.f_code), back.f_lasti, id(frame.f_code)
            else:
                key, back = id(frame.f_code), None
            edge, callee = seen.get(key) or define(key, frame, back, None)
            frames.append(id(frame))
            callees.append(callee)
            append(edge)
            if len(events) >= limit:
                limit = full()

        def leave():
            nonlocal limit
            callees.pop()
            append(RETURN)
            if len(events) >= limit:
                limit = full()
            return frames.pop()

        def leave_to(at):
            """Closes the calls inside of an open one. False if it is not open."""
            if at not in frames:
                return False
            while frames[-1] != at:
                leave()
            return True

        def sync(back):
            """Some interpreters do not report all: opens or closes calls so that `back` is the innermost."""
            missing = []
            while back is not None and not leave_to(id(back)):
                missing.append(back)
                back = back.f_back
            if back is not None:
                for frame in reversed(missing):
                    enter(frame, frame.f_back)

        def profile(frame, event, arg):
            if event == "call":
                back = frame.f_back
                if frames:
                    at = id(back)
                    if frames[-1] != at and frames[-1] != ~at:
                        sync(back)
                enter(frame, back)
            elif event == "return":
                at = id(frame)
                if frames and (frames[-1] == at or leave_to(at)):
                    leave()
                    if not frames:
                        self.end()
            elif with_c and frames:
                if event == "c_call":
                    c_call(frame, arg)
                elif frames[-1] == ~id(frame) or leave_to(~id(frame)):
                    leave()

        def c_call(frame, function):
            nonlocal limit
            at = id(frame)
            if frames[-1] != at and frames[-1] != ~at:
                sync(frame)
            name = getattr(function, "__module__", None), getattr(function, "__qualname__", None) or repr(function)
            key = callees[-1], id(frame.f_code), frame.f_lasti, name
            edge, callee = seen.get(key) or define(key, frame, frame, function)
            frames.append(~at)
            callees.append(callee)
            append(edge)
            if len(events) >= limit:
                limit = full()

        return profile


def distances(last, values):
    out = bytearray()
    for value in values:
        out += number(value - last)
        last = value
    return out


def arguments():
    parser = argparse.ArgumentParser(description="Records every call and return of a Python program into a trace file.")
    parser.add_argument("-o", "--output", metavar="FILE", default="out.trace", help="the trace file (default: %(default)s)")
    parser.add_argument("-c", "--c-functions", action="store_true", help="record calls of C functions, too")
    parser.add_argument("-s", "--stamps", metavar="N", type=int, default=32, help="events between time stamps (default: %(default)s)")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", metavar="SCRIPT", help="the program")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args()
    if options.stamps < 1:
        parser.error("there must be at least one event between time stamps")
    return options


def load(options):
    """The program's code, and the module to run it in."""
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.argv[:] = [options.script] + options.arguments
    if options.module:
        sys.path[0] = os.getcwd()
        call = "__import__('runpy').run_module(%r, run_name='__main__', alter_sys=True)" % options.script
        return compile(call, "<record>", "exec"), main
    try:
        with open(options.script, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.exit("record.py: cannot read %s: %s" % (options.script, error.strerror))
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    main.__file__ = options.script
    try:
        return compile(source, options.script, "exec", dont_inherit=True), main
    except SyntaxError as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        sys.exit(1)


def run(code, main, profile):
    """The exit status, or the text that sys.exit was given."""
    sys.modules["__main__"] = main
    try:
        sys.setprofile(profile)
        exec(code, main.__dict__)
    except SystemExit as exit:
        return exit.code
    except BaseException as error:
        # The recorder's own frame is no part of the story.
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        sys.setprofile(None)
    return 0


def main():
    options = arguments()
    code, module = load(options)
    try:
        trace = Trace(options.output)
    except OSError as error:
        sys.exit("record.py: cannot write %s: %s" % (options.output, error.strerror))
    os.register_at_fork(after_in_child=trace.forget)

    def start(frame, event, arg):
        """The first thing that happens in a new thread."""
        if event == "call":
            profile = Recorder(trace, options.c_functions, options.stamps).profile
            sys.setprofile(profile)
            profile(frame, event, arg)

    threading.setprofile(start)
    recorder = Recorder(trace, options.c_functions, options.stamps)
    status = run(code, module, recorder.profile)
    threading.setprofile(None)
    if trace.is_closed:
        sys.exit(status)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    if not recorder.is_over:
        print("record.py: the program or an interrupt has ended the recording of the main thread early", file=sys.stderr)
        trace.lost += 1
    trace.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
