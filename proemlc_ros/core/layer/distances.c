/* Copyright 2026 The proemlc_ros Authors
   SPDX-License-Identifier: Apache-2.0

   Sums of absolute differences between rows and centres, eight features at a time; of rows to
   each other, and to their own values in another order.

   Written with the vector types of GCC and Clang, which become AVX-512, AVX2, SSE2 or NEON; on
   x86-64 the best that the processor has is chosen at run time. Whatever it is, and however many
   rows are given at once, the same eight partial sums are added in the same order: the same bits.
   laplacian.py does the same with SciPy where this was not built. */

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
    Py_ssize_t count, neurons, width, stride, start, stop;
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

/* Rows from start on to each other: what is above the diagonal is found below it as well. */
INLINE void mutual_tiles(const struct job *job)
{
    for (Py_ssize_t i = job->start; i < job->stop; i += 4) {
        const int count = job->stop - i < 4 ? (int)(job->stop - i) : 4;
        for (Py_ssize_t j = i; j < job->neurons; j++) {
            if (count == 4)
                tile(job, i, j, 4, 1);
            else
                for (int row = 0; row < count; row++)
                    tile(job, i + row, j, 1, 1);
            for (int row = 0; row < count; row++)
                job->out[j * job->stride + i + row] = job->out[(i + row) * job->stride + j];
        }
    }
}

/* Weighted differences of each row, which stands there twice, to itself moved by 1, 2, 3 ... */
INLINE void shifted_rows(const struct job *job)
{
    const bits_t magnitude = {NO_SIGN, NO_SIGN, NO_SIGN, NO_SIGN,
                              NO_SIGN, NO_SIGN, NO_SIGN, NO_SIGN};
    const Py_ssize_t width = job->width, whole = width - width % LANES;
    for (Py_ssize_t shift = 0; shift < job->stop; shift++)
        for (Py_ssize_t i = 0; i < job->count; i++) {
            const double *row = job->rows + i * 2 * width;
            const double *moved = row + (width - (shift + 1) % width) % width;
            lanes_t s = {0};
            for (Py_ssize_t k = 0; k < whole; k += LANES) {
                lanes_t difference = *(const loaded_t *)(moved + k) - *(const loaded_t *)(row + k);
                s += (lanes_t)((bits_t)difference & magnitude) *
                     *(const loaded_t *)(job->centres + k);
            }
            double total = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
            for (Py_ssize_t k = whole; k < width; k++)
                total += __builtin_fabs(moved[k] - row[k]) * job->centres[k];
            job->out[shift * job->stride + i] = total;
        }
}

/* Each of them for each kind of processor. */
typedef void kernel_t(const struct job *);
enum kernel { DIRECT, MUTUAL, SHIFTED, KERNELS };

#define KERNELS_FOR(name, target)                                                        \
    target static void direct_##name(const struct job *job) { all_tiles(job); }          \
    target static void mutual_##name(const struct job *job) { mutual_tiles(job); }       \
    target static void shifted_##name(const struct job *job) { shifted_rows(job); }      \
    static kernel_t *const name[KERNELS] = {direct_##name, mutual_##name, shifted_##name};

KERNELS_FOR(plain, )
#ifdef __x86_64__
KERNELS_FOR(avx2, __attribute__((target("avx2"))))
KERNELS_FOR(avx512, __attribute__((target("avx512f"))))
#endif

static kernel_t *const *best = plain;

static void run(enum kernel kernel, const struct job *job, double work)
{
    if (work < LONG) {
        best[kernel](job);
    } else {
        Py_BEGIN_ALLOW_THREADS
        best[kernel](job);
        Py_END_ALLOW_THREADS
    }
}

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
                      rows.shape[1], out.strides[0] / (Py_ssize_t)sizeof(double), 0, 0};
    if (centres.shape[1] != job.width || out.shape[0] != job.count ||
        out.shape[1] != job.neurons) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        run(DIRECT, &job, (double)job.count * (double)job.neurons * (double)job.width);
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_centres:
    PyBuffer_Release(&centres);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *mutual_differences(PyObject *module, PyObject *const *arguments,
                                    Py_ssize_t count)
{
    (void)module;
    Py_buffer rows, out;
    PyObject *result = NULL;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "expected four arguments, got %zd", count);
    const Py_ssize_t start = PyLong_AsSsize_t(arguments[2]), stop = PyLong_AsSsize_t(arguments[3]);
    if (PyErr_Occurred() || !take(arguments[0], &rows, 0))
        return NULL;
    if (!take(arguments[1], &out, PyBUF_WRITABLE))
        goto release_rows;
    struct job job = {rows.buf, rows.buf, out.buf, rows.shape[0], rows.shape[0], rows.shape[1],
                      out.strides[0] / (Py_ssize_t)sizeof(double), start, stop};
    if (out.shape[0] != job.count || out.shape[1] != job.count || start < 0 || stop > job.count) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        run(MUTUAL, &job, (double)(stop - start) * (double)job.count * (double)job.width);
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *shifted_differences(PyObject *module, PyObject *const *arguments,
                                     Py_ssize_t count)
{
    (void)module;
    Py_buffer rows, weights, out;
    PyObject *result = NULL;
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "expected three arguments, got %zd", count);
    if (!take(arguments[0], &rows, 0))
        return NULL;
    if (!take(arguments[1], &weights, 0))
        goto release_rows;
    if (!take(arguments[2], &out, PyBUF_WRITABLE))
        goto release_weights;
    struct job job = {rows.buf, weights.buf, out.buf, rows.shape[0], 1, rows.shape[1] / 2,
                      out.strides[0] / (Py_ssize_t)sizeof(double), 0, out.shape[0]};
    if (rows.shape[1] != 2 * job.width || !job.width || weights.shape[0] != 1 ||
        weights.shape[1] != job.width || out.shape[1] != job.count) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        run(SHIFTED, &job, (double)job.stop * (double)job.count * (double)job.width);
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_weights:
    PyBuffer_Release(&weights);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

/* Returns the doubles of a contiguous vector of that length; NULL: it is not one. */
static double *take_vector(PyObject *argument, Py_buffer *view, Py_ssize_t length, int flags)
{
    if (PyObject_GetBuffer(argument, view, flags | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS))
        return NULL;
    if (view->ndim == 1 && strcmp(view->format, "d") == 0 &&
        (length < 0 || view->shape[0] == length))
        return view->buf;
    PyErr_SetString(PyExc_ValueError, "expected vectors of doubles that fit together");
    PyBuffer_Release(view);
    return NULL;
}

static PyObject *negative_answers(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Py_buffer centres, views[4]; /* vector, shift, factor, out */
    int taken = 0, done = 0;
    if (count != 6)
        return PyErr_Format(PyExc_TypeError, "expected six arguments, got %zd", count);
    const double gamma = PyFloat_AsDouble(arguments[4]);
    if (PyErr_Occurred() || !take(arguments[3], &centres, 0))
        return NULL;
    for (; taken < 4; taken++)
        if (!take_vector(arguments[taken == 3 ? 5 : taken], views + taken,
                         taken == 3 ? -1 : centres.shape[1], taken == 3 ? PyBUF_WRITABLE : 0))
            break;
    double *scaled = taken == 4 ? PyMem_RawMalloc((size_t)centres.shape[1] * sizeof(double) + 1)
                                : NULL;
    if (taken == 4 && !scaled) {
        PyErr_NoMemory();
    } else if (taken == 4 && views[3].shape[0] < centres.shape[0]) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else if (taken == 4) {
        const double *vector = views[0].buf, *shift = views[1].buf, *factor = views[2].buf;
        double *out = views[3].buf;
        struct job job = {scaled, centres.buf, out, 1, centres.shape[0], centres.shape[1],
                          centres.shape[0], 0, 0};
        for (Py_ssize_t k = 0; k < job.width; k++)
            scaled[k] = (vector[k] - shift[k]) * factor[k];
        run(DIRECT, &job, (double)job.neurons * (double)job.width);
        for (Py_ssize_t j = 0; j < job.neurons; j++)
            out[j] *= -gamma;
        done = 1;
    }
    PyMem_RawFree(scaled);
    for (int view = 0; view < taken; view++)
        PyBuffer_Release(views + view);
    PyBuffer_Release(&centres);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef METHODS[] = {
    {"absolute_differences", (PyCFunction)(void (*)(void))absolute_differences, METH_FASTCALL,
     "absolute_differences(rows, centres, out)\n--\n\n"
     "Put the sums of absolute differences (n, neurons) of rows to centres into out."},
    {"mutual_differences", (PyCFunction)(void (*)(void))mutual_differences, METH_FASTCALL,
     "mutual_differences(rows, out, start, stop)\n--\n\n"
     "Put the differences of rows start to stop to all that follow into out, both ways."},
    {"shifted_differences", (PyCFunction)(void (*)(void))shifted_differences, METH_FASTCALL,
     "shifted_differences(twice, weights, out)\n--\n\n"
     "Put weighted differences of rows to themselves moved by 1, 2, 3 ... into the rows of out."},
    {"negative_answers", (PyCFunction)(void (*)(void))negative_answers, METH_FASTCALL,
     "negative_answers(vector, shift, factor, centres, gamma, out)\n--\n\n"
     "Scale a vector and put -gamma times its distances to the centres into the start of out."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_distances", "Distances to centres, compiled.", -1, METHODS,
    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__distances(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        best = avx512;
    else if (__builtin_cpu_supports("avx2"))
        best = avx2;
#endif
    return PyModule_Create(&MODULE);
}
