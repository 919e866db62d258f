"""What compiled code needs of the machine: a clock, and a counter that several threads take numbers from."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic as _intrinsic

from bat._compiling import njit

cgutils: Any = _cgutils  # untyped
intrinsic: Any = _intrinsic  # its own type takes no account of the first argument, which callers leave out
_MONOTONIC = int(time.CLOCK_MONOTONIC)
llvm.add_symbol("bat_clock_gettime", ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value)


@intrinsic
def _read_clock(typing_context, clock, out):  # type: ignore[no-untyped-def]
    """clock_gettime: fills ``out`` with seconds and nanoseconds."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        integer = ir.IntType(32)
        function_type = ir.FunctionType(integer, [integer, cgutils.voidptr_t])
        function = cgutils.get_or_insert_function(builder.module, function_type, "bat_clock_gettime")
        number = context.cast(builder, arguments[0], signature.args[0], types.int32)
        return builder.call(function, [number, builder.bitcast(data, cgutils.voidptr_t)])

    return types.int32(clock, out), generate


@njit(nogil=True, cache=True)
def seconds():  # type: ignore[no-untyped-def]
    """A clock that never goes back; only differences mean anything."""
    now = np.zeros(2, np.int64)
    _read_clock(_MONOTONIC, now)
    return now[0] + 1e-9 * now[1]


@intrinsic
def take_number(typing_context, counter):  # type: ignore[no-untyped-def]
    """The number in ``counter`` (int64 [1]), which then goes up by one: no two threads get the same."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate
