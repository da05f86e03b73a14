"""What bench/clocks.py puts into a step's source, and what it makes of the clocks that came back. It needs nothing but Python, as bench/
does."""
import re
from statistics import fmean

from tools.guard import stop

# What a consumer does from a mark of its source to the next: the name that lines of results have, and its words.
DOES = {
    "turn": "waits for a tile and its turn",
    "scores": "QKᵀ",
    "softmax": "softmax",
    "output": "PV",
    "wait_S": "waits for S",
    "wait_O": "waits for O",
    "pack": "rescales O, packs P",
}
OF_PRODUCTS = "scores", "output", "wait_S"  # while a consumer does that, products of its own are in flight
UNDER_PRODUCTS = {"47_flash_overlap": {"overlap", "both"}}  # variants whose softmax runs under P V: until the wait for O is over
# Of a step, the marks in the loop of its kernel: {mark: what begins there}. A pass begins at the first.
MARKS = {"46_flash_pingpong": {"turn": "turn", "output": "output", "scores_of_next": "scores", "under": "softmax"},
         "47_flash_overlap": {"turn": "turn", "issue": "scores", "output": "output", "wait_S": "wait_S", "under": "softmax", "wait_O": "wait_O",
                              "pack": "pack"}}
FILE = "clocks.txt"  # of what an instrumented program read, where it runs
WARPGROUP = 128
# Blocks, from all over the grid, and warpgroups of a block whose clocks are kept, and how many of each.
BLOCKS, WARPGROUPS, MOST = 32, 8, 1 << 12
SHOWN = 6  # passes whose clocks a line of results has

READS = f"""// [clocks] Of bench/clocks.py: the clock of the SM, as the first thread of each warpgroup of some blocks reads it at marks.
#include <stdint.h>
#include <stdio.h>
__device__ uint2 clocks_read[{BLOCKS * WARPGROUPS * MOST}];  // 1 + the number of a mark, or 0; and the clock's lower half

__device__ __forceinline__ unsigned first_clock()
{{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), blocks = gridDim.x * gridDim.y * gridDim.z;
    const unsigned apart = (blocks + {BLOCKS - 1}) / {BLOCKS}, warpgroup = threadIdx.x / {WARPGROUP};
    const bool chosen = block % apart == 0 && threadIdx.x % {WARPGROUP} == 0 && warpgroup < {WARPGROUPS};
    return chosen ? (block / apart * {WARPGROUPS} + warpgroup) * {MOST} : {BLOCKS * WARPGROUPS * MOST};
}}

__device__ __forceinline__ void read_clock(unsigned &at, unsigned mark)
{{
    unsigned clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock) : : "memory");
    if (at < {BLOCKS * WARPGROUPS * MOST}) {{
        clocks_read[at] = make_uint2(1 + mark, clock);
        at += at % {MOST} < {MOST - 1};
    }}
}}
"""
MAIN = f"""
int main(int argc, char **argv)
{{
    static uint2 clocks[{BLOCKS * WARPGROUPS * MOST}];
    const int status = main_of_step(argc, argv);
    FILE *file = fopen("{FILE}", "w");
    if (status || !file || cudaMemcpyFromSymbol(clocks, clocks_read, sizeof clocks) != cudaSuccess)
        return status ? status : 1;
    for (int i = 0; i < {BLOCKS * WARPGROUPS * MOST}; i++)
        if (clocks[i].x)
            fprintf(file, "%d %d %u %u\\n", i / {WARPGROUPS * MOST}, i / {MOST} % {WARPGROUPS}, clocks[i].x - 1, clocks[i].y);
    return fclose(file) ? 1 : 0;
}}
"""
MAIN_OF_STEP = re.compile(r"^int main\(", re.MULTILINE)
KERNEL = re.compile(r"__global__.*?\n\{\n", re.DOTALL)


def instrumented(text, marks, called):
    """A step's source with a read of the clock at each of these marks. called: what a complaint calls the source."""
    kernels, mains = list(KERNEL.finditer(text)), MAIN_OF_STEP.findall(text)
    if len(kernels) != 1 or len(mains) != 1:
        stop(f"{called} has {len(kernels)} kernels and {len(mains)} functions main: clocks are read in a program with one of each.")
    before, kernel = text[:kernels[0].end()], text[kernels[0].end():]
    for number, mark in enumerate(marks):
        kernel, found = re.subn(rf"^([ \t]*)// \[{re.escape(mark)}\].*\n", rf"\g<0>\1read_clock(clocks_at, {number});\n", kernel, flags=re.MULTILINE)
        if not found:
            stop(f"{called} has no mark // [{mark}] in its kernel.")
    return READS + before + "    unsigned clocks_at = first_clock();\n" + MAIN_OF_STEP.sub("static int main_of_step(", kernel) + MAIN


def blocks_of(text, marks):
    """[{a warpgroup: [(what it does from there on, the clock)]}] of what an instrumented program wrote, a block each. A clock is how many
    have passed since the first of its block."""
    does, found = list(marks.values()), {}
    for block, warpgroup, mark, clock in (map(int, line.split()) for line in text.splitlines()):
        found.setdefault(block, {}).setdefault(warpgroup, []).append((does[mark], clock))
    return list(map(from_zero, found.values()))


def from_zero(consumers):
    """The same clocks, the first of all being 0: they are of 32 bits, and may begin anew."""
    some = next(iter(consumers.values()))[0][1]
    since = lambda clock: (clock - some + (1 << 31)) % (1 << 32) - (1 << 31)
    least = min(since(clock) for each in consumers.values() for _, clock in each)
    return {warpgroup: [(what, since(clock) - least) for what, clock in each] for warpgroup, each in consumers.items()}


def passes_of(consumer, first):
    """The whole passes of a consumer: [[(what it does, from, to)]]. Each begins at what the first mark begins."""
    spans = [(what, begin, end) for (what, begin), (_, end) in zip(consumer, consumer[1:])]
    begins = [place for place, (what, _) in enumerate(consumer) if what == first]
    return [spans[begin:end] for begin, end in zip(begins, begins[1:])]


def length(passes):
    """The mean clocks of a pass."""
    return fmean(one[-1][2] - one[0][1] for one in passes)


def shown_of(consumers):
    """Of each consumer's passes some in the middle, as spans whose clocks begin at 0."""
    middle = next(iter(consumers.values()))
    middle = middle[max(0, (len(middle) - SHOWN) // 2):][:SHOWN]
    begin, end = middle[0][0][1], middle[-1][-1][2]
    return {warpgroup: [[what, max(from_, begin) - begin, min(to, end) - begin] for one in passes for what, from_, to in one
                        if to > begin and from_ < end] for warpgroup, passes in consumers.items()}


def summary(blocks, first):
    """What a line of results keeps of the clocks: some passes of the block whose passes are neither short nor long among the blocks', the
    least and the most that a block's take, and the means of all. None where no consumer came to three passes."""
    found = [{warpgroup: passes_of(consumer, first) for warpgroup, consumer in consumers.items()} for consumers in blocks]
    found = [{warpgroup: passes[1:] for warpgroup, passes in consumers.items() if len(passes) > 2} for consumers in found]  # the first waits for tiles
    found = sorted(filter(None, found), key=lambda consumers: length(sum(consumers.values(), [])))
    if not found:
        return None
    lengths = [length(sum(consumers.values(), [])) for consumers in found]
    every = [one for consumers in found for passes in consumers.values() for one in passes]
    names = dict.fromkeys(what for one in every for what, _, _ in one)
    mean = {name: fmean(sum(to - from_ for what, from_, to in one if what == name) for one in every) for name in names}
    return {"shown": shown_of(found[len(found) // 2]), "mean": mean, "pass": fmean(lengths), "least": lengths[0], "most": lengths[-1],
            "blocks": len(found)}
