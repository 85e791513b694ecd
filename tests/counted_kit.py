"""A command run in a process of its own that says at its end what it compiled, what it loaded, and how it collects."""

COUNTED = """
import gc, json, runpy, sys
from numba.core import event

class Noted(event.Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Noted())
try:
    runpy.run_module("equirl", run_name="__main__")
finally:
    print(json.dumps([Noted.names, sorted(sys.modules), gc.get_threshold()[0]]), file=sys.stderr)
"""
