/* Copyright 2026 The proemlc_ros Authors
   SPDX-License-Identifier: Apache-2.0

   Probabilities of labels, and the set of them with the greatest expected F1. calibration.py and
   expected_f1.py explain both, and do the same in NumPy where this was not built. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

#define CANDIDATES 48
#define LEAST 0.004
#define SURE 1e-12
/* Relative difference below which two gains count as equal. */
#define SAME 1e-12

/* Ten nodes of Gauss and Legendre in three vectors of four, the last two without weight. */
#define LANES 4
#define VECTORS 3
typedef double lanes_t __attribute__((vector_size(LANES * sizeof(double))));

static const lanes_t POINTS[VECTORS] = {
    {0.013046735741414128, 0.06746831665550773, 0.16029521585048778, 0.2833023029353764},
    {0.4255628305091844, 0.5744371694908156, 0.7166976970646236, 0.8397047841495122},
    {0.9325316833444923, 0.9869532642585859, 1.0, 1.0}};
static const lanes_t WEIGHTS[VECTORS] = {
    {0.06667134430868814, 0.1494513491505804, 0.219086362515982, 0.2692667193099965},
    {0.2955242247147528, 0.2955242247147528, 0.2692667193099965, 0.219086362515982},
    {0.1494513491505804, 0.06667134430868814, 0.0, 0.0}};

struct rule {
    double empty, tolerance;
    int exclusive;
};

struct ranking {
    Py_ssize_t places[CANDIDATES];
    double values[CANDIDATES];
    int count;
    double rest; /* sum of the probabilities that are not ranked */
};

/* Ranks the labels that may be in the set, at least one; of equal ones the first comes first. */
static void rank(const double *chances, Py_ssize_t labels, struct ranking *found)
{
    double total = 0.0, ranked = 0.0;
    int count = 0;
    for (Py_ssize_t label = 0; label < labels; label++) {
        const double chance = chances[label];
        total += chance;
        if (count && (chance < LEAST || (count == CANDIDATES &&
                                         chance <= found->values[CANDIDATES - 1]))) {
            if (found->values[0] >= chance)
                continue;
        }
        if (count && found->values[0] < LEAST)
            count = 0; /* one below the least stays only while it is the best */
        int place = count < CANDIDATES ? count++ : CANDIDATES - 1;
        for (; place > 0 && found->values[place - 1] < chance; place--) {
            found->values[place] = found->values[place - 1];
            found->places[place] = found->places[place - 1];
        }
        found->values[place] = chance;
        found->places[place] = label;
    }
    for (int place = 0; place < count; place++)
        ranked += found->values[place];
    found->count = count;
    found->rest = total > ranked ? total - ranked : 0.0;
}

/* Puts the expected F1 of the first 1, 2, 3 ... labels into gains; returns the chance of none. */
static double expect(const struct ranking *found, double *gains)
{
    lanes_t product[VECTORS], shares[VECTORS], powers[VECTORS];
    double nothing = exp(-found->rest);
    for (int v = 0; v < VECTORS; v++) {
        for (int i = 0; i < LANES; i++)
            product[v][i] = exp(-found->rest * (1.0 - POINTS[v][i]));
        shares[v] = (lanes_t){0};
        powers[v] = WEIGHTS[v];
    }
    for (int place = 0; place < found->count; place++) {
        for (int v = 0; v < VECTORS; v++)
            product[v] *= 1.0 - found->values[place] * (1.0 - POINTS[v]);
        nothing *= 1.0 - found->values[place];
    }
    for (int place = 0; place < found->count; place++) {
        lanes_t sum = {0};
        for (int v = 0; v < VECTORS; v++) {
            shares[v] += found->values[place] / (1.0 - found->values[place] * (1.0 - POINTS[v]));
            powers[v] *= POINTS[v];
            sum += shares[v] * powers[v] * product[v];
        }
        gains[place] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return nothing;
}

/* The same where one label excludes the others: by odds, relative to no label. */
static double expect_one(const struct ranking *found, double *gains)
{
    double odds = 0.0;
    for (int place = 0; place < found->count; place++) {
        const double chance = found->values[place];
        odds += chance / (1.0 - chance > SURE ? 1.0 - chance : SURE);
        gains[place] = odds * (2.0 / (place + 2));
    }
    return 1.0;
}

/* What is expected of the first 1, 2, 3 ... ranked labels. */
struct gains {
    double of[CANDIDATES], most, nothing;
    int likely; /* the last that is likelier than not; -1: none */
};

/* Ranks the labels and weighs the sets; returns whether there is any to predict. */
static int weigh(const double *chances, Py_ssize_t labels, int exclusive, struct ranking *found,
                 struct gains *gains)
{
    rank(chances, labels, found);
    if (!found->count || !(found->values[0] > 0.0))
        return 0;
    gains->nothing = (exclusive ? expect_one : expect)(found, gains->of);
    gains->most = 0.0;
    gains->likely = -1;
    for (int place = 0; place < found->count; place++) {
        gains->most = gains->of[place] > gains->most ? gains->of[place] : gains->most;
        gains->likely += found->values[place] > 0.5;
    }
    return 1;
}

/* Returns how many of the ranked labels are predicted. */
static int pick(const struct gains *gains, int count, double empty, double tolerance)
{
    int first = -1, last = 0;
    const double enough = (1.0 - tolerance) * (1.0 - SAME) * gains->most;
    for (int place = 0; place < count; place++)
        if (gains->of[place] >= enough) {
            first = first < 0 ? place : first;
            last = place;
        }
    int best = gains->likely > first ? gains->likely : first;
    best = best < last ? best : last;
    return (1.0 + SAME) * gains->of[best] < empty * gains->nothing ? 0 : best + 1;
}

static int choose(const double *chances, Py_ssize_t labels, const struct rule *rule,
                  struct ranking *found)
{
    struct gains gains;
    return weigh(chances, labels, rule->exclusive, found, &gains)
               ? pick(&gains, found->count, rule->empty, rule->tolerance) : 0;
}

/* Whether a label that was not tried belongs to a set as large as it may be. */
static int joins(double chance, int size) { return size == CANDIDATES && chance > 0.5; }

static int take_rule(PyObject *const *arguments, struct rule *rule)
{
    rule->empty = PyFloat_AsDouble(arguments[0]);
    rule->exclusive = PyObject_IsTrue(arguments[1]);
    rule->tolerance = PyFloat_AsDouble(arguments[2]);
    return !PyErr_Occurred();
}

static int take(PyObject *argument, Py_buffer *view, int dimensions, const char *format, int flags)
{
    if (PyObject_GetBuffer(argument, view, flags | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS))
        return 0;
    if (view->ndim == dimensions && strcmp(view->format, format) == 0)
        return 1;
    PyErr_SetString(PyExc_ValueError, "expected C-ordered doubles, or floats, and a mask");
    PyBuffer_Release(view);
    return 0;
}

static PyObject *logistic(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Py_buffer views[4];
    int taken = 0, fits = 1;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "expected four arguments, got %zd", count);
    for (; taken < 4; taken++) {
        if (!take(arguments[taken], views + taken, 1, "d", taken == 3 ? PyBUF_WRITABLE : 0))
            break;
        fits &= views[taken].shape[0] == views[0].shape[0];
    }
    if (taken == 4 && !fits)
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    if (taken == 4 && fits) {
        const double *scores = views[0].buf, *slopes = views[1].buf, *offsets = views[2].buf;
        double *out = views[3].buf;
        for (Py_ssize_t label = 0; label < views[0].shape[0]; label++)
            out[label] = 0.5 * (1.0 + tanh(0.5 * slopes[label] * scores[label]
                                           + 0.5 * offsets[label]));
    }
    for (int view = 0; view < taken; view++)
        PyBuffer_Release(views + view);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* Returns a threshold above which exactly the chosen values are, after moving equal ones. */
static float separate(float *values, const char *chosen, Py_ssize_t labels, float threshold)
{
    float least = INFINITY, most = -INFINITY, level = threshold;
    Py_ssize_t count = 0;
    for (Py_ssize_t label = 0; label < labels; label++) {
        const float value = values[label];
        count += chosen[label];
        if (chosen[label])
            least = value < least ? value : least;
        else
            most = value > most ? value : most;
    }
    if (least > level && level >= most)
        return level;
    if (!count)
        return level > most ? level : most;
    level = most > -1e30f ? most : -1e30f;
    const float between = 0.5f * (level + least);
    if (most == -INFINITY)
        level = nextafterf(least, -INFINITY);
    else if (level < between && between < least)
        level = between;
    for (Py_ssize_t label = 0; label < labels; label++)
        if (chosen[label] && values[label] <= level)
            values[label] = nextafterf(level, INFINITY);
    return level;
}

static PyObject *explain(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Py_buffer values, chosen;
    PyObject *result = NULL;
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "expected three arguments, got %zd", count);
    const double threshold = PyFloat_AsDouble(arguments[2]);
    if (PyErr_Occurred() || !take(arguments[0], &values, 1, "f", PyBUF_WRITABLE))
        return NULL;
    if (!take(arguments[1], &chosen, 1, "?", 0))
        goto release;
    if (values.shape[0] != chosen.shape[0])
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    else
        result = PyFloat_FromDouble(
            separate(values.buf, chosen.buf, values.shape[0], (float)threshold));
    PyBuffer_Release(&chosen);
release:
    PyBuffer_Release(&values);
    return result;
}

static int append(PyObject *list, Py_ssize_t value)
{
    PyObject *number = PyLong_FromSsize_t(value);
    const int failed = !number || PyList_Append(list, number);
    Py_XDECREF(number);
    return !failed;
}

static PyObject *best_set(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    struct rule rule;
    struct ranking found;
    Py_buffer view;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "expected four arguments, got %zd", count);
    if (!take_rule(arguments + 1, &rule) || !take(arguments[0], &view, 1, "d", 0))
        return NULL;
    const double *chances = view.buf;
    const int size = choose(chances, view.shape[0], &rule, &found);
    PyObject *columns = PyList_New(0);
    int good = columns != NULL;
    for (int place = 0; good && place < size; place++)
        good = append(columns, found.places[place]);
    for (Py_ssize_t label = 0; good && size == CANDIDATES && label < view.shape[0]; label++) {
        int tried = 0;
        for (int place = 0; place < size; place++)
            tried |= found.places[place] == label;
        if (!tried && joins(chances[label], size))
            good = append(columns, label);
    }
    PyBuffer_Release(&view);
    if (!good)
        Py_CLEAR(columns);
    return columns;
}

static PyObject *best_sets(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    struct rule rule;
    struct ranking found;
    Py_buffer view, out;
    PyObject *result = NULL;
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "expected five arguments, got %zd", count);
    if (!take_rule(arguments + 1, &rule) || !take(arguments[0], &view, 2, "d", 0))
        return NULL;
    if (!take(arguments[4], &out, 2, "?", PyBUF_WRITABLE))
        goto release;
    if (out.shape[0] != view.shape[0] || out.shape[1] != view.shape[1]) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t row = 0; row < view.shape[0]; row++) {
            const double *chances = (const double *)view.buf + row * view.shape[1];
            char *chosen = (char *)out.buf + row * view.shape[1];
            const int size = choose(chances, view.shape[1], &rule, &found);
            for (Py_ssize_t label = 0; label < view.shape[1]; label++)
                chosen[label] = (char)joins(chances[label], size);
            for (int place = 0; place < size; place++)
                chosen[found.places[place]] = 1;
        }
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release:
    PyBuffer_Release(&view);
    return result;
}

/* Adds the F1 and the errors of one sample, for each tolerance. */
static void try_one(const double *chances, const char *shown, Py_ssize_t labels,
                    const struct rule *rule, double weight, const double *tolerances,
                    double *results, Py_ssize_t count)
{
    struct ranking found;
    struct gains gains;
    int present = 0;
    const int any = weigh(chances, labels, rule->exclusive, &found, &gains);
    for (Py_ssize_t label = 0; label < labels; label++)
        present += shown[label];
    for (Py_ssize_t turn = 0; turn < count; turn++) {
        const int size = any ? pick(&gains, found.count, rule->empty, tolerances[turn]) : 0;
        int hits = 0, chosen = size;
        for (int place = 0; place < size; place++)
            hits += shown[found.places[place]];
        if (size == CANDIDATES) {
            chosen = hits = 0;
            for (Py_ssize_t label = 0; label < labels; label++) {
                int named = joins(chances[label], size);
                for (int place = 0; place < size && !named; place++)
                    named = found.places[place] == label;
                chosen += named;
                hits += named && shown[label];
            }
        }
        const int sizes = chosen + present;
        results[turn] += weight * (sizes ? 2.0 * hits / sizes : 1.0);
        results[count + turn] += weight * (sizes - 2 * hits);
    }
}

static PyObject *try_tolerances(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    static const char *FORMATS[5] = {"d", "?", "d", "d", "d"};
    static const int DIMENSIONS[5] = {2, 2, 1, 1, 2};
    struct rule rule = {0.0, 0.0, 0};
    Py_buffer views[5];
    int taken = 0, done = 0;
    if (count != 7)
        return PyErr_Format(PyExc_TypeError, "expected seven arguments, got %zd", count);
    rule.empty = PyFloat_AsDouble(arguments[5]);
    rule.exclusive = PyObject_IsTrue(arguments[6]);
    if (PyErr_Occurred())
        return NULL;
    for (; taken < 5; taken++)
        if (!take(arguments[taken], views + taken, DIMENSIONS[taken], FORMATS[taken],
                  taken == 4 ? PyBUF_WRITABLE : 0))
            break;
    if (taken == 5) {
        const Py_ssize_t samples = views[0].shape[0], labels = views[0].shape[1];
        const Py_ssize_t turns = views[3].shape[0];
        if (views[1].shape[0] != samples || views[1].shape[1] != labels ||
            views[2].shape[0] != samples || views[4].shape[0] != 2 || views[4].shape[1] != turns) {
            PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
        } else {
            Py_BEGIN_ALLOW_THREADS
            memset(views[4].buf, 0, (size_t)views[4].len);
            for (Py_ssize_t row = 0; row < samples; row++)
                try_one((const double *)views[0].buf + row * labels,
                        (const char *)views[1].buf + row * labels, labels, &rule,
                        ((const double *)views[2].buf)[row], views[3].buf, views[4].buf, turns);
            Py_END_ALLOW_THREADS
            done = 1;
        }
    }
    for (int view = 0; view < taken; view++)
        PyBuffer_Release(views + view);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef METHODS[] = {
    {"best_set", (PyCFunction)(void (*)(void))best_set, METH_FASTCALL,
     "best_set(probabilities, empty, exclusive, tolerance)\n--\n\n"
     "Return the labels to predict for one sample, most probable first."},
    {"explain", (PyCFunction)(void (*)(void))explain, METH_FASTCALL,
     "explain(values, chosen, threshold)\n--\n\n"
     "Return a threshold above which the chosen values are, of which equal ones move."},
    {"logistic", (PyCFunction)(void (*)(void))logistic, METH_FASTCALL,
     "logistic(scores, slopes, offsets, out)\n--\n\n"
     "Put the probability of each label of one sample into out."},
    {"best_sets", (PyCFunction)(void (*)(void))best_sets, METH_FASTCALL,
     "best_sets(probabilities, empty, exclusive, tolerance, out)\n--\n\n"
     "Put into out which labels are predicted, for rows."},
    {"try_tolerances", (PyCFunction)(void (*)(void))try_tolerances, METH_FASTCALL,
     "try_tolerances(probabilities, shown, weights, tolerances, out, empty, exclusive)\n--\n\n"
     "Put the weighted sums of F1 and of errors with each tolerance into the two rows of out."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_decisions", "Probabilities and sets of labels, compiled.", -1, METHODS,
    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__decisions(void) { return PyModule_Create(&MODULE); }
