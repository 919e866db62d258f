"""The few products and factorisations the solver takes from BLAS and LAPACK, callable from compiled code.

Each gives the bits that its numpy expression gives (scipy's, for the two that say so), because it calls the
same routine of the same library in the same way. A row that leaves compiled code and is finished in Python
therefore ends as if it had never left, and answers do not change with where they are computed. Where numpy's
own library cannot be found by name, scipy's copy of the same routines serves.

Integers are handed over as int64. A library built for 32-bit integers reads their lower half, which on
little-endian machines is what comes first.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import get_cython_function_address, intrinsic

from bat._compiling import njit

cgutils: Any = _cgutils  # untyped


def _numpy_address(name: str) -> int | None:
    """Where the routine is that numpy itself calls; its name depends on who built the library."""
    library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    for spelling in (f"scipy_{name}_64_", f"{name}_64_", f"{name}64_", f"scipy_{name}_", f"{name}_"):
        routine = getattr(library, spelling, None)
        if routine is not None:
            return ctypes.cast(routine, ctypes.c_void_p).value
    return None


def _routine(name: str, module: str, *, numpys: bool, result: types.Type = types.void) -> Any:
    """A routine to be called with a tuple of arrays, each handed over as the address of its first number.

    A tuple, because it keeps the arrays alive until the routine returns: compiled code frees an array after
    its last use, and taking an address is a use where calling with it is none. Compiled code finds the
    routine under a name of ours, so that it can be cached.
    """
    address = _numpy_address(name) if numpys else None
    if address is None:
        address = get_cython_function_address(f"scipy.linalg.{module}", name)
    symbol = f"bat_{'numpy' if numpys else 'scipy'}_{name}"
    llvm.add_symbol(symbol, address)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        arrays = zip(signature.args[0], cgutils.unpack_tuple(builder, arguments[0]), strict=True)
        data = [context.make_array(kind)(context, builder, array).data for kind, array in arrays]
        pointers = [builder.bitcast(pointer, cgutils.voidptr_t) for pointer in data]
        result_type = context.get_value_type(result) if result is not types.void else ir.VoidType()
        function_type = ir.FunctionType(result_type, [cgutils.voidptr_t] * len(pointers))
        function = cgutils.get_or_insert_function(builder.module, function_type, symbol)
        value = builder.call(function, pointers)
        return value if result is not types.void else context.get_dummy_value()

    @intrinsic
    def routine(typing_context, arrays):  # type: ignore[no-untyped-def]
        return result(arrays), generate

    return routine


_ddot = _routine("ddot", "cython_blas", numpys=True, result=types.float64)
_dgemv = _routine("dgemv", "cython_blas", numpys=True)
_dgemm = _routine("dgemm", "cython_blas", numpys=True)
_numpy_dgesv = _routine("dgesv", "cython_lapack", numpys=True)
_dgesv = _routine("dgesv", "cython_lapack", numpys=False)
_dgetrs = _routine("dgetrs", "cython_lapack", numpys=False)
_dpotrf = _routine("dpotrf", "cython_lapack", numpys=False)
_dtrtri = _routine("dtrtri", "cython_lapack", numpys=False)

_FLAGS = np.frombuffer(b"NTL", np.uint8)
_N, _T, _L = 0, 1, 2


@njit(nogil=True, cache=True)
def dot(x, y):  # type: ignore[no-untyped-def]
    """x @ y"""
    sizes = np.array([x.shape[0], x.strides[0] // 8, y.strides[0] // 8])
    return _ddot((sizes, x, sizes[1:], y, sizes[2:]))


@njit(nogil=True, cache=True)
def _gemv(flag, height, width, matrix, x, out):  # type: ignore[no-untyped-def]
    sizes = np.array([height, width, matrix.strides[0] // 8, 1])
    scales = np.array([1.0, 0.0])
    _dgemv((
        _FLAGS[flag:], sizes, sizes[1:], scales, matrix, sizes[2:],
        x, sizes[3:], scales[1:], out, sizes[3:],
    ))  # fmt: skip


@njit(nogil=True, cache=True)
def matrix_vector(matrix, x, out):  # type: ignore[no-untyped-def]
    """out = matrix @ x; the rows of the matrix may lie further apart than they are long."""
    height, width = matrix.shape
    if width == 0:
        out[:] = 0.0
    elif height == 1:
        out[0] = dot(matrix[0], x)
    else:
        _gemv(_T, width, height, matrix, x, out)


@njit(nogil=True, cache=True)
def vector_matrix(x, matrix, out):  # type: ignore[no-untyped-def]
    """out = x @ matrix"""
    height, width = matrix.shape
    if width == 1:
        out[0] = dot(x, matrix[:, 0])
    elif width > 1:
        _gemv(_N, width, height, matrix, x, out)


@njit(nogil=True, cache=True)
def times_transpose(first, second, out):  # type: ignore[no-untyped-def]
    """out = first @ second.T for two different matrices of one shape [c, n], C-contiguous."""
    c, n = first.shape
    if n == 1:
        out[:] = first * second[:, 0]
    elif c == 1:
        out[0, 0] = dot(first[0], second[0])
    else:
        sizes, scales = np.array([c, n]), np.array([1.0, 0.0])
        _dgemm((
            _FLAGS[_T:], _FLAGS[_N:], sizes, sizes, sizes[1:], scales,
            second, sizes[1:], first, sizes[1:], scales[1:], out, sizes,
        ))  # fmt: skip


@njit(nogil=True, cache=True)
def inverse_transposed(matrix, out):  # type: ignore[no-untyped-def]
    """out = np.linalg.inv(matrix).T; False where it is singular."""
    c = matrix.shape[0]
    sizes, info = np.array([c]), np.zeros(1, np.int64)
    factors = matrix.T.copy()
    out[:] = np.eye(c)
    _numpy_dgesv((
        sizes, sizes, factors, sizes, np.empty(c, np.int64), out, sizes,
        info,
    ))  # fmt: skip
    return info[0] == 0


@njit(nogil=True, cache=True)
def inverse_cholesky(matrix, out):  # type: ignore[no-untyped-def]
    """The inverse of the lower Cholesky factor, by scipy's LAPACK; False where there is none."""
    c = matrix.shape[0]
    sizes, info = np.array([c]), np.zeros(1, np.int64)
    factor = matrix.T.copy()  # columns one after the other, as LAPACK expects
    _dpotrf((_FLAGS[_L:], sizes, factor, sizes, info))
    if info[0] != 0:
        return False
    _dtrtri((_FLAGS[_L:], _FLAGS[_N:], sizes, factor, sizes, info))
    for k in range(c):
        for m in range(c):
            out[k, m] = factor[m, k] if m <= k else 0.0
    return info[0] == 0


@njit(nogil=True, cache=True)
def solve_twice(system, right, solution):  # type: ignore[no-untyped-def]
    """Solve by scipy's LAPACK, and solve again for what was left over; False where it is singular."""
    r = system.shape[0]
    sizes, info = np.array([r, 1]), np.zeros(1, np.int64)
    factors, swaps = system.T.copy(), np.empty(r, np.int64)
    solution[:] = right
    _dgesv((sizes, sizes[1:], factors, sizes, swaps, solution, sizes, info))
    if info[0] != 0:
        return False
    further = np.empty(r)
    matrix_vector(system, solution, further)
    further[:] = right - further
    _dgetrs((
        _FLAGS[_N:], sizes, sizes[1:], factors, sizes, swaps, further,
        sizes, info,
    ))  # fmt: skip
    solution += further
    return True
