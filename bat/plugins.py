"""Registries: what a sweep, a command or a call may name, and where each name leads.

    name            eta              built in: known without looking any further
    entry point     top-a            of an installed distribution, in a group such as bat_harness.rules
    reference       my_module:TopA   an object of any module that can be imported

Entry points are read when a name is not built in, or when all names are listed, and a plug-in is imported
when it is first used. A plug-in that cannot be used is an error that names its distribution, raised to
whoever asks for that plug-in; the built-ins do not depend on it.

``provenance`` tells what a name led to, for the identity of results: nothing for a built-in, whose version is
the project's own.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib import metadata

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*")

Entry = TypeVar("Entry")


class PluginError(InvalidInputError):
    """A plug-in that was asked for cannot be used."""


class _NoSuchObjectError(AttributeError):
    """A module was imported, and lacks the object that a reference names."""


@dataclass(frozen=True, slots=True, eq=False)
class Registry(Generic[Entry]):
    """The objects of one kind, by name."""

    group: str  # of entry points: "bat_harness.rules"
    noun: str  # "rule"
    builtins: Mapping[str, str]  # name -> module:Object, imported when it is first used
    accepts: Callable[[object], bool]
    requirement: str  # what every entry must be, as in "must be a subclass of bat.rules.Rule"

    def names(self) -> tuple[str, ...]:
        """Every name: the built-ins in their order, then those of installed packages."""
        return (*self.builtins, *sorted(self._entry_points()))

    def find(self, name: str) -> Entry | None:
        """The object of that name, or None; PluginError where there is one that cannot be used."""
        if name in self.builtins:
            return cast(Entry, _resolve(self.builtins[name]))
        if is_reference(name):
            return self._checked(self._load(name, repr(name), _ADVICE_IMPORT), repr(name))
        point = self._entry_points().get(name)
        if point is None:
            return None
        label = f"{name!r} of {_distribution(point)}"
        reference = f"{point.module}:{point.attr}"
        return self._checked(self._load(reference, label, _ADVICE_PACKAGE), label)

    def get(self, name: str) -> Entry:
        """The object of that name; InvalidInputError where there is none."""
        entry = self.find(name)
        if entry is None:
            raise self.unknown(name, self.names())
        return entry

    def check(self, name: object) -> str:
        """Return the name where something has it; a built-in is not imported for that."""
        if not isinstance(name, str):
            raise InvalidInputError(f"{self.noun} must be a name; got {name!r}.")
        if name not in self.builtins:
            self.get(name)
        return name

    def unknown(self, name: str, names: tuple[str, ...], aliases: tuple[str, ...] = ()) -> InvalidInputError:
        """The error for a name that leads nowhere, with the nearest name that does lead somewhere."""
        spelled = name.strip().lower().replace("_", "-")
        guess = did_you_mean(spelled, [*names, *aliases]) or " Plug-ins must be installed on every machine."
        return InvalidInputError(f"{self.noun} must be one of {', '.join(names)}; got {name!r}.{guess}")

    def provenance(self, name: str) -> dict[str, str] | None:
        """What a result that used the name must record: None for a built-in.

        An entry point is known by its distribution and version, a reference by the hash of its module's file.
        """
        if name in self.builtins:
            return None
        if is_reference(name):
            # Where it is defined, which need not be where it was imported from.
            module = getattr(self.get(name), "__module__", name.partition(":")[0])
            return {"module": module, "sha256": _source_digest(module)}
        point = self._entry_points().get(name)
        if point is None:
            raise self.unknown(name, self.names())
        assert point.dist is not None
        return {"distribution": point.dist.name, "version": point.dist.version}

    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        points = _installed(self.group)
        for name, point in points.items():
            if name in self.builtins:
                raise PluginError(
                    f"a plug-in must not take the name of a built-in {self.noun}; {_distribution(point)} has "
                    f"an entry point {name!r} in {self.group}. Rename it there, or uninstall that package."
                )
        return points

    def _load(self, reference: str, label: str, advice: str) -> object:
        try:
            return _resolve(reference)
        except _NoSuchObjectError as error:
            raise PluginError(f"{self.noun} {label} cannot be loaded: {error}") from error
        except Exception as error:  # whatever a foreign module raises while it is imported
            raise PluginError(
                f"{self.noun} {label} cannot be loaded from {reference}: {type(error).__name__}: {error}. "
                f"{advice}"
            ) from error

    def _checked(self, entry: object, label: str) -> Entry:
        if not self.accepts(entry):
            raise PluginError(f"{self.noun} {label} {self.requirement}; got {entry!r}.")
        return cast(Entry, entry)


_ADVICE_IMPORT = "Install its module on every machine, or put its folder on PYTHONPATH."
_ADVICE_PACKAGE = "Update or uninstall that package."


def is_reference(name: str) -> bool:
    """Whether a name is spelled as a module and an object in it, as in my_module:MyRule."""
    return _REFERENCE.fullmatch(name) is not None


def forget_installed() -> None:
    """Read entry points again when they are next needed; for programs that install while they run."""
    _installed.cache_clear()


@cache
def _installed(group: str) -> dict[str, metadata.EntryPoint]:
    from importlib import metadata  # slow to import, and built-ins do without

    points: dict[str, metadata.EntryPoint] = {}
    for point in metadata.entry_points(group=group):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise PluginError(
                f"two plug-ins must not share a name; {_distribution(other)} and {_distribution(point)} both "
                f"have an entry point {point.name!r} in {group}. Uninstall one of them."
            )
    return points


def _resolve(reference: str) -> object:
    module, _, path = reference.partition(":")
    entry: Any = importlib.import_module(module)
    for attribute in path.split("."):
        if not hasattr(entry, attribute):
            guess = did_you_mean(attribute, dir(entry)) or " Check the name."
            raise _NoSuchObjectError(f"{module} has no {attribute!r}.{guess}")
        entry = getattr(entry, attribute)
    return entry


def _distribution(point: metadata.EntryPoint) -> str:
    return "an unnamed distribution" if point.dist is None else f"{point.dist.name} {point.dist.version}"


@cache
def _source_digest(module: str) -> str:
    try:
        spec = importlib.util.find_spec(module)
    except ValueError:  # __main__ in a notebook
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise PluginError(
            f"module {module!r} must have a file, whose hash enters the identity of results; it has none. "
            "Write it to a file of its own."
        )
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()
