/* Copyright 2026 The proemlc_ros Authors
   SPDX-License-Identifier: Apache-2.0

   The logistic curves of labels, fitted to left-out scores. calibration.py explains it, and does
   the same in NumPy where this was not built. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

#define BINS 80
#define LIMIT 2.0
#define ROUNDS 8

struct curve {
    double slope, offset;
};

/* How often scores of one bin came, weighted, and how often with the label. */
struct bins {
    double positive[BINS], total[BINS];
};

static double centre(int bin) { return (bin + 0.5) * (2.0 * LIMIT / BINS) - LIMIT; }

/* In float32, as in NumPy, so that a score at an edge falls into the same bin. */
static int bin_of(double score)
{
    const float place = ((float)score + (float)LIMIT) * (float)(BINS / (2.0 * LIMIT));
    if (!(place > 0.0f))
        return 0;
    return place < (float)(BINS - 1) ? (int)place : BINS - 1;
}

static double limited(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Returns the curve of greatest posterior probability, by Newton's method. */
static struct curve newton(const struct bins *bins, struct curve prior, struct curve precision)
{
    struct curve found = prior;
    for (int round = 0; round < ROUNDS; round++) {
        double down[2] = {0.0, 0.0}, curves[3] = {0.0, 0.0, 0.0};
        for (int bin = 0; bin < BINS; bin++) {
            const double total = bins->total[bin];
            if (total == 0.0)
                continue; /* and none that shows the label: nothing is added */
            const double at = centre(bin);
            const double chance = 1.0 / (1.0 + exp(-(found.slope * at + found.offset)));
            const double error = total * chance - bins->positive[bin];
            const double curve = total * (chance * (1.0 - chance));
            down[0] += error * at;
            down[1] += error;
            curves[0] += curve * (at * at);
            curves[1] += curve * at;
            curves[2] += curve;
        }
        down[0] += precision.slope * (found.slope - prior.slope);
        down[1] += precision.offset * (found.offset - prior.offset);
        const double a = curves[0] + precision.slope, b = curves[1];
        const double c = curves[2] + precision.offset, determinant = a * c - b * b;
        found.slope -= limited((c * down[0] - b * down[1]) / determinant, -4.0, 4.0);
        found.slope = limited(found.slope, 0.5, 50.0);
        found.offset -= limited((a * down[1] - b * down[0]) / determinant, -4.0, 4.0);
    }
    return found;
}

struct evidence {
    const double *scores, *weights;
    const signed char *targets;
    const long long *counts;
    Py_ssize_t samples, labels;
};

/* Counts the scores of a label; returns the weight of the samples that lack it. */
static double count_label(const struct evidence *all, Py_ssize_t label, struct bins *bins)
{
    double lacking = 0.0;
    memset(bins, 0, sizeof(*bins));
    for (Py_ssize_t sample = 0; sample < all->samples; sample++) {
        const Py_ssize_t place = sample * all->labels + label;
        const int target = all->targets[place];
        if (target < 0)
            lacking += all->weights[sample];
        if (target == 0 || all->counts[label] <= 1)
            continue;
        const int bin = bin_of(all->scores[place]);
        bins->total[bin] += all->weights[sample];
        if (target > 0)
            bins->positive[bin] += all->weights[sample];
    }
    return lacking;
}

static int take(PyObject *argument, Py_buffer *view, int dimensions, const char *formats,
                int flags)
{
    if (PyObject_GetBuffer(argument, view, flags | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS))
        return 0;
    if (view->ndim == dimensions && strlen(view->format) == 1 && strchr(formats, *view->format))
        return 1;
    PyErr_SetString(PyExc_ValueError, "expected C-ordered doubles, bytes and 64-bit integers");
    PyBuffer_Release(view);
    return 0;
}

static int read_curve(PyObject *pair, struct curve *curve)
{
    return PyArg_ParseTuple(pair, "dd", &curve->slope, &curve->offset);
}

static int fit_all(const struct evidence *all, const struct curve *settings, double *out,
                   struct curve *common)
{
    struct bins *bins = PyMem_RawCalloc((size_t)all->labels + 1, sizeof(struct bins));
    if (!bins)
        return 0;
    struct bins *sum = bins + all->labels;
    for (Py_ssize_t label = 0; label < all->labels; label++) {
        out[2 * all->labels + label] = count_label(all, label, bins + label);
        for (int bin = 0; bin < BINS; bin++) {
            sum->positive[bin] += bins[label].positive[bin];
            sum->total[bin] += bins[label].total[bin];
        }
    }
    *common = newton(sum, settings[0], settings[1]);
    for (Py_ssize_t label = 0; label < all->labels; label++) {
        const struct curve own = newton(bins + label, *common, settings[2]);
        out[label] = own.slope;
        out[all->labels + label] = own.offset;
    }
    PyMem_RawFree(bins);
    return 1;
}

static PyObject *fit_curves(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    static const char *FORMATS[5] = {"d", "b", "d", "lq", "d"};
    static const int DIMENSIONS[5] = {2, 2, 1, 1, 2};
    struct curve settings[3], common = {0.0, 0.0};
    Py_buffer views[5];
    int taken = 0, done = 0;
    if (count != 8)
        return PyErr_Format(PyExc_TypeError, "expected eight arguments, got %zd", count);
    for (int curve = 0; curve < 3; curve++)
        if (!PyTuple_Check(arguments[5 + curve]) ||
            !read_curve(arguments[5 + curve], settings + curve))
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected pairs");
    for (; taken < 5; taken++)
        if (!take(arguments[taken], views + taken, DIMENSIONS[taken], FORMATS[taken],
                  taken == 4 ? PyBUF_WRITABLE : 0))
            break;
    if (taken == 5) {
        const struct evidence all = {views[0].buf, views[2].buf, views[1].buf, views[3].buf,
                                     views[0].shape[0], views[0].shape[1]};
        if (views[1].shape[0] != all.samples || views[1].shape[1] != all.labels ||
            views[2].shape[0] != all.samples || views[3].shape[0] != all.labels ||
            views[3].itemsize != sizeof(long long) || views[4].shape[0] != 3 ||
            views[4].shape[1] != all.labels) {
            PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
        } else {
            Py_BEGIN_ALLOW_THREADS
            done = fit_all(&all, settings, views[4].buf, &common);
            Py_END_ALLOW_THREADS
            if (!done)
                PyErr_NoMemory();
        }
    }
    for (int view = 0; view < taken; view++)
        PyBuffer_Release(views + view);
    return done ? Py_BuildValue("(dd)", common.slope, common.offset) : NULL;
}

static PyMethodDef METHODS[] = {
    {"fit_curves", (PyCFunction)(void (*)(void))fit_curves, METH_FASTCALL,
     "fit_curves(scores, targets, weights, counts, out, prior, precision, label_precision)\n--\n\n"
     "Put slopes, offsets and the weight of samples that lack each label into the rows of out;\n"
     "return slope and offset of the common curve."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_curves", "Logistic curves of labels, compiled.", -1, METHODS,
    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__curves(void) { return PyModule_Create(&MODULE); }
