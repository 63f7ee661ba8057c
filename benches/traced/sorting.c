/* Threads that sort records by several criteria and keep them in trees: comparisons through function pointers, recursion, callbacks.

       sorting RECORDS THREADS */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct record { uint32_t key, group; uint64_t payload; };

struct tree { struct record *record; uint64_t priority; struct tree *left, *right; };

typedef int order(const struct record *, const struct record *);

/* What one thread does. */
struct job {
    uint64_t state;
    int count;
    struct record *records, *spare;
    struct tree *nodes;
    int used;
    uint64_t result;
};

static uint64_t next(struct job *job) {
    job->state ^= job->state >> 12, job->state ^= job->state << 25, job->state ^= job->state >> 27;
    return job->state * 0x2545f4914f6cdd1du;
}

/* Orders */

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int by_key(const struct record *a, const struct record *b) {
    return compare(a->key, b->key);
}

static int by_group(const struct record *a, const struct record *b) {
    int c = compare(a->group, b->group);
    return c ? c : by_key(a, b);
}

static int by_payload(const struct record *a, const struct record *b) {
    return -compare(a->payload, b->payload);
}

/* Sorting */

static void swap(struct record *a, struct record *b) {
    struct record c = *a;
    *a = *b, *b = c;
}

static void insertion_sort(struct record *r, int count, order *less) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && less(&r[j], &r[j - 1]) < 0; j--) swap(&r[j], &r[j - 1]);
}

static int partition(struct record *r, int count, order *less) {
    swap(&r[0], &r[count / 2]);
    int end = 0;
    for (int i = 1; i < count; i++)
        if (less(&r[i], &r[0]) < 0) swap(&r[++end], &r[i]);
    swap(&r[0], &r[end]);
    return end;
}

static void quick_sort(struct record *r, int count, order *less) {
    if (count <= 8) {
        insertion_sort(r, count, less);
        return;
    }
    int middle = partition(r, count, less);
    quick_sort(r, middle, less);
    quick_sort(r + middle + 1, count - middle - 1, less);
}

static void merge(struct record *r, int middle, int count, struct record *spare, order *less) {
    int a = 0, b = middle, n = 0;
    while (a < middle && b < count) spare[n++] = less(&r[b], &r[a]) < 0 ? r[b++] : r[a++];
    while (a < middle) spare[n++] = r[a++];
    for (int i = 0; i < n; i++) r[i] = spare[i];
}

static void merge_sort(struct record *r, int count, struct record *spare, order *less) {
    if (count < 2) return;
    merge_sort(r, count / 2, spare, less);
    merge_sort(r + count / 2, count - count / 2, spare, less);
    merge(r, count / 2, count, spare, less);
}

/* Trees, balanced by random priorities */

static struct tree *rotate_left(struct tree *node) {
    struct tree *right = node->right;
    node->right = right->left, right->left = node;
    return right;
}

static struct tree *rotate_right(struct tree *node) {
    struct tree *left = node->left;
    node->left = left->right, left->right = node;
    return left;
}

static struct tree *insert(struct job *job, struct tree *node, struct record *record, order *less) {
    if (!node) {
        node = &job->nodes[job->used++];
        *node = (struct tree){ record, next(job), NULL, NULL };
        return node;
    }
    if (less(record, node->record) < 0) {
        node->left = insert(job, node->left, record, less);
        return node->left->priority > node->priority ? rotate_right(node) : node;
    }
    node->right = insert(job, node->right, record, less);
    return node->right->priority > node->priority ? rotate_left(node) : node;
}

static const struct record *find(const struct tree *node, const struct record *record, order *less) {
    if (!node) return NULL;
    int c = less(record, node->record);
    return c == 0 ? node->record : find(c < 0 ? node->left : node->right, record, less);
}

static void mix(struct job *job, const struct record *record) {
    job->result = (job->result ^ record->payload) * 0x9e3779b97f4a7c15u;
}

static void visit(struct job *job, const struct tree *node, void (*each)(struct job *, const struct record *)) {
    if (!node) return;
    visit(job, node->left, each);
    each(job, node->record);
    visit(job, node->right, each);
}

static void fill(struct job *job) {
    for (int i = 0; i < job->count; i++) {
        uint64_t word = next(job);
        job->records[i] = (struct record){ word >> 32, word % 50, word };
    }
}

static void grow(struct job *job, order *less) {
    struct tree *root = NULL;
    job->used = 0;
    for (int i = 0; i < job->count / 4; i++) root = insert(job, root, &job->records[i], less);
    for (int i = 0; i < job->count; i += 2)
        if (find(root, &job->records[i], less)) mix(job, &job->records[i]);
    visit(job, root, mix);
}

static void *work(void *argument) {
    struct job *job = argument;
    fill(job);
    quick_sort(job->records, job->count, by_key);
    grow(job, by_payload);
    merge_sort(job->records, job->count, job->spare, by_group);
    grow(job, by_key);
    quick_sort(job->records, job->count, by_payload);
    for (int i = 0; i < job->count; i++) mix(job, &job->records[i]);
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 1000, threads = argc > 2 ? atoi(argv[2]) : 3;
    struct job *jobs = calloc(threads, sizeof *jobs);
    pthread_t *ids = calloc(threads, sizeof *ids);
    for (int i = 0; i < threads; i++) {
        jobs[i].state = i + 1, jobs[i].count = count;
        jobs[i].records = calloc(count, sizeof *jobs[i].records);
        jobs[i].spare = calloc(count, sizeof *jobs[i].spare);
        jobs[i].nodes = calloc(count, sizeof *jobs[i].nodes);
        if (pthread_create(&ids[i], NULL, work, &jobs[i])) abort();
    }
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    for (int i = 0; i < threads; i++) printf("%016llx\n", (unsigned long long)jobs[i].result);
}
