"""One model for all visitors: loaded when it is first needed, and asked one question at a time.

Loading and questions run in one thread of their own, so that other pages are answered meanwhile. Questions
wait in a short queue; when it is full, a visitor is told to try again.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bat.compiled import EntryPoint, is_compiled
from bat.errors import BatError
from harness.view.problems import ViewError, sentence_of
from workers.names import EMBEDDED_MODEL_NAMES

if TYPE_CHECKING:
    from bat import Basis
    from bat.arrays import FloatArray
    from workers.models import LanguageModel

_Value = TypeVar("_Value")

DEFAULT_MODEL = EMBEDDED_MODEL_NAMES[0]
MOST_WAITING = 8
# A distribution has about half a megabyte; those of a path that is walked back and forth fit.
_MOST_DISTRIBUTIONS = 64
# The numbers of constraints that a page shows at first, and how many it shows at once. Others are prepared
# again and again, because a large basis has hundreds of megabytes.
DEFAULT_CONSTRAINTS = (0, 5, 20, 40)
MOST_CONSTRAINTS = 4


@dataclass(frozen=True, slots=True)
class ModelState:
    """How far loading is. A problem is final: the server has to be started again with another model."""

    name: str
    is_ready: bool
    words: str
    problem: str = ""
    constraints: tuple[int, ...] = ()  # that a page shows at first
    weights: str = ""  # the fingerprint by which sweeps know the model


class LoadedModel:
    """A model, and what was computed with it lately."""

    def __init__(self, language_model: LanguageModel) -> None:
        self.language_model = language_model
        # Nearly always the rank of the output matrix, which is not known before a basis is prepared.
        width = language_model.info.hidden_size
        self.default_constraints = tuple(sorted({min(number, width) for number in DEFAULT_CONSTRAINTS}))
        self._bases: OrderedDict[int, Basis] = OrderedDict()
        self._distributions: OrderedDict[tuple[int, ...], FloatArray] = OrderedDict()

    def bases(self, constraints: Sequence[int]) -> dict[int, Basis]:
        """The bases with these numbers of constraints."""
        return {number: self.basis(number) for number in constraints}

    def basis(self, constraints: int) -> Basis:
        """The basis with this number of constraints; an error above the rank of the output matrix."""
        from bat.basis import Basis
        from workers.output_layer import get_output_matrix

        model = self.language_model
        if constraints in DEFAULT_CONSTRAINTS:
            return model.basis(constraints)  # kept on disk, too
        # A file for every number that somebody tries would fill the disk.
        weight = get_output_matrix(model.model, model.info.name)
        make = partial(Basis.from_matrix, weight, constraints)
        return _keep(self._bases, constraints, make, MOST_CONSTRAINTS)

    def distribution(self, token_ids: tuple[int, ...]) -> FloatArray:
        """The distribution after these tokens, [v]."""
        from harness.explore.next_token import next_distribution

        make = partial(next_distribution, self.language_model, token_ids)
        return _keep(self._distributions, token_ids, make, _MOST_DISTRIBUTIONS)


class SharedModel:
    """The model of a server."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._questions: queue.Queue[tuple[Future[Any], Callable[[LoadedModel], Any]]] = queue.Queue(
            MOST_WAITING
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._doing = ""
        self._loaded: LoadedModel | None = None
        self._problem = ""

    def load(self) -> ModelState:
        """Begin to load the model, if nobody has yet, and say how far that is."""
        with self._lock:
            if self._thread is None:
                self._began, self._doing = time.monotonic(), "importing libraries"
                # Ctrl-C need not wait for it.
                self._thread = threading.Thread(target=self._work, name="model", daemon=True)
                self._thread.start()
        return self.state()

    def state(self) -> ModelState:
        """How far loading is."""
        if self._problem:
            return ModelState(self.name, False, self.name, self._problem)
        if self._loaded:
            weights = self._loaded.language_model.info.weight_fingerprint
            return ModelState(self.name, True, self.name, "", self._loaded.default_constraints, weights)
        seconds = int(time.monotonic() - self._began) if self._thread else 0
        return ModelState(self.name, False, f"Loading {self.name}: {self._doing}, {seconds} s")

    async def ask(self, question: Callable[[LoadedModel], _Value]) -> _Value:
        """The answer of the model to a question, when its turn has come."""
        self.load()
        self._check()
        future: Future[_Value] = Future()
        try:
            self._questions.put_nowait((future, question))
        except queue.Full:
            raise ViewError(
                f"the model answers one question at a time, and {MOST_WAITING} are waiting. Try again in a "
                "few seconds.",
                HTTPStatus.SERVICE_UNAVAILABLE,
            ) from None
        return await asyncio.wrap_future(future)

    def _check(self) -> None:
        if self._problem:
            raise ViewError(self._problem, HTTPStatus.SERVICE_UNAVAILABLE)

    def _work(self) -> None:
        try:
            self._loaded = self._read()
        except BatError as error:
            self._problem = sentence_of(error)
        except Exception as error:
            self._problem = f"The model {self.name!r} cannot be loaded: {type(error).__name__}: {error}"
        while True:
            future, question = self._questions.get()
            if not future.set_running_or_notify_cancel():
                continue  # the visitor has left
            try:
                self._check()
                assert self._loaded is not None
                future.set_result(question(self._loaded))
            except Exception as error:
                future.set_exception(error)

    def _read(self) -> LoadedModel:
        from workers import models

        self._doing = "reading its weights"
        loaded = LoadedModel(models.load(self.name))
        self._doing = "preparing the solver" if is_compiled(EntryPoint.PROGRAM) else "compiling the solver"
        _prepare_solver()
        return loaded


def _prepare_solver() -> None:
    """Solve a small program: compiling takes a minute, and questions have seconds."""
    import bat
    from bat.context_thresholds import context_thresholds

    weight = np.random.default_rng(0).normal(size=(64, 4))
    context_thresholds(bat.Basis.from_matrix(weight, 2), bat.softmax(weight[:, :1].T)[0], np.arange(8))


def _keep(kept: OrderedDict[Any, _Value], name: Any, make: Callable[[], _Value], most: int) -> _Value:
    """A value that is kept, or made now; the one not used for longest gives way."""
    if name not in kept:
        kept[name] = make()
        while len(kept) > most:
            kept.popitem(last=False)
    kept.move_to_end(name)
    return kept[name]
