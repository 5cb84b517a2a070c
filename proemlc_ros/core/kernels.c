/* Copyright 2026 The proemlc_ros Authors
   SPDX-License-Identifier: Apache-2.0

   What a prediction spends its time on.

   Distances: sums of absolute differences between rows and centres, eight features at a time, and
   of rows to each other; asinh of features. Written with the vector types of
   GCC and Clang, which become AVX-512, AVX2, SSE2 or NEON; on x86-64 the best that the processor
   has is chosen at run time. Whatever it is, and however many rows are given at once, the same
   eight partial sums are added in the same order: the same bits.

   Decisions: probabilities of labels, and the set of them with the greatest expected F1.

   compiled.py, calibration.py and decision.py do the same in NumPy and SciPy where this was not
   built. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

/* ----- distances ----- */

/* Two vectors of four: GCC keeps a longer one in memory where it does not fit a register. */
#define LANES 4
#define FEATURES (2 * LANES)
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
    const bits_t magnitude = {NO_SIGN, NO_SIGN, NO_SIGN, NO_SIGN};
    const Py_ssize_t width = job->width, whole = width - width % FEATURES;
    const double *rows = job->rows + row * width, *centres = job->centres + centre * width;
    lanes_t low[4][4], high[4][4];
    for (int i = 0; i < row_count; i++)
        for (int j = 0; j < centre_count; j++)
            low[i][j] = high[i][j] = (lanes_t){0};
    for (Py_ssize_t k = 0; k < whole; k += FEATURES)
        for (int j = 0; j < centre_count; j++) {
            const loaded_t *place = (const loaded_t *)(centres + j * width + k);
            for (int i = 0; i < row_count; i++) {
                const loaded_t *value = (const loaded_t *)(rows + i * width + k);
                low[i][j] += (lanes_t)((bits_t)(value[0] - place[0]) & magnitude);
                high[i][j] += (lanes_t)((bits_t)(value[1] - place[1]) & magnitude);
            }
        }
    for (int i = 0; i < row_count; i++)
        for (int j = 0; j < centre_count; j++) {
            lanes_t s = low[i][j] + high[i][j];
            double total = (s[0] + s[2]) + (s[1] + s[3]);
            for (Py_ssize_t k = whole; k < width; k++)
                total += __builtin_fabs(rows[i * width + k] - centres[j * width + k]);
            job->out[(row + i) * job->stride + centre + j] = total;
        }
}

/* Rows that stay in the cache while the centres pass. */
#define TOGETHER 16

INLINE Py_ssize_t smaller(Py_ssize_t one, Py_ssize_t other) { return one < other ? one : other; }

INLINE void all_tiles(const struct job *job)
{
    const Py_ssize_t fours = job->count - job->count % 4;
    for (Py_ssize_t start = 0; start < fours; start += TOGETHER)
        for (Py_ssize_t j = 0; j < job->neurons; j++)
            for (Py_ssize_t i = start; i < smaller(start + TOGETHER, fours); i += 4)
                tile(job, i, j, 4, 1);
    for (Py_ssize_t i = fours; i < job->count; i++) {
        Py_ssize_t j = 0;
        for (; j + 4 <= job->neurons; j += 4)
            tile(job, i, j, 1, 4);
        for (; j < job->neurons; j++)
            tile(job, i, j, 1, 1);
    }
}

/* Rows to each other: what is above the diagonal is found below it as well. */
INLINE void mutual_tiles(const struct job *job)
{
    const Py_ssize_t fours = job->count - job->count % 4;
    for (Py_ssize_t start = 0; start < job->count; start += TOGETHER)
        for (Py_ssize_t j = start; j < job->count; j++) {
            const Py_ssize_t stop = smaller(start + TOGETHER, j + 1);
            Py_ssize_t i = start;
            for (; i < smaller(stop, fours); i += 4)
                tile(job, i, j, 4, 1);
            for (; i < stop; i++)
                tile(job, i, j, 1, 1);
            for (i = start; i < stop; i++)
                job->out[j * job->stride + i] = job->out[i * job->stride + j];
        }
}

/* fdlibm's log1p, of what makes it asinh, without branches, so that it becomes vectors. */
INLINE double asinh_of(double value)
{
    const double size = __builtin_fabs(value), root = __builtin_sqrt(size * size + 1.0);
    const int large = size > 1e8; /* asinh is log(2 size) there */
    const double more = large ? size : size + size * size / (1.0 + root);
    const double whole = large ? size : 1.0 + more;
    /* What rounding has taken from the sum. */
    const double lost = large ? 0.0 : (more >= 1.0 ? 1.0 - (whole - more) : more - (whole - 1.0));
    long long bits, exponent;
    memcpy(&bits, &whole, sizeof bits);
    /* whole = 2^power (1 + f), with 1 + f between the roots of 0.5 and 2. */
    bits += 0x3ff0000000000000LL - 0x3fe6a09e00000000LL;
    exponent = ((bits >> 52) - 1023) | 0x4330000000000000LL;
    bits = (bits & 0xfffffffffffffLL) + 0x3fe6a09e00000000LL;
    double f, power;
    memcpy(&f, &bits, sizeof f);
    memcpy(&power, &exponent, sizeof power);
    f -= 1.0;
    power -= 4503599627370496.0; /* 2^52, to which the exponent was added as bits */
    const double half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    const double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 +
                        w * 1.531383769920937332e-01));
    const double odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 +
                       w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double found = s * (half + (even + odd)) +
                         (power * 1.90821492927058770002e-10 + lost / whole) - half + f +
                         power * 6.93147180369123816490e-01 +
                         (large ? 0.69314718055994530942 : 0.0);
    /* Infinite and undefined values stay what they are. */
    return size <= 1.7976931348623157e308 ? __builtin_copysign(found, value) : value;
}

INLINE void all_asinh(const struct job *job)
{
    for (Py_ssize_t k = 0; k < job->count; k++)
        job->out[k] = asinh_of(job->out[k]);
}

/* Each of them for each kind of processor. */
typedef void kernel_t(const struct job *);
enum kernel { DIRECT, MUTUAL, ASINH, KERNELS };

#define KERNELS_FOR(name, target)                                                        \
    target static void direct_##name(const struct job *job) { all_tiles(job); }          \
    target static void mutual_##name(const struct job *job) { mutual_tiles(job); }       \
    target static void asinh_##name(const struct job *job) { all_asinh(job); }           \
    static kernel_t *const name[KERNELS] = {direct_##name, mutual_##name, asinh_##name};

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
                      rows.shape[1], out.strides[0] / (Py_ssize_t)sizeof(double)};
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
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "expected rows and out, got %zd arguments", count);
    if (!take(arguments[0], &rows, 0))
        return NULL;
    if (!take(arguments[1], &out, PyBUF_WRITABLE))
        goto release_rows;
    struct job job = {rows.buf, rows.buf, out.buf, rows.shape[0], rows.shape[0], rows.shape[1],
                      out.strides[0] / (Py_ssize_t)sizeof(double)};
    if (out.shape[0] != job.count || out.shape[1] != job.count) {
        PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
    } else {
        run(MUTUAL, &job, (double)job.count * (double)job.count * (double)job.width);
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&out);
release_rows:
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *inverse_sinh(PyObject *module, PyObject *argument)
{
    (void)module;
    Py_buffer values;
    if (!take(argument, &values, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS))
        return NULL;
    const Py_ssize_t count = values.shape[0] * values.shape[1];
    struct job job = {NULL, NULL, values.buf, count, 0, 0, 0};
    run(ASINH, &job, (double)count * 16.0);
    PyBuffer_Release(&values);
    Py_RETURN_NONE;
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
    if (count != 7)
        return PyErr_Format(PyExc_TypeError, "expected seven arguments, got %zd", count);
    const double gamma = PyFloat_AsDouble(arguments[4]);
    const int curved = PyObject_IsTrue(arguments[6]);
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
                          centres.shape[0]};
        struct job curve = {NULL, NULL, scaled, centres.shape[1], 0, 0, 0};
        for (Py_ssize_t k = 0; k < job.width; k++)
            scaled[k] = (vector[k] - shift[k]) * factor[k];
        if (curved)
            best[ASINH](&curve);
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

/* ----- growth ----- */

/* Bordered inverse: M + factor g g^T beside -factor g and factor, of the lower triangle, whose
   columns move up in the same memory. The last one goes first, so that none is overwritten. */
static void border_columns(double *store, Py_ssize_t size, Py_ssize_t place, const double *gain,
                           double factor, double *column)
{
    for (Py_ssize_t j = size - 1; j >= 0; j--) {
        const double *old = store + j * size;
        double *moved = store + (j + (j >= place)) * (size + 1);
        const double share = factor * gain[j];
        for (Py_ssize_t i = j; i < size; i++)
            column[i] = old[i] + share * gain[i];
        const Py_ssize_t before = j < place ? place : j, above = j + (j >= place);
        memset(moved, 0, (size_t)above * sizeof(double));
        memcpy(moved + j, column + j, (size_t)(before - j) * sizeof(double));
        memcpy(moved + before + 1, column + before, (size_t)(size - before) * sizeof(double));
        moved[before] = j < place ? -share : 0.0;
    }
    double *own = store + place * (size + 1);
    memset(own, 0, (size_t)place * sizeof(double));
    own[place] = factor;
    for (Py_ssize_t i = place; i < size; i++)
        own[i + 1] = -factor * gain[i];
}

static PyObject *border(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Py_buffer store, gain;
    if (count != 4)
        return PyErr_Format(PyExc_TypeError, "expected four arguments, got %zd", count);
    const Py_ssize_t place = PyLong_AsSsize_t(arguments[1]);
    const double factor = PyFloat_AsDouble(arguments[3]);
    if (PyErr_Occurred() || !take_vector(arguments[0], &store, -1, PyBUF_WRITABLE))
        return NULL;
    PyObject *result = NULL;
    if (take_vector(arguments[2], &gain, -1, 0)) {
        const Py_ssize_t size = gain.shape[0];
        double *column = PyMem_RawMalloc((size_t)size * sizeof(double) + 1);
        if (place < 0 || place > size || store.shape[0] < (size + 1) * (size + 1)) {
            PyErr_SetString(PyExc_ValueError, "the shapes do not fit together");
        } else if (!column) {
            PyErr_NoMemory();
        } else {
            border_columns(store.buf, size, place, gain.buf, factor, column);
            result = Py_NewRef(Py_None);
        }
        PyMem_RawFree(column);
        PyBuffer_Release(&gain);
    }
    PyBuffer_Release(&store);
    return result;
}

/* ----- decisions ----- */

#define CANDIDATES 48
#define LEAST 0.004
#define SURE 1e-12
/* Relative difference below which two gains count as equal. */
#define SAME 1e-12

/* Ten nodes of Gauss and Legendre in three vectors of four, the last two without weight. */
#define NODES 4
#define NODE_VECTORS 3
typedef double nodes_t __attribute__((vector_size(NODES * sizeof(double))));

static const nodes_t POINTS[NODE_VECTORS] = {
    {0.013046735741414128, 0.06746831665550773, 0.16029521585048778, 0.2833023029353764},
    {0.4255628305091844, 0.5744371694908156, 0.7166976970646236, 0.8397047841495122},
    {0.9325316833444923, 0.9869532642585859, 1.0, 1.0}};
static const nodes_t WEIGHTS[NODE_VECTORS] = {
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
    nodes_t product[NODE_VECTORS], shares[NODE_VECTORS], powers[NODE_VECTORS];
    double nothing = exp(-found->rest);
    for (int v = 0; v < NODE_VECTORS; v++) {
        for (int i = 0; i < NODES; i++)
            product[v][i] = exp(-found->rest * (1.0 - POINTS[v][i]));
        shares[v] = (nodes_t){0};
        powers[v] = WEIGHTS[v];
    }
    for (int place = 0; place < found->count; place++) {
        for (int v = 0; v < NODE_VECTORS; v++)
            product[v] *= 1.0 - found->values[place] * (1.0 - POINTS[v]);
        nothing *= 1.0 - found->values[place];
    }
    for (int place = 0; place < found->count; place++) {
        nodes_t sum = {0};
        for (int v = 0; v < NODE_VECTORS; v++) {
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

static int take_buffer(PyObject *argument, Py_buffer *view, int dimensions, const char *format,
                       int flags)
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
        if (!take_buffer(arguments[taken], views + taken, 1, "d", taken == 3 ? PyBUF_WRITABLE : 0))
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
    if (PyErr_Occurred() || !take_buffer(arguments[0], &values, 1, "f", PyBUF_WRITABLE))
        return NULL;
    if (!take_buffer(arguments[1], &chosen, 1, "?", 0))
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
    if (!take_rule(arguments + 1, &rule) || !take_buffer(arguments[0], &view, 1, "d", 0))
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
    if (!take_rule(arguments + 1, &rule) || !take_buffer(arguments[0], &view, 2, "d", 0))
        return NULL;
    if (!take_buffer(arguments[4], &out, 2, "?", PyBUF_WRITABLE))
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
        if (!take_buffer(arguments[taken], views + taken, DIMENSIONS[taken], FORMATS[taken],
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
    {"absolute_differences", (PyCFunction)(void (*)(void))absolute_differences, METH_FASTCALL,
     "absolute_differences(rows, centres, out)\n--\n\n"
     "Put the sums of absolute differences (n, neurons) of rows to centres into out."},
    {"mutual_differences", (PyCFunction)(void (*)(void))mutual_differences, METH_FASTCALL,
     "mutual_differences(rows, out)\n--\n\n"
     "Put the differences of rows to each other into out."},
    {"inverse_sinh", inverse_sinh, METH_O,
     "inverse_sinh(values)\n--\n\nReplace the values of a matrix by their asinh."},
    {"negative_answers", (PyCFunction)(void (*)(void))negative_answers, METH_FASTCALL,
     "negative_answers(vector, shift, factor, centres, gamma, out, curved)\n--\n\n"
     "Put -gamma times the distances of a scaled vector to the centres into the start of out."},
    {"border", (PyCFunction)(void (*)(void))border, METH_FASTCALL,
     "border(store, place, gain, factor)\n--\n\n"
     "Give the lower triangle of an inverse one more row and column, in its memory."},
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
    PyModuleDef_HEAD_INIT, "_kernels", "Distances and decisions, compiled.", -1, METHODS,
    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void)
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
