/* Reads a preprocessed C++ file, splits it into tokens, writes it back with the edits.
 *
 * After the preprocessor there are no macros and no #includes, only tokens, and markers such as
 *     # 12 "matmul.cu" 2 3
 * that say which line of which file comes next; flag 3 marks a system header. System headers and the emulator's own
 * are ordinary C++ and most of the text, so no tokens are made of them. */
#define _GNU_SOURCE
#include "source.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *at; /* NULL: none */
    size_t length, room;
};
struct edit {
    struct text before, instead, after;
};

struct token *tokens;
int end;
int refusals;

static char *source;
static size_t length;
static int tokens_room;
static struct edit *edits;
static int n_edits = 1, edits_room;
static struct file {
    char *name;
    int previous; /* of the same row of the table; -1: none */
} *files;
static int n_files, files_room;

static void *grow(void *array, int *room, size_t element)
{
    *room = *room ? 2 * *room : 1024;
    array = realloc(array, (size_t)*room * element);
    if (!array)
        perror("simt-translate"), exit(2);
    return array;
}

static unsigned hash_of(const char *text, size_t n)
{
    unsigned hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

void source_read(const char *path)
{
    FILE *in = path ? fopen(path, "r") : stdin;
    size_t room = 1 << 20, got;
    if (!in)
        fprintf(stderr, "simt-translate: "), perror(path), exit(2);
    source = malloc(room);
    while (source && (got = fread(source + length, 1, room - length - 1, in)) > 0) {
        length += got;
        if (room - length == 1)
            source = realloc(source, room *= 2);
    }
    if (!source || ferror(in))
        perror("simt-translate"), exit(2);
    source[length] = '\0';
    if (!edits)
        edits = grow(edits, &edits_room, sizeof *edits);
    edits[0] = (struct edit){0};
    if (path)
        fclose(in);
}

void source_set(char *text, size_t n)
{
    source = text;
    length = n;
    tokens = NULL;
    end = tokens_room = 0;
}

struct source source_take(void)
{
    struct source taken = {source, length, tokens, end};
    source_set(NULL, 0);
    return taken;
}

void source_use(const struct source *s)
{
    source = s->text;
    length = s->length;
    tokens = s->tokens;
    end = s->end;
}

const char *source_file(int number) { return files[number].name; }

/* ---- tokens ---------------------------------------------------------------------------------------------- */

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80; }

/* A character may be named by its number: `caf\u00e9`. */
static bool is_word(const char *p) { return is_letter(*p) || (*p == '\\' && (p[1] == 'u' || p[1] == 'U')); }

/* A preprocessing number: 0x1p-3, 1'000, .5f, 10_km. */
static const char *number_end(const char *p)
{
    for (;; p++) {
        if ((*p == '+' || *p == '-') && strchr("eEpP", p[-1]))
            continue;
        if (*p == '\'' && is_letter(p[1]))
            continue;
        if (!is_letter(*p) && *p != '.')
            return p;
    }
}

static const char *quoted_end(const char *p) /* at the opening quote */
{
    char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += *p == '\\' && p[1] && p[1] != '\n' ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

static const char *raw_end(const char *p) /* at the opening quote of R"delimiter(…)delimiter" */
{
    const char *open = strchr(p, '(');
    if (!open)
        return p + strlen(p);
    char *closing = format(")%.*s\"", (int)(open - p - 1), p + 1);
    const char *close = strstr(open, closing);
    const char *after = close ? close + strlen(closing) : p + strlen(p);
    free(closing);
    return after;
}

static bool is_prefix(const char *word, size_t n) /* of a string or character literal */
{
    if (n && word[n - 1] == 'R')
        n--;
    return n == 0 || (n == 1 && strchr("LuU", *word)) || (n == 2 && !strncmp(word, "u8", 2));
}

/* Only the operators whose pieces could be taken for something else. `>` always stands alone. */
static size_t operator_length(const char *p)
{
    static const char *const operators[] = {"<<<", "<=>", "<<=", "...", "<<", "<=", ">=", "==", "!=", "->", "::", "&&"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strncmp(p, operators[i], strlen(operators[i])))
            return strlen(operators[i]);
    return 1;
}

static const char *token_end(const char *p, enum kind *kind)
{
    const char *start = p;
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
        *kind = NUMBER;
        return number_end(p + 1);
    }
    while (is_word(p))
        p++;
    if ((*p == '"' || *p == '\'') && is_prefix(start, (size_t)(p - start))) {
        *kind = STRING;
        return *p == '"' && p > start && p[-1] == 'R' ? raw_end(p) : quoted_end(p);
    }
    *kind = p > start ? NAME : PUNCTUATION;
    return p > start ? p : p + operator_length(p);
}

/* Digraphs and `and`, `not_eq` and their like are written as what they stand for, with spaces up to their length: nothing
 * behind them moves, and nobody else has to know of them. */
static const struct alternative {
    const char *text, *meaning;
} alternatives[] = {{"<%", "{"},    {"%>", "}"},   {"<:", "["},     {":>", "]"},      {"and", "&&"},    {"and_eq", "&="},
                    {"bitand", "&"}, {"bitor", "|"}, {"compl", "~"}, {"not", "!"},     {"not_eq", "!="}, {"or", "||"},
                    {"or_eq", "|="}, {"xor", "^"},   {"xor_eq", "^="}};

static void write_plainly(char *p)
{
    static const char first[] = "<%:abcnox";
    if (!strchr(first, *p))
        return;
    size_t n = 2;
    if (isalpha((unsigned char)*p)) {
        for (n = 1; is_word(p + n);)
            n++;
    } else if (!strncmp(p, "<::", 3) && p[3] != ':' && p[3] != '>') {
        return; /* `A<::B>` */
    }
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
        const struct alternative *a = &alternatives[i];
        if (strlen(a->text) != n || strncmp(p, a->text, n))
            continue;
        memset(p, ' ', n);
        memcpy(p, a->meaning, strlen(a->meaning));
        return;
    }
}

static int file_number(const char *name, size_t n)
{
    static int rows[4096]; /* of a table: 0, or the last file's number + 1 */
    int *row = &rows[hash_of(name, n) % (sizeof rows / sizeof *rows)];
    for (int i = *row - 1; i >= 0; i = files[i].previous)
        if (!strncmp(files[i].name, name, n) && !files[i].name[n])
            return i;
    if (n_files == files_room)
        files = grow(files, &files_room, sizeof *files);
    files[n_files] = (struct file){strndup(name, n), *row - 1};
    *row = n_files + 1;
    return n_files++;
}

struct place {
    int line;
    int file;
    bool left_alone;
};

static void add_token(const char *start, const char *after, enum kind kind, const struct place *at, bool spaced)
{
    if (end == tokens_room)
        tokens = grow(tokens, &tokens_room, sizeof *tokens);
    tokens[end++] = (struct token){.start = (unsigned)(start - source),
                                   .length = (unsigned)(after - start),
                                   .line = at->line,
                                   .file = at->file,
                                   .kind = kind,
                                   .spaced = spaced};
}

/* ---- names that a header would have declared ---- */

struct refused {
    char *header, *what, *names;
};
static struct refused *refused;
static int n_refused, refused_room;

/* `<cub/cub.cuh> cub: cub`: header, what it is, its names, up to the line's end. */
static void refuse_names(const char *line, const char *stop)
{
    char *text = strndup(line, (size_t)(stop - line)), *what = strchr(text, ' '),
         *names = what ? strstr(what, ": ") : NULL;
    if (!names)
        return;
    *what++ = '\0';
    *names = '\0';
    names += 2;
    if (n_refused == refused_room)
        refused = grow(refused, &refused_room, sizeof *refused);
    refused[n_refused++] = (struct refused){text, what, names};
}

/* Is the word at i in the list? `cublas*` stands for all that begin so; `cub` is a namespace. */
static bool is_listed(int i, const char *names)
{
    char *word = source_text(i, i);
    bool space = is(i + 1, "::") || is(i - 1, "namespace"), found = false;
    for (size_t n; *names && !found; names += n + strspn(names + n, " ")) {
        n = strcspn(names, " ");
        bool prefix = names[n - 1] == '*';
        if (prefix)
            found = !strncmp(word, names, n - 1);
        else
            found = space && strlen(word) == n && !strncmp(word, names, n);
    }
    free(word);
    return found;
}

bool is_refused(int i)
{
    for (int r = 0; r < n_refused && !is_any(i - 1, ". ->"); r++) {
        if (!is_listed(i, refused[r].names))
            continue;
        refuse(i, "`%s` (%s, of %s) is not supported by the emulator", source_text(i, i), refused[r].what,
               refused[r].header);
        return true;
    }
    return false;
}

/* At a `#` that begins a line; returns the end of that line. `#pragma unroll` is blanked: the host compilers disagree
 * about it, and unrolling changes nothing that the emulator counts. */
static char *directive(char *p, struct place *at, const char *runtime)
{
    char *stop = strchrnul(p, '\n'), *start = p;
    p += 1 + strspn(p + 1, " \t");
    if (!strncmp(p, "pragma", 6)) {
        p += 6 + strspn(p + 6, " \t");
        if (!strncmp(p, "simt_refuse ", 12))
            refuse_names(p + 12, stop);
        if (!strncmp(p, "unroll", 6) || !strncmp(p, "nounroll", 8))
            memset(start, ' ', (size_t)(stop - start));
        return stop;
    }
    if (!strncmp(p, "line", 4))
        p += 4 + strspn(p + 4, " \t");
    if (!isdigit((unsigned char)*p))
        return stop;
    at->line = (int)strtol(p, &p, 10) - 1; /* the line's own end will count */
    char *name = memchr(p, '"', (size_t)(stop - p));
    const char *after = name ? quoted_end(name) : NULL;
    if (!name || after < name + 2 || after[-1] != '"')
        return stop;
    unsigned short file = file_number(name + 1, (size_t)(after - name - 2));
    if (file == at->file)
        return stop; /* here flag 3 only says where a macro was defined */
    at->file = file;
    at->left_alone = memchr(after, '3', (size_t)(stop - after)) ||
                     (runtime && !strncmp(name + 1, runtime, strlen(runtime)) && name[1 + strlen(runtime)] == '/');
    return stop;
}

static int *array_of_tokens(void)
{
    int *array = malloc(((size_t)end + 1) * sizeof *array);
    if (!array)
        perror("simt-translate"), exit(2);
    return array;
}

static void match_brackets(void)
{
    int open[MOST_NESTED], depth = 0;
    for (int i = 0; i < end; i++) {
        tokens[i].partner = i; /* also of a bracket that has none */
        if (tokens[i].kind != PUNCTUATION || tokens[i].length != 1)
            continue;
        char c = source[tokens[i].start];
        if (c == '(' || c == '[' || c == '{') {
            if (depth == MOST_NESTED)
                refuse(i, "brackets are nested too deeply"), exit(2);
            open[depth++] = i;
        } else if (c == ')' || c == ']' || c == '}') {
            if (depth == 0)
                continue;
            tokens[open[--depth]].partner = i;
            tokens[i].partner = open[depth];
        }
    }
}

/* Each `>` closes the nearest `<` that is open, in one pair of brackets and up to a `;`: if they are brackets at all. */
static void match_angles(void)
{
    int *open = array_of_tokens(), depth = 0;
    int outer[MOST_NESTED], base = 0, level = 0; /* base: those that are open begin there */
    for (int i = 0; i < end; i++) {
        struct token *t = &tokens[i];
        if (t->kind != PUNCTUATION || t->length != 1)
            continue;
        char c = source[t->start];
        if (c == '<') {
            t->partner = 0;
            open[depth++] = i;
        } else if (c == '>') {
            t->partner = depth > base ? open[--depth] : 0;
            if (t->partner)
                tokens[t->partner].partner = i;
        } else if (t->partner > i) {
            outer[level++] = base;
            base = depth;
        } else if (t->partner < i) {
            depth = base;
            base = outer[--level];
        } else if (c == ';') {
            depth = base;
        }
    }
    free(open);
}

void source_lex(const char *runtime)
{
    struct place at = {1, file_number("<stdin>", 7), false};
    char *p = source;
    bool spaced = true, line_begins = true;
    add_token(source, source, PUNCTUATION, &at, true);
    while (*p) {
        if (*p == '\n') {
            at.line++;
            p++;
            spaced = line_begins = true;
        } else if (isspace((unsigned char)*p) || (*p == '\\' && !is_word(p))) {
            p++;
            spaced = true;
        } else if (*p == '#' && line_begins) {
            p = directive(p, &at, runtime);
        } else if (at.left_alone) {
            p = strchrnul(p, '\n');
        } else if (*p == '/' && p[1] == '/') {
            p = strchrnul(p, '\n');
        } else if (*p == '/' && p[1] == '*') {
            char *close = strstr(p + 2, "*/"), *after = close ? close + 2 : source + length;
            for (; p < after; p++)
                at.line += *p == '\n';
            spaced = true;
        } else {
            enum kind kind;
            write_plainly(p);
            const char *after = token_end(p, &kind);
            add_token(p, after, kind, &at, spaced);
            for (; p < after; p++)
                at.line += *p == '\n';
            spaced = line_begins = false;
        }
    }
    add_token(p, p, PUNCTUATION, &at, true);
    match_brackets();
    match_angles();
    end--;
}

/* ---- looking --------------------------------------------------------------------------------------------- */

static const char *text_of(int i) { return i == 0 || i == end ? ";" : source + tokens[i].start; }
static size_t length_of(int i) { return i == 0 || i == end ? 1 : tokens[i].length; }

char first_char(int i) { return *text_of(i); }

bool is(int i, const char *text)
{
    size_t n = length_of(i);
    return !strncmp(text_of(i), text, n) && !text[n];
}

bool is_any(int i, const char *words)
{
    const char *text = text_of(i);
    size_t n = length_of(i);
    while (*words) {
        size_t word = strcspn(words, " ");
        if (word == n && !memcmp(words, text, n))
            return true;
        words += word + strspn(words + word, " ");
    }
    return false;
}

bool same_text(int i, int j) { return length_of(i) == length_of(j) && !memcmp(text_of(i), text_of(j), length_of(i)); }

unsigned token_hash(int i) { return hash_of(text_of(i), length_of(i)); }

const char *file_of(int i) { return files[tokens[i].file].name; }

int angle_close(int i) { return is(i, "<") ? tokens[i].partner : 0; }

int angle_open(int i) { return is(i, ">") ? tokens[i].partner : 0; }

int before_angle(int i) { return is(i, ">") ? angle_open(i) - (angle_open(i) > 0) : i; }

char *source_text(int first, int last)
{
    size_t room = 1;
    for (int i = first; i <= last; i++)
        room += tokens[i].length + 1;
    char *text = malloc(room), *p = text;
    for (int i = first; i <= last; i++) {
        if (i > first && tokens[i].spaced)
            *p++ = ' ';
        p = mempcpy(p, source + tokens[i].start, tokens[i].length);
    }
    *p = '\0';
    return text;
}

static void append(struct text *to, const char *text)
{
    size_t n = strlen(text), needed = to->length + n + 1;
    if (needed > to->room) {
        to->room = 2 * needed;
        to->at = realloc(to->at, to->room);
        if (!to->at)
            perror("simt-translate"), exit(2);
    }
    memcpy(to->at + to->length, text, n + 1);
    to->length += n;
}

char *edited_text(int first, int last)
{
    struct text text = {0};
    append(&text, "");
    for (int i = first; i <= last; i++) {
        const struct edit *e = &edits[tokens[i].edit];
        char *middle = e->instead.at ? e->instead.at : source_text(i, i);
        if (i > first && tokens[i].spaced)
            append(&text, " ");
        if (e->before.at)
            append(&text, e->before.at);
        append(&text, middle);
        if (e->after.at)
            append(&text, e->after.at);
        if (middle != e->instead.at)
            free(middle);
    }
    return text.at;
}

char *in_quotes(const char *text)
{
    char *quoted = malloc(2 * strlen(text) + 3), *p = quoted;
    *p++ = '"';
    for (; *text; *p++ = *text++)
        if (*text == '"' || *text == '\\')
            *p++ = '\\';
    strcpy(p, "\"");
    return quoted;
}

/* ---- changing -------------------------------------------------------------------------------------------- */

static struct edit *edit_of(int i)
{
    if (!tokens[i].edit) {
        if (n_edits >= edits_room)
            edits = grow(edits, &edits_room, sizeof *edits);
        edits[n_edits] = (struct edit){0};
        tokens[i].edit = n_edits++;
    }
    return &edits[tokens[i].edit];
}

void put_before(int i, const char *text) { append(&edit_of(i)->before, text); }
void put_after(int i, const char *text) { append(&edit_of(i)->after, text); }

void replace(int i, const char *text)
{
    struct text *instead = &edit_of(i)->instead;
    instead->length = 0;
    append(instead, text);
}

void delete(int first, int last)
{
    for (int i = first; i <= last; i++)
        replace(i, "");
}

void source_write(const char *path)
{
    FILE *out = path ? fopen(path, "w") : stdout;
    if (!out)
        fprintf(stderr, "simt-translate: "), perror(path), exit(2);
    size_t done = 0;
    for (int i = 1; i < end; i++) {
        if (!tokens[i].edit)
            continue;
        const struct edit *e = &edits[tokens[i].edit];
        fwrite(source + done, 1, tokens[i].start - done, out);
        done = tokens[i].start + tokens[i].length;
        if (e->before.at)
            fputs(e->before.at, out);
        if (e->instead.at)
            fputs(e->instead.at, out);
        else
            fwrite(source + tokens[i].start, 1, tokens[i].length, out);
        if (e->after.at)
            fputs(e->after.at, out);
    }
    fwrite(source + done, 1, length - done, out);
    if (fflush(out) || ferror(out))
        perror("simt-translate"), exit(2);
}

/* ---- words ----------------------------------------------------------------------------------------------- */

char *format(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        perror("simt-translate"), exit(2);
    va_end(arguments);
    return text;
}

void refuse(int i, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: error: ", file_of(i), tokens[i].line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (++refusals == 20)
        exit(2);
}
