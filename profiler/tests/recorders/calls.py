import functools
import sys
import threading


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def fails(n):
    if n == 0:
        raise ValueError("deep")
    fails(n - 1)


def catches():
    try:
        fails(1)
    except ValueError:
        return factorial(1)


def numbers():
    yield factorial(1)
    try:
        yield 2
    except KeyError:
        yield factorial(1)


def generators():
    it = numbers()
    next(it)
    next(it)
    it.throw(KeyError("in"))
    it.close()
    factorial(1)


class Counter:
    def __init__(self):
        self.count = 0

    def step(self, by):
        self.count += by
        return self


def called_back(a, b):
    return factorial(1) + a + b


def works(n):
    factorial(n)


factorial(3); factorial(2)
catches()
generators()
Counter().step(1).step(2)
functools.reduce(called_back, [1, 2, 3])
for number in (1, 2):
    thread = threading.Thread(target=works, args=(number,), name="worker %d" % number)
    thread.start()
    thread.join()
sys.exit(3)
