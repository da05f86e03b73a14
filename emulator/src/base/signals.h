/* Signals: what no hook saw, in plain builds, on the host, in the C library. */
#ifndef SIMT_SIGNALS_H
#define SIMT_SIGNALS_H

void signals_install(void);       /* once per program */
void signals_install_stack(void); /* once per OS thread: the alternate signal stack */

#endif
