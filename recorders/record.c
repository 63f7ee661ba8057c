/* Records every call and return of a program into a trace file.

       cc -finstrument-functions -g PROGRAM.c record.c -o PROGRAM -lpthread -ldl
       TRACE_FILE=out.trace ./PROGRAM

   It is one file so that naming it is all that a build must do. For any program that GCC or Clang build with -finstrument-functions for Linux; this file may be compiled with or without the flag, and
   with any optimization. The format is specified in docs/trace-format.md.

   TRACE_FILE    the trace file (default: out.trace). %p stands for the number of the process: needed where a program starts itself anew.
   TRACE_STAMPS  events between time stamps (default: 32), which are CLOCK_MONOTONIC in nanoseconds.

   What is recorded: each call of an instrumented function, from the innermost instrumented function that is open and the address that it will
   return to; functions inlined by the compiler are calls as well. All threads, from their first such call to their end. Names come from
   the symbol tables of the program and its libraries, as they are linked (C++ names mangled), else from dladdr, else they are addresses.
   Lines are not known. Memory: about 1.2 MB a thread, and the open calls.

   exit            everything is written when the program's destructors have run. Threads that still run then have no end.
   _exit, signals  leave a file without its last block, with all blocks in it good. Up to 65,535 events of each thread are missing.
   fork            the child is not recorded, nor does it touch the file. What it executes is.
   longjmp         closes the calls that it leaves: at once with glibc on x86-64 (linked statically: compile this file with -DTRACE_NO_LONGJMP),
                   elsewhere when the next call around them returns. C++ exceptions close calls as they leave them.
   signal handlers are calls of the function that they interrupt. One that strikes inside of the recorder is not recorded, but counted as lost.

   What is not covered: functions of libraries that are not instrumented (a callback has the instrumented function around it as its caller),
   stacks that a program switches itself (swapcontext, coroutines in C), and calls made after a thread's last destructor of thread-specific data. */

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* It makes longjmp a macro. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define LOCAL static PLAIN

enum {
    MAX_EVENTS = 65535,         /* in a block */
    MAX_RAW = 2 << 20,          /* bytes of a block */
    MAX_STORED = MAX_RAW + MAX_RAW / 255 + 16,
    MAX_PENDING = 1 << 18,      /* bytes of definitions in a block, about */
    MAX_TEXT = 4096,            /* bytes of a name */
    CACHE = 4096,
};
enum { DEFINITIONS = 1, EVENTS = 2, END = 3 };
#define RETURN UINT32_MAX
#define NONE UINT32_MAX

/* Memory comes straight from the system, as the program's malloc may be instrumented itself, or be what is running. */

LOCAL void *memory(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

LOCAL void *more_memory(void *p, size_t old, size_t bytes) {
    if (!p) return memory(bytes);
    p = mremap(p, old, bytes, MREMAP_MAYMOVE);
    return p == MAP_FAILED ? NULL : p;
}

/* A hash table of pairs of words. Values are numbers in the order of their keys. */

struct slot { uint64_t a, b; uint32_t value, used; };
struct map { struct slot *slots; uint32_t size, count; };

LOCAL struct slot *find(const struct map *map, uint64_t a, uint64_t b) {
    uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        struct slot *slot = &map->slots[i & (map->size - 1)];
        if (!slot->used || (slot->a == a && slot->b == b)) return slot;
    }
}

LOCAL int reserve(struct map *map) {
    if (map->size > 2 * map->count) return 1;
    struct map wider = {NULL, map->size ? 2 * map->size : 1024, map->count};
    wider.slots = memory(wider.size * sizeof(struct slot));
    if (!wider.slots) return 0;
    for (uint32_t i = 0; i < map->size; i++)
        if (map->slots[i].used) *find(&wider, map->slots[i].a, map->slots[i].b) = map->slots[i];
    if (map->slots) munmap(map->slots, map->size * sizeof(struct slot));
    *map = wider;
    return 1;
}

/* The number of a key; *is_new says that it was given now. NONE without memory. */
LOCAL uint32_t number_of(struct map *map, uint64_t a, uint64_t b, int *is_new) {
    *is_new = 0;
    if (!reserve(map)) return NONE;
    struct slot *slot = find(map, a, b);
    if (!slot->used) {
        *slot = (struct slot){a, b, map->count++, 1};
        *is_new = 1;
    }
    return slot->value;
}

/* One thread. */

struct call { void *function, *site; uintptr_t stack; uint32_t id; };
struct cached { void *function, *site; uint32_t caller, callee, edge; };

struct thread {
    uint32_t count, next;               /* events, and at how many to look at the clock */
    uint32_t stamps, depth, room, id;
    volatile int busy;
    int rounds;
    uint64_t base, lost;
    struct call *calls;
    struct thread *following;
    uint32_t events[MAX_EVENTS];        /* edges or RETURN */
    uint32_t positions[MAX_EVENTS + 1]; /* of stamps */
    uint64_t times[MAX_EVENTS + 1];
    struct cached cache[CACHE];
};

static __thread struct thread *self;
static __thread int is_starting, is_over;

/* The file and what is defined in it, under the lock. */

enum { IDLE, STARTING, RUNNING, STOPPED };
static volatile int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pid_t owner;
static int file = -1;
static uint32_t every = 32;
static struct thread *threads;
static uint32_t thread_count;
static uint64_t total, lost;
static struct map functions, sites, edges;
static uint8_t *pending, *raw, *stored;
static size_t pending_length;
struct mark { uint32_t block, code; };
static struct mark *marks;
static uint32_t mark_room, block_number;
static uint32_t *listed;
static uint32_t crc_table[256];

LOCAL uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

LOCAL void complain(const char *what, const char *why) {
    const char *parts[] = {"record.c: ", what, ": ", why, "\n"};
    for (int i = 0; i < 5; i++)
        if (write(2, parts[i], strlen(parts[i])) < 0) return;
}

LOCAL uint8_t *put_number(uint8_t *out, uint64_t n) {
    for (; n >= 0x80; n >>= 7) *out++ = (uint8_t)(n | 0x80);
    *out++ = (uint8_t)n;
    return out;
}

LOCAL uint8_t *put_word(uint8_t *out, uint32_t n) {
    for (int i = 0; i < 4; i++) *out++ = (uint8_t)(n >> 8 * i);
    return out;
}

LOCAL uint8_t *put_text(uint8_t *out, const char *text) {
    size_t length = strnlen(text, MAX_TEXT);
    out = put_number(out, length);
    /* Symbols are ASCII, but nothing makes them so, and a trace has UTF-8. */
    for (size_t i = 0; i < length; i++) *out++ = (unsigned char)text[i] < 0x80 ? (uint8_t)text[i] : '?';
    return out;
}

LOCAL uint32_t crc32(uint32_t crc, const uint8_t *p, size_t n) {
    crc = ~crc;
    while (n--) crc = crc >> 8 ^ crc_table[(crc ^ *p++) & 0xff];
    return ~crc;
}

LOCAL void write_all(const uint8_t *p, size_t n) {
    while (n && file >= 0) {
        ssize_t done = write(file, p, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            complain("cannot write the trace, which ends here", strerror(errno));
            state = STOPPED;
            file = -1;
            return;
        }
        p += done;
        n -= (size_t)done;
    }
}

LOCAL uint32_t four(const uint8_t *p) {
    uint32_t n;
    memcpy(&n, p, 4);
    return n;
}

LOCAL uint8_t *put_rest(uint8_t *out, size_t n) {
    for (; n >= 255; n -= 255) *out++ = 255;
    *out++ = (uint8_t)n;
    return out;
}

/* Literals, and what repeats after them if anything does. */
LOCAL uint8_t *put_sequence(uint8_t *out, const uint8_t *literals, size_t count, size_t offset, size_t match) {
    size_t extra = offset ? match - 4 : 0;
    *out++ = (uint8_t)((count < 15 ? count : 15) << 4 | (extra < 15 ? extra : 15));
    if (count >= 15) out = put_rest(out, count - 15);
    memcpy(out, literals, count);
    out += count;
    if (!offset) return out;
    *out++ = (uint8_t)offset;
    *out++ = (uint8_t)(offset >> 8);
    return extra >= 15 ? put_rest(out, extra - 15) : out;
}

/* An LZ4 block. The last match begins 12 bytes before the end or earlier, and ends 5 before it or earlier, as the format wants. */
LOCAL size_t compress(const uint8_t *in, size_t n, uint8_t *out) {
    static uint32_t table[4096]; /* positions + 1 */
    const uint8_t *begin = out;
    size_t done = 0, at = 0;
    memset(table, 0, sizeof table);
    while (at + 12 < n) {
        uint32_t *slot = &table[four(in + at) * 2654435761u >> 20];
        size_t last = *slot;
        *slot = (uint32_t)at + 1;
        if (!last || at + 1 - last > 65535 || four(in + last - 1) != four(in + at)) {
            at += 1 + ((at - done) >> 7);
            continue;
        }
        size_t match = 4;
        while (at + match < n - 5 && in[last - 1 + match] == in[at + match]) match++;
        out = put_sequence(out, in + done, at - done, at + 1 - last, match);
        at += match;
        done = at;
    }
    out = put_sequence(out, in + done, n - done, 0, 0);
    return (size_t)(out - begin);
}

LOCAL void write_block(uint32_t kind, const uint8_t *bytes, size_t n) {
    uint8_t head[16];
    size_t length = compress(bytes, n, stored);
    put_word(put_word(put_word(head, kind), (uint32_t)n), (uint32_t)length);
    put_word(head + 12, crc32(crc32(0, head, 12), stored, length));
    write_all(head, sizeof head);
    write_all(stored, length);
}

LOCAL void write_pending(void) {
    if (pending_length) write_block(DEFINITIONS, pending, pending_length);
    pending_length = 0;
}

/* The end of what was written to `pending`. */
LOCAL void defined(uint8_t *end) {
    pending_length = (size_t)(end - pending);
    if (pending_length > MAX_PENDING) write_pending();
}

/* Gives each edge of the block a code. */
LOCAL uint32_t list_edges(const struct thread *t) {
    uint32_t count = 0;
    if (mark_room < edges.count) {
        uint32_t room = 2 * edges.count;
        struct mark *wider = more_memory(marks, mark_room * sizeof *marks, room * sizeof *marks);
        if (!wider) return NONE;
        marks = wider;
        mark_room = room;
    }
    block_number++;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->events[i] == RETURN) continue;
        struct mark *mark = &marks[t->events[i]];
        if (mark->block == block_number) continue;
        listed[count++] = t->events[i];
        *mark = (struct mark){block_number, count};
    }
    return count;
}

/* Writes a thread's open block. */
LOCAL void seal(struct thread *t) {
    uint32_t count = list_edges(t);
    lost += t->lost;
    t->lost = 0;
    if (count == NONE) {
        lost += t->count;
    } else if (t->count || t->stamps) {
        write_pending();
        uint8_t *out = put_number(put_number(put_number(raw, t->id), t->base), t->count);
        out = put_number(put_number(out, count), t->stamps);
        for (uint32_t i = 0; i < count; i++) out = put_number(out, listed[i]);
        for (uint32_t i = 0; i < t->count; i++) {
            uint32_t code = t->events[i] == RETURN ? 0 : marks[t->events[i]].code;
            *out++ = (uint8_t)code;
            if (count > 255) *out++ = (uint8_t)(code >> 8);
        }
        for (uint32_t i = 0; i < t->stamps; i++) out = put_number(out, t->positions[i] - (i ? t->positions[i - 1] : 0));
        for (uint32_t i = 0; i < t->stamps; i++) out = put_number(out, t->times[i] - (i ? t->times[i - 1] : t->base));
        write_block(EVENTS, raw, (size_t)(out - raw));
        total += t->count;
    }
    if (t->stamps) t->base = t->times[t->stamps - 1];
    t->count = t->stamps = 0;
}

/* Names of functions. */

struct symbol { uintptr_t at; uint32_t name; };
struct object { uintptr_t base, bias; struct symbol *symbols; size_t count; const char *names; size_t names_size; struct object *following; };
static struct object *objects;

LOCAL void sort(struct symbol *s, size_t n) {
    size_t gap = 1;
    while (gap < n / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < n; i++) {
            struct symbol one = s[i];
            size_t j = i;
            for (; j >= gap && s[j - gap].at > one.at; j -= gap) s[j] = s[j - gap];
            s[j] = one;
        }
}

/* Takes the functions out of a file's symbol table, all of whose numbers may be wrong. */
LOCAL void take_symbols(struct object *object, const uint8_t *bytes, size_t size) {
    const ElfW(Ehdr) *head = (const void *)bytes;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG)) return;
    if (head->e_phoff > size || head->e_phnum > (size - head->e_phoff) / sizeof(ElfW(Phdr))) return;
    if (head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof(ElfW(Shdr))) return;
    const ElfW(Phdr) *segments = (const void *)(bytes + head->e_phoff);
    uintptr_t first = UINTPTR_MAX;
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < first) first = segments[i].p_vaddr & ~(uintptr_t)4095;
    object->bias = object->base - first;
    const ElfW(Shdr) *sections = (const void *)(bytes + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= head->e_shnum) continue;
        const ElfW(Shdr) *texts = &sections[sections[i].sh_link];
        if (sections[i].sh_offset > size || sections[i].sh_size > size - sections[i].sh_offset) return;
        if (texts->sh_offset > size || texts->sh_size > size - texts->sh_offset) return;
        const ElfW(Sym) *symbols = (const void *)(bytes + sections[i].sh_offset);
        size_t count = sections[i].sh_size / sizeof *symbols;
        object->symbols = memory((count + 1) * sizeof(struct symbol));
        if (!object->symbols) return;
        for (size_t k = 0; k < count; k++)
            if ((symbols[k].st_info & 15) == STT_FUNC && symbols[k].st_value && symbols[k].st_name < texts->sh_size)
                object->symbols[object->count++] = (struct symbol){symbols[k].st_value, symbols[k].st_name};
        object->names = (const char *)bytes + texts->sh_offset;
        object->names_size = texts->sh_size;
        sort(object->symbols, object->count);
        return;
    }
}

LOCAL struct object *object_at(uintptr_t base, const char *path) {
    for (struct object *o = objects; o; o = o->following)
        if (o->base == base) return o;
    struct object *object = memory(sizeof *object);
    if (!object) return NULL;
    object->base = base;
    object->following = objects;
    objects = object;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd >= 0 && !fstat(fd, &info) && info.st_size > 0) {
        /* It stays mapped, for the names. */
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) take_symbols(object, bytes, (size_t)info.st_size);
    }
    if (fd >= 0) close(fd);
    return object;
}

LOCAL const char *name_of(uintptr_t address, const Dl_info *info, char *buffer) {
    uintptr_t program = getauxval(AT_PHDR) & ~(uintptr_t)4095;
    uintptr_t base = info->dli_fbase ? (uintptr_t)info->dli_fbase : program;
    const struct object *object = object_at(base, base == program ? "/proc/self/exe" : info->dli_fname);
    size_t low = 0, high = object ? object->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (object->symbols[middle].at < address - object->bias) low = middle + 1;
        else high = middle;
    }
    if (object && low < object->count && object->symbols[low].at == address - object->bias) {
        const char *name = object->names + object->symbols[low].name;
        size_t left = object->names_size - object->symbols[low].name;
        if (strnlen(name, left) < left) return name;
    }
    if (info->dli_sname && (uintptr_t)info->dli_saddr == address) return info->dli_sname;
    char *out = buffer + 2 + 2 * sizeof address;
    for (*out = 0; out > buffer + 2; address >>= 4) *--out = "0123456789abcdef"[address & 15];
    return memcpy(buffer, "0x", 2);
}

/* Definitions. */

LOCAL uint32_t define_function(void *function) {
    int is_new;
    struct slot *slot = functions.size ? find(&functions, (uintptr_t)function, 0) : NULL;
    if (slot && slot->used) return slot->value;
    /* dladdr takes the loader's lock, which a thread that waits for ours may hold. */
    Dl_info info;
    pthread_mutex_unlock(&lock);
    if (!dladdr(function, &info)) memset(&info, 0, sizeof info);
    pthread_mutex_lock(&lock);
    uint32_t id = number_of(&functions, (uintptr_t)function, 0, &is_new);
    if (!is_new) return id;
    char buffer[32];
    uint8_t *out = pending + pending_length;
    *out++ = 1;
    out = put_text(out, name_of((uintptr_t)function, &info, buffer));
    out = put_text(out, "");
    defined(put_number(out, 0));
    return id;
}

LOCAL uint32_t define_edge(uint32_t caller, void *site, uint32_t callee) {
    int is_new;
    uint32_t from = 0;
    if (caller != NONE) {
        from = number_of(&sites, caller, (uintptr_t)site, &is_new);
        if (from == NONE) return NONE;
        if (is_new) {
            uint8_t *out = pending + pending_length;
            *out++ = 2;
            defined(put_number(put_number(out, caller), 0));
        }
        from++;
    }
    uint32_t edge = number_of(&edges, from, callee, &is_new);
    if (is_new) {
        uint8_t *out = pending + pending_length;
        *out++ = 3;
        defined(put_number(put_number(out, from), callee));
    }
    return edge;
}

/* Beginning and end. */

LOCAL void stop_child(void) {
    state = STOPPED;
}

LOCAL void end_thread(void *argument) {
    struct thread *t = argument;
    /* The others' destructors first: they may call instrumented functions. */
    if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, t);
        return;
    }
    t->busy = 1;
    is_over = 1;
    self = NULL;
    pthread_mutex_lock(&lock);
    if (state == RUNNING) {
        seal(t);
        uint8_t *out = pending + pending_length;
        *out++ = 5;
        defined(put_number(put_number(out, t->id), now()));
        struct thread **link = &threads;
        while (*link != t) link = &(*link)->following;
        *link = t->following;
        munmap(t->calls, t->room * sizeof *t->calls);
        munmap(t, sizeof *t);
    } else {
        t->busy = 0;
    }
    pthread_mutex_unlock(&lock);
}

LOCAL void open_file(void) {
    const char *name = getenv("TRACE_FILE");
    char path[4096];
    size_t length = 0;
    if (!name || !*name) name = "out.trace";
    for (; *name && length + 24 < sizeof path; name++) {
        if (name[0] != '%' || name[1] != 'p') {
            path[length++] = *name;
            continue;
        }
        char digits[16];
        int count = 0;
        for (pid_t pid = getpid(); pid; pid /= 10) digits[count++] = (char)('0' + pid % 10);
        while (count) path[length++] = digits[--count];
        name++;
    }
    path[length] = 0;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) complain(path, strerror(errno));
}

LOCAL void write_header(void) {
    uint8_t head[24] = "\x89trace\r\n\x01\x00\x01\x00";
    put_word(head + 12, 1000000000u);
    put_word(head + 20, crc32(0, head, 20));
    write_all(head, sizeof head);
}

__attribute__((constructor(101))) LOCAL void begin(void) {
    if (state != IDLE) return;
    state = STARTING;
    owner = getpid();
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        crc_table[i] = c;
    }
    const char *stamps = getenv("TRACE_STAMPS");
    long number = stamps ? strtol(stamps, NULL, 10) : 32;
    every = number < 1 ? 1 : number > MAX_EVENTS ? MAX_EVENTS : (uint32_t)number;
    pending = memory(MAX_PENDING + 4 * MAX_TEXT);
    raw = memory(MAX_RAW);
    stored = memory(MAX_STORED);
    listed = memory(MAX_EVENTS * sizeof *listed);
    open_file();
    if (!pending || !raw || !stored || !listed || pthread_key_create(&key, end_thread) || pthread_atfork(NULL, NULL, stop_child)) {
        complain("cannot record", "no memory");
        file = -1;
    }
    if (file < 0) {
        state = STOPPED;
        return;
    }
    write_header();
    state = RUNNING;
}

/* After all other destructors and what is registered with atexit. */
__attribute__((destructor(101))) LOCAL void finish(void) {
    if (state != RUNNING || getpid() != owner) return;
    state = STOPPED;
    /* Threads that saw the old state are in the recorder for a moment still. */
    struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&lock);
    for (struct thread *t = threads; t; t = t->following) {
        for (int i = 0; t != self && t->busy && i < 1000; i++) {
            pthread_mutex_unlock(&lock);
            nanosleep(&moment, NULL);
            pthread_mutex_lock(&lock);
        }
        seal(t);
    }
    if (self) {
        uint8_t *out = pending + pending_length;
        *out++ = 5;
        defined(put_number(put_number(out, self->id), now()));
    }
    write_pending();
    uint8_t *out = put_number(put_number(raw, total), lost);
    write_block(END, raw, (size_t)(out - raw));
    if (file >= 0) close(file);
    file = -1;
    pthread_mutex_unlock(&lock);
}

/* This thread's first call. */
LOCAL struct thread *begin_thread(void) {
    if (is_starting) {
        /* A signal handler. */
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    is_starting = 1;
    begin();
    struct thread *t = !is_over && state == RUNNING ? memory(sizeof *t) : NULL;
    if (!t) {
        if (is_over) __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        is_starting = 0;
        return NULL;
    }
    char name[64] = "main";
    t->next = every;
    t->base = now();
    pthread_mutex_lock(&lock);
    t->id = thread_count++;
    t->following = threads;
    threads = t;
    if (t->id) pthread_getname_np(pthread_self(), name, sizeof name);
    uint8_t *out = pending + pending_length;
    *out++ = 4;
    defined(put_text(put_number(out, t->base), name));
    pthread_mutex_unlock(&lock);
    pthread_setspecific(key, t);
    self = t;
    is_starting = 0;
    return t;
}

/* Events. */

/* Takes the time, and writes the block if it is full. */
LOCAL __attribute__((noinline)) void tick(struct thread *t) {
    t->positions[t->stamps] = t->count;
    t->times[t->stamps++] = now();
    if (t->count == MAX_EVENTS) {
        pthread_mutex_lock(&lock);
        if (file >= 0) seal(t);
        else t->count = t->stamps = 0;
        pthread_mutex_unlock(&lock);
    }
    t->next = t->count + every < MAX_EVENTS ? t->count + every : MAX_EVENTS;
}

LOCAL inline void event(struct thread *t, uint32_t event) {
    t->events[t->count++] = event;
    if (t->count >= t->next) tick(t);
}

LOCAL __attribute__((noinline)) int look_up(struct cached *cached, void *function, void *site, uint32_t caller) {
    pthread_mutex_lock(&lock);
    uint32_t callee = define_function(function);
    uint32_t edge = callee == NONE ? NONE : define_edge(caller, site, callee);
    pthread_mutex_unlock(&lock);
    if (edge == NONE) return 0;
    *cached = (struct cached){function, site, caller, callee, edge};
    return 1;
}

LOCAL __attribute__((noinline)) int deepen(struct thread *t) {
    uint32_t room = t->room ? 2 * t->room : 1024;
    struct call *calls = more_memory(t->calls, t->room * sizeof *calls, room * sizeof *calls);
    if (!calls) return 0;
    t->calls = calls;
    t->room = room;
    return 1;
}

/* Sets `t` to this thread if it may record now, and returns otherwise. */
#define ENTER_RECORDER(t)                                       \
    struct thread *t = self;                                    \
    if (state >= STOPPED || (!t && !(t = begin_thread()))) return; \
    if (t->busy) {                                              \
        t->lost++;                                              \
        return;                                                 \
    }                                                           \
    t->busy = 1;                                                \
    __atomic_signal_fence(__ATOMIC_SEQ_CST)

#define LEAVE_RECORDER(t)                    \
    __atomic_signal_fence(__ATOMIC_SEQ_CST); \
    t->busy = 0

PLAIN void __cyg_profile_func_enter(void *function, void *site) {
    ENTER_RECORDER(t);
    int error = errno;
    /* The stack pointer of the caller as it calls. */
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *);
    uint32_t caller = t->depth ? t->calls[t->depth - 1].id : NONE;
    /* Nobody calls a thread's first function. */
    void *from = t->depth ? site : NULL;
    struct cached *cached = &t->cache[((uintptr_t)function * 31 + (uintptr_t)from * 7 + caller) * 0x9e3779b97f4a7c15u >> 52];
    int is_known = cached->function == function && cached->site == from && cached->caller == caller;
    if ((t->depth < t->room || deepen(t)) && (is_known || look_up(cached, function, from, caller))) {
        t->calls[t->depth++] = (struct call){function, site, stack, cached->callee};
        event(t, cached->edge);
    } else {
        t->lost++;
    }
    errno = error;
    LEAVE_RECORDER(t);
}

PLAIN void __cyg_profile_func_exit(void *function, void *site) {
    ENTER_RECORDER(t);
    int error = errno;
    uint32_t depth = t->depth;
    while (depth && (t->calls[depth - 1].function != function || t->calls[depth - 1].site != site)) depth--;
    /* Calls above it were left in a way that nobody has told; a function that is not open was entered unrecorded. */
    for (; depth && t->depth >= depth; event(t, RETURN)) t->depth--;
    errno = error;
    LEAVE_RECORDER(t);
}

/* Long jumps. */

#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC__) && !defined(TRACE_NO_LONGJMP)
/* Closes the calls whose frames are below the one that a jump goes to. glibc keeps its stack pointer in the buffer, rotated and mixed with a secret of the thread. */
LOCAL void leave_calls(const struct __jmp_buf_tag *to) {
    uintptr_t secret, stack = (uintptr_t)to->__jmpbuf[6];
    __asm__("mov %%fs:0x30, %0" : "=r"(secret));
    stack = (stack >> 17 | stack << 47) ^ secret;
    ENTER_RECORDER(t);
    for (; t->depth && t->calls[t->depth - 1].stack < stack; event(t, RETURN)) t->depth--;
    LEAVE_RECORDER(t);
}

#define JUMP(name)                                                                       \
    PLAIN __attribute__((noreturn)) void name(struct __jmp_buf_tag to[1], int value) {    \
        void (*jump)(struct __jmp_buf_tag *, int) __attribute__((noreturn));             \
        *(void **)&jump = dlsym(RTLD_NEXT, #name);                                       \
        if (!jump) {                                                                     \
            complain("cannot find " #name, "compile record.c with -DTRACE_NO_LONGJMP");  \
            abort();                                                                     \
        }                                                                                \
        leave_calls(to);                                                                 \
        jump(to, value);                                                                 \
    }
#undef longjmp
#undef siglongjmp
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
#endif
