// What ./learn grade runs in its sandbox before it trusts it: tries to leave, and names each way that was open.
//
//   probe PORT PROCESSES PATH…
//
// PORT: where somebody listens on this machine; PROCESSES: more than the sandbox may have; PATH: what it must not show.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Whether a connection to this machine's loopback interface is made.
static int reaches(int port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    return connection >= 0 && connect(connection, (const struct sockaddr *)&address, sizeof address) == 0;
}

// Whether a file can be made in a directory; it is removed again.
static int writes(const char *directory)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/.learn-grade-probe-%d", directory, (int)getpid());
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file >= 0)
        unlink(name);
    return file >= 0;
}

// How many children can live at a time, up to `most`. They are ended before it returns.
static int forks(int most)
{
    int count = 0;
    pid_t *children = calloc((size_t)most, sizeof *children);
    while (count < most && (children[count] = fork()) >= 0) {
        if (children[count] == 0)
            for (;;)
                pause();
        count++;
    }
    for (int i = 0; i < count; i++)
        kill(children[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    free(children);
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const int port = atoi(argv[1]), processes = atoi(argv[2]);
    int open_ways = 0;
    if (reaches(port))
        open_ways += puts("it reaches the network") >= 0;
    if (forks(processes) == processes)
        open_ways += printf("it starts %d processes\n", processes) >= 0;
    if (unshare(CLONE_NEWUSER) == 0)
        open_ways += puts("it makes namespaces of its own") >= 0;
    if (memfd_create("probe", 0) >= 0 || shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600) >= 0)
        open_ways += puts("it makes memory that is no process's") >= 0;
    for (char **path = argv + 3; *path; path++)
        if (access(*path, F_OK) == 0)
            open_ways += printf("it sees %s\n", *path) >= 0;
    for (const char *const *place = (const char *const[]){"/", "/usr", "/dev/shm", "/var/tmp", NULL}; *place; place++)
        if (writes(*place))
            open_ways += printf("it writes into %s\n", *place) >= 0;
    return open_ways > 0;
}
