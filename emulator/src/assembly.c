/* Inline PTX, instruction by instruction: so far none is known, and a text without any does nothing. */
#define _GNU_SOURCE
#include "base.h"
#include "report.h"
#include <stdlib.h>
#include <string.h>

/* Blanks the text's comments. */
static void drop_comments(char *text)
{
    for (char *p = text; *p; p++) {
        char *end = NULL;
        if (p[0] == '/' && p[1] == '/') {
            end = p + strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            char *close = strstr(p + 2, "*/");
            end = close ? close + 2 : p + strlen(p);
        }
        while (end && p < end)
            *p++ = ' ';
        if (!*p)
            return;
    }
}

/* The first thing that it does: "{\n\t.reg .pred p;\n\tmov.u32 %0, %laneid;\n}" → mov.u32 %0, %laneid; NULL: nothing. */
static char *first_instruction(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        abort();
    drop_comments(copy);
    for (char *part = strtok(copy, ";{}\n"); part; part = strtok(NULL, ";{}\n")) {
        part += strspn(part, " \t\r");
        if (*part && *part != '.')
            return part;
    }
    free(copy);
    return NULL;
}

void simt_assembly(struct simt_assembly_site *site, struct simt_asm_operand *operands)
{
    (void)operands;
    char what[512], *instruction = first_instruction(site->text);
    if (!instruction)
        return;
    snprintf(what, sizeof what, "inline PTX `%s`", instruction);
    report_unsupported(what, site->file, site->line);
}
