/* Notes: what a program does that works, and should not be leaned on. It goes on. */
#ifndef SIMT_NOTES_H
#define SIMT_NOTES_H

/* Says on stderr what the running thread does at pc; once for a line of the program, by any thread. */
void note_once(const void *pc, const char *text);

#endif
