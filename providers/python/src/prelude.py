"""What stands between the gateway and a plugin, in the language that does it best.

``install`` runs once, on Python's main thread, which never runs anything of a plugin. The rest runs on the threads that do.
"""

import asyncio
import importlib
import importlib.util
import inspect
import io
import logging
import sys
import threading
import tomllib


class Sink(io.TextIOBase):
    """Standard output and error of a plugin: counted and thrown away, so that nothing can be forged or leaked there."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, printed):
        self.printed = printed
        self.buffer = ByteSink(printed)

    def writable(self):
        return True

    def write(self, text):
        self.printed(len(text))
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)


class ByteSink(io.RawIOBase):
    def __init__(self, printed):
        self.printed = printed

    def writable(self):
        return True

    def write(self, data):
        self.printed(len(data))
        return len(data)


class Bridge(logging.Handler):
    """Hands records on. Text of exceptions is left out: it may hold whatever was at hand when they were raised."""

    def __init__(self, record, most):
        super().__init__()
        self.record = record
        self.most = most

    def createLock(self):
        # Handing on is one call that takes care of itself.
        self.lock = None

    def emit(self, record):
        try:
            text = record.getMessage()[: self.most]
        except Exception as error:
            text = f"a record whose text cannot be made ({type(error).__qualname__})"
        if record.exc_info and record.exc_info[0]:
            text += f" ({record.exc_info[0].__qualname__})"
        text = text.encode("utf-8", "backslashreplace").decode()
        self.record(record.levelno, record.name, text)


def install(printed, record, most, level):
    out = Sink(printed)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = out
    logging.raiseExceptions = False
    logger = logging.getLogger("credgate.plugin")
    logger.propagate = False
    logger.setLevel(level)
    logger.addHandler(Bridge(record, most))
    # Taken now, on the main thread, so that no thread of a plugin is taken for it.
    threading.main_thread()


def search(folders):
    for folder in reversed(folders):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def load(name, file):
    if file is None:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def when(text):
    """A TOML date or time."""
    return tomllib.loads("value = " + text)["value"]


def is_async(function):
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def member(plugin, name):
    """The function, whether it is async, and what is wrong with it."""
    function = getattr(plugin, name, None)
    if function is None:
        return None, False, None
    if not callable(function):
        return None, False, "is not a function"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return None, False, "is a generator; return the answer instead of yielding it"
    wanted = {"create": "config", "lookup": "node ID"}.get(name)
    try:
        inspect.signature(function).bind(*([wanted] if wanted else []))
    except TypeError:
        return None, False, f"must be callable with {f'one argument, the {wanted}' if wanted else 'no argument'}"
    except ValueError:
        pass
    return function, is_async(function), None


class Loop:
    """The one event loop, on a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.tasks = {}

    def run(self, wake, drain):
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(wake, drain)
        while True:
            try:
                self.loop.run_forever()
            except BaseException:
                # A task of the plugin's own that raises SystemExit or KeyboardInterrupt stops the loop; lookups go on.
                continue

    def start(self, number, function, node_id, done):
        self.tasks[number] = task = self.loop.create_task(work(function, node_id, done))
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    def cancel(self, number):
        if task := self.tasks.get(number):
            task.cancel()

    def call(self, function, arguments, seconds):
        """Runs an ``async def`` from another thread, and waits for it."""
        future = asyncio.run_coroutine_threadsafe(contained(function, arguments), self.loop)
        try:
            answer, error = future.result(seconds)
        except BaseException:
            future.cancel()
            raise
        if error is not None:
            raise error
        return answer

    def answers(self, seconds):
        self.call(nothing, (), seconds)


async def work(function, node_id, done):
    try:
        answer = await function(node_id)
    except BaseException as error:
        done(None, error)
    else:
        done(answer, None)


async def contained(function, arguments):
    try:
        return await function(*arguments), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


async def nothing():
    pass


def facts():
    return ".".join(map(str, sys.version_info[:3])), sys.prefix, [path for path in sys.path if path]
