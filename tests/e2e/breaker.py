"""An addon that breaks a method of toolmend in a running mitmdump."""


BREAKER = '''
"""Breaks the method that a request's x-break header names, from its n-th call on: module:Class.method@n"""
import importlib

calls = {}

def requestheaders(flow):
    calls.clear()
    where, _, count = flow.request.headers.get("x-break", "").partition("@")
    if where:
        calls[where] = int(count)
        broken(where)

def broken(where, patched=set()):
    if where in patched:
        return
    patched.add(where)
    module, _, path = where.partition(":")
    owner, _, name = path.partition(".")
    owner = getattr(importlib.import_module(module), owner)
    real = getattr(owner, name)

    def call(*args, **kwargs):
        if where in calls:
            calls[where] -= 1
            if calls[where] <= 0:
                raise MemoryError("injected")
        return real(*args, **kwargs)

    setattr(owner, name, call)
'''
