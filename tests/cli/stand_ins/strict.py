# SPDX-License-Identifier: Apache-2.0
"""What the stand-ins share: names and structures that have what the real ones have, and nothing else."""
import copy
import enum


class Refused(Exception):
    """The real software would refuse this, or drop it without a word."""


class Name(enum.Enum):
    """An enumeration. int() gives the number that the real one has."""

    def __int__(self):
        return self.value


def names(title, members):
    """An enumeration whose members count from 0."""
    return Name(title, members, start=0)


def need(condition, message):
    if not condition:
        raise Refused(message)


def converted(value, like, name):
    """The value, if it may stand where `like` stands: as pybind11 converts, without a change of kind."""
    kind = type(like)
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        fits = True
    if not fits:
        raise TypeError(f"{name} is a {kind.__name__}, not {value!r}")
    return value


class Struct:
    """An object with the fields in FIELDS, each of the type of its default."""

    FIELDS = {}

    def __init__(self, **values):
        for name, default in self.FIELDS.items():
            object.__setattr__(self, name, copy.deepcopy(default))
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        object.__setattr__(self, name, converted(value, self.FIELDS[name], name))

    def is_default(self):
        return vars(self) == vars(type(self)())

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)
