/* Writes formulas, parses them by recursive descent, simplifies the trees, and evaluates them: recursion of all depths, in four phases a formula.

       formulas COUNT */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { NUMBER, VARIABLE, SUM, DIFFERENCE, PRODUCT, NEGATION };

struct node {
    enum kind kind;
    int64_t value;
    struct node *left, *right;
};

/* Nodes of one formula. */
static struct node pool[1 << 16];
static int used;

static char text[1 << 16];
static int length, at;

static uint64_t state = 42;

static uint64_t below(uint64_t limit) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (state * 0x2545f4914f6cdd1du >> 33) % limit;
}

/* Writing */

static void put(char c) {
    text[length++] = c;
}

static void write_number(int64_t value) {
    if (value >= 10) write_number(value / 10);
    put('0' + value % 10);
}

static void write_sum(int depth);

static void write_factor(int depth) {
    switch (depth > 0 ? below(5) : below(2)) {
    case 0: write_number(below(1000)); break;
    case 1: put('a' + below(4)); break;
    case 2: put('-'), write_factor(depth - 1); break;
    default: put('('), write_sum(depth - 1), put(')');
    }
}

static void write_product(int depth) {
    write_factor(depth);
    while (below(3) == 0) put('*'), write_factor(depth);
}

static void write_sum(int depth) {
    write_product(depth);
    while (below(2) == 0) put(below(3) ? '+' : '-'), write_product(depth);
}

/* Parsing */

static struct node *make(enum kind kind, int64_t value, struct node *left, struct node *right) {
    if (used == sizeof pool / sizeof *pool) abort();
    struct node *node = &pool[used++];
    *node = (struct node){ kind, value, left, right };
    return node;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int accept(char c) {
    if (text[at] != c) return 0;
    at++;
    return 1;
}

static struct node *parse_sum(void);

static struct node *parse_number(void) {
    int64_t value = 0;
    while (is_digit(text[at])) value = value * 10 + text[at++] - '0';
    return make(NUMBER, value, NULL, NULL);
}

static struct node *parse_factor(void) {
    if (accept('-')) return make(NEGATION, 0, parse_factor(), NULL);
    if (accept('(')) {
        struct node *node = parse_sum();
        if (!accept(')')) abort();
        return node;
    }
    if (is_digit(text[at])) return parse_number();
    return make(VARIABLE, text[at++] - 'a', NULL, NULL);
}

static struct node *parse_product(void) {
    struct node *node = parse_factor();
    while (accept('*')) node = make(PRODUCT, 0, node, parse_factor());
    return node;
}

static struct node *parse_sum(void) {
    struct node *node = parse_product();
    for (;;) {
        if (accept('+')) node = make(SUM, 0, node, parse_product());
        else if (accept('-')) node = make(DIFFERENCE, 0, node, parse_product());
        else return node;
    }
}

/* Simplifying */

static int is_number(const struct node *node, int64_t value) {
    return node->kind == NUMBER && node->value == value;
}

static int is_same(const struct node *a, const struct node *b) {
    if (a == b) return 1;
    if (!a || !b || a->kind != b->kind || a->value != b->value) return 0;
    return is_same(a->left, b->left) && is_same(a->right, b->right);
}

static int64_t apply(enum kind kind, int64_t a, int64_t b) {
    uint64_t x = a, y = b;
    switch (kind) {
    case SUM: return x + y;
    case DIFFERENCE: return x - y;
    case PRODUCT: return x * y;
    default: return -x;
    }
}

static struct node *simplify(struct node *node);

static struct node *simplify_sum(struct node *node) {
    if (is_number(node->left, 0)) return node->right;
    return is_number(node->right, 0) ? node->left : node;
}

static struct node *simplify_difference(struct node *node) {
    if (is_same(node->left, node->right)) return make(NUMBER, 0, NULL, NULL);
    return is_number(node->right, 0) ? node->left : node;
}

static struct node *simplify_product(struct node *node) {
    if (is_number(node->left, 0) || is_number(node->right, 1)) return node->left;
    return is_number(node->right, 0) || is_number(node->left, 1) ? node->right : node;
}

static struct node *simplify(struct node *node) {
    if (node->kind == NUMBER || node->kind == VARIABLE) return node;
    node->left = simplify(node->left);
    if (node->right) node->right = simplify(node->right);
    if (node->left->kind == NUMBER && (!node->right || node->right->kind == NUMBER))
        return make(NUMBER, apply(node->kind, node->left->value, node->right ? node->right->value : 0), NULL, NULL);
    switch (node->kind) {
    case SUM: return simplify_sum(node);
    case DIFFERENCE: return simplify_difference(node);
    case PRODUCT: return simplify_product(node);
    default: return node->left->kind == NEGATION ? node->left->left : node;
    }
}

/* Evaluating, with a function for each kind of node */

static int64_t variables[4];

static int64_t value(const struct node *node);

static int64_t value_of_number(const struct node *node) {
    return node->value;
}

static int64_t value_of_variable(const struct node *node) {
    return variables[node->value];
}

static int64_t value_of_two(const struct node *node) {
    return apply(node->kind, value(node->left), value(node->right));
}

static int64_t value_of_negation(const struct node *node) {
    return apply(NEGATION, value(node->left), 0);
}

static int64_t (*const evaluators[])(const struct node *) = {
    value_of_number, value_of_variable, value_of_two, value_of_two, value_of_two, value_of_negation,
};

static int64_t value(const struct node *node) {
    return evaluators[node->kind](node);
}

static uint64_t evaluate(const struct node *node, int rounds) {
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 4; i++) variables[i] = round * 7 + i;
        sum = sum * 31 + value(node);
    }
    return sum;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 100;
    uint64_t sum = 0;
    for (int i = 0; i < count; i++) {
        used = length = at = 0;
        write_sum(2 + below(4));
        put(0);
        struct node *node = simplify(parse_sum());
        sum = sum * 31 + evaluate(node, 1 + below(20));
    }
    printf("%016llx\n", (unsigned long long)sum);
}
