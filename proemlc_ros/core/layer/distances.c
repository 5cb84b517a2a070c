/* Copyright 2026 The proemlc_ros Authors
   SPDX-License-Identifier: Apache-2.0

   Sums of absolute differences between rows and centres, eight features at a time.

   Written with the vector types of GCC and Clang, which become AVX-512, AVX2, SSE2 or NEON; on
   x86-64 the best that the processor has is chosen at run time. Whatever it is, and however many
   rows are given at once, the same eight partial sums are added in the same order: the same bits.
   radial.py does the same with SciPy where this was not built. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define LANES 8
typedef double lanes_t __attribute__((vector_size(LANES * sizeof(double))));
typedef long long bits_t __attribute__((vector_size(LANES * sizeof(long long))));
/* As they lie in memory, at any place that a double may have. */
typedef double loaded_t __attribute__((vector_size(LANES * sizeof(double)), aligned(8)));

#define INLINE static inline __attribute__((always_inline))
#define NO_SIGN ~(1LL << 63)
/* Work from which it pays to let other threads run. */
#define LONG 100000

struct job {
    const double *rows, *centres;
    double *out;
    Py_ssize_t count, neurons, width, stride;
};

/* The counts are constants where it is called, so that the sums stay in registers. */
INLINE void tile(const struct job *job, Py_ssize_t row, Py_ssize_t centre, int row_count,
                 int centre_count)
{
    const bits_t magnitude = {NO_SIGN, NO_SIGN, NO_SIGN, NO_SIGN,
                              NO_SIGN, NO_SIGN, NO_SIGN, NO_SIGN};
    const Py_ssize_t width = job->width, whole = width - width % LANES;
    const double *rows = job->rows + row * width, *centres = job->centres + centre * width;
    lanes_t sums[4][4];
    for (int i = 0; i < row_count; i++)
        for (int j = 0; j < centre_count; j++)
            sums[i][j] = (lanes_t){0};
    for (Py_ssize_t k = 0; k < whole; k += LANES)
        for (int j = 0; j < centre_count; j++) {
            lanes_t place = *(const loaded_t *)(centres + j * width + k);
            for (int i = 0; i < row_count; i++) {
                lanes_t difference = *(const loaded_t *)(rows + i * width + k) - place;
                sums[i][j] += (lanes_t)((bits_t)difference & magnitude);
            }
        }
    for (int i = 0; i < row_count; i++)
        for (int j = 0; j < centre_count; j++) {
            lanes_t s = sums[i][j];
            double total = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
            for (Py_ssize_t k = whole; k < width; k++)
                total += __builtin_fabs(rows[i * width + k] - centres[j * width + k]);
            job->out[(row + i) * job->stride + centre + j] = total;
        }
}

INLINE void all_tiles(const struct job *job)
{
    Py_ssize_t i = 0;
    for (; i + 4 <= job->count; i += 4)
        for (Py_ssize_t j = 0; j < job->neurons; j++)
            tile(job, i, j, 4, 1);
    for (; i < job->count; i++) {
        Py_ssize_t j = 0;
        for (; j + 4 <= job->neurons; j += 4)
            tile(job, i, j, 1, 4);
        for (; j < job->neurons; j++)
            tile(job, i, j, 1, 1);
    }
}

static void plain(const struct job *job) { all_tiles(job); }

#ifdef __x86_64__
__attribute__((target("avx2"))) static void with_avx2(const struct job *job) { all_tiles(job); }

__attribute__((target("avx512f"))) static void with_avx512(const struct job *job)
{
    all_tiles(job);
}
#endif

static void (*best)(const struct job *) = plain;

/* Returns whether an argument is a C-ordered matrix of doubles; rows of out may lie apart. */
static int take(PyObject *argument, Py_buffer *view, int flags)
{
    if (PyObject_GetBuffer(argument, view, flags | PyBUF_FORMAT | PyBUF_STRIDES))
        return 0;
    const Py_ssize_t item = sizeof(double);
    if (view->ndim == 2 && view->itemsize == item && strcmp(view->format, "d") == 0 &&
        view->strides[1] == item && view->strides[0] >= view->shape[1] * item &&
        view->strides[0] % item == 0 &&
        ((flags & PyBUF_WRITABLE) || view->strides[0] == view->shape[1] * item ||
         view->shape[0] == 1))
        return 1;
    PyErr_SetString(PyExc_ValueError, "expected C-ordered matrices of doubles");
    PyBuffer_Release(view);
    return 0;
}

static PyObject *absolute_differences(PyObject *module, PyObject *const *arguments,
                                      Py_ssize_t count)
{
    (void)module;
    Py_buffer rows, centres, out;
    PyObject *result = NULL;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "expected rows, centres and out");
        return NULL;
    }
    if (!take(arguments[0], &rows, 0))
        return NULL;
    if (!take(arguments[1], &centres, 0))
        goto release_rows;
    if (!take(arguments[2], &out, PyBUF_WRITABLE))
        goto release_centres;
    struct job job = {rows.buf, centres.buf, out.buf, rows.shape[0], centres.shape[0],
                      rows.shape[1], out.strides[0] / (Py_ssize_t)sizeof(double)};
    if (centres.shape[1] != job.width || out.shape[0] != job.count ||
        out.shape[1] != job.neurons) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        if ((double)job.count * (double)job.neurons * (double)job.width < LONG) {
            best(&job);
        } else {
            Py_BEGIN_ALLOW_THREADS
            best(&job);
            Py_END_ALLOW_THREADS
        }
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_centres:
    PyBuffer_Release(&centres);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

static PyMethodDef METHODS[] = {
    {"absolute_differences", (PyCFunction)(void (*)(void))absolute_differences, METH_FASTCALL,
     "absolute_differences(rows, centres, out)\n--\n\n"
     "Put the sums of absolute differences (n, neurons) of rows to centres into out."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_distances", "Distances to centres, compiled.", -1, METHODS,
    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__distances(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        best = with_avx512;
    else if (__builtin_cpu_supports("avx2"))
        best = with_avx2;
#endif
    return PyModule_Create(&MODULE);
}
