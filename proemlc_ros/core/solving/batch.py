# Copyright 2026 The proemlc_ros Authors
# SPDX-License-Identifier: Apache-2.0
"""Many rows at once: one factorisation instead of one step per block."""

from __future__ import annotations

import numpy as np

from proemlc_ros.core.solving.blas import Array, inverse, lapack, routines
from proemlc_ros.core.solving.recursive import RecursiveRidge


def add_sums(ridge: RecursiveRidge, gram: Array, target_sums: Array, first: bool) -> bool:
    """Learn rows at once by one factorisation: A = M^-1 + H^T H; no forgetting.

    A third of the products that blocks need, where the rows are many; in double precision.

    Args:
        ridge: is to learn them.
        gram: lower triangle of H^T H, which is changed.
        target_sums: H^T Y.
        first: nothing has been learnt, so that M^-1 is the ridge.

    Returns:
        Whether A could be factorised; nothing has changed where not.

    """
    if first:
        gram.flat[::ridge.size + 1] += ridge.ridge
    else:
        ridge.settle()
        try:
            before = inverse(ridge.matrix * ridge.scale)
        except np.linalg.LinAlgError:
            return False
        gram += before
        target_sums = target_sums + routines('float64').symm(
            1.0, before, ridge.beta.astype(np.float64), lower=1)
    factor, failed = lapack('potrf')(gram, lower=1, overwrite_a=1)
    if failed:
        return False
    beta, _ = lapack('potrs')(factor, target_sums, lower=1)
    inverted, _ = lapack('potri')(factor, lower=1, overwrite_c=1)
    ridge.matrix[:], ridge.scale, ridge.pending = np.tril(inverted), 1.0, 0
    ridge.beta[:] = beta
    return True
