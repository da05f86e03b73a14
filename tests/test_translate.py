"""The translator and the compiler driver: tests/translate/*.cu hold the hard cases and check their own results."""

import os
import re
import resource
import shutil
import subprocess

import pytest

from conftest import BUILD, COMPILERS, ROOT, TESTS, Program, kept, read_report, run

SIMTCC = ROOT / "emulator" / "simtcc"
SOURCES = [TESTS / "translate" / f"{name}.cu" for name in ("assembly", "kernels", "launches", "products", "shared", "statements", "symbols", "variables", "text", "tokens")]
PROGRAMS = [
    Program(source, compiler, options) for source in SOURCES for compiler in COMPILERS for options in ((), ("--plain",))
]
ARCH = [
    Program(TESTS / "translate" / "arch.cu", compiler, (f"-DGPU={gpu}", *options))
    for compiler in COMPILERS
    for gpu, options in ((900, ()), (750, ("-arch=sm_75",)), (800, ("-gencode", "arch=compute_80,code=sm_80")))
]


@pytest.mark.parametrize("program", PROGRAMS + ARCH, ids=str)
def test_translated_program(compile_cu, program):
    done = run(compile_cu(program))
    assert done.returncode == 0, done.stdout + done.stderr


def simtcc(*arguments, **options):
    return subprocess.run([SIMTCC, "--simt-build", BUILD, *arguments], capture_output=True, text=True, **options)


# ---- what becomes of the words ----

CONFIGURE = "::simt::configure"
RECORD = (
    ' static ::simt_symbol simt_symbol_%d = {(void *)__builtin_addressof(x), sizeof(x), "x", "a.cu", 1, ::%s, nullptr};'
)
IN_FUNCTION = " ::simt_symbol_here(&simt_symbol_%d);"
IN_SECTION = (
    ' static ::simt_symbol *simt_symbol_at_%d __attribute__((section("simt_symbols"), used)) = &simt_symbol_%d;'
)
PLACED = '__attribute__((section("simt_%s"), no_reorder, used))'
GAP = ' static char simt_gap_%d[256] __attribute__((section("simt_%s"), no_reorder, used));'
OF_ROW = "<decltype(%s), ::simt::is_row<decltype(%s)> || %s>"
ROW = f" ::simt::begin_registers{OF_ROW}(&%s);"
ROW_ENDS = f" ::simt::Registers{OF_ROW} simt_registers_%d{{&%s}};"
REWRITES = [
    ("k<<<1, 2>>>(x);", f'({CONFIGURE}("k", "a.cu", 1, 1, 2), k(x));'),
    (
        "a::k < 'x',   (n>>2) > <<<g, b>>>(__null);",
        f"""(       {CONFIGURE}("a::k < 'x', (n>>2) >", "a.cu", 1, g, b), a::k < 'x', (n>>2) >(__null));""",
    ),
    ("p->f[1]<<<g, b>>>();", f'({CONFIGURE}("p->f[1]", "a.cu", 1, g, b), p->f[1]());'),
    (
        "__shared__ alignas(16) float A[4][5];",
        "typedef   float simt_T_A[4][5]; "
        'static ::simt_shared_site simt_site_A = ::simt::site<simt_T_A>("A", "a.cu", 1);',
    ),
    (
        "extern __shared__ float A[];",
        "typedef   float simt_T_A[];",
    ),
    (
        "__shared__ int a; decltype(a) b = a;",
        "typedef  int simt_T_a; "
        'static ::simt_shared_site simt_site_a = ::simt::site<simt_T_a>("a", "a.cu", 1); '
        "simt_T_a b = (*(simt_T_a *)::simt_shared(&simt_site_a));",
    ),
    ("static __device__ int x;", "static  int x;" + RECORD % (9, "SIMT_DEVICE") + IN_FUNCTION % 9),
    ("static __device__ __managed__ int x;", "static   int x;" + RECORD % (10, "SIMT_MANAGED") + IN_FUNCTION % 10),
    ("static __constant__ const int x = 1;", "static  const int x = 1;" + RECORD % (10, "SIMT_CONSTANT") + IN_FUNCTION % 10),
    (
        "} static __constant__ int x[2]; void g() {",
        f"}} static {PLACED % 'constant'} int x[2];" + RECORD % (10, "SIMT_CONSTANT") + IN_SECTION % (10, 10)
        + GAP % (10, "constant") + " void g() {",
    ),
    ("__device__ int f(int);", " int f(int);"),
    ("p[0] = f(1);", "p[0] = f(1);"),
    ("[=] __device__ () { *p = f(1), x = 2; };", "[=]  () { *p = (::simt::returned, f(1)), x = 2; };"),
    (
        "[=] __device__ (T x) { T y; const T &z = f(1); p[0] = x = y = f<1, 2>(3); };",
        "[=]  (T x) { T y; const T &z = f(1); p[0] = (::simt::returned, x = y = f<1, 2>(3)); };",
    ),
    (
        "[=] __device__ () { q[0] = c ? p[0] = {f(1)} : 3; };",
        "[=]  () { q[0] = (::simt::returned, c ? p[0] = { (::simt::returned,f(1))} : 3); };",
    ),
    (
        '[=] __device__ () { "wgmma"; T a[4], b = 2, c = 1; f(a, b); c + 1; };',
        '[=]  () { "wgmma"; T a[4], b = 2, c = 1;' + ROW % ("a", "a", "false", "a") + ROW_ENDS % ("a", "a", "false", 1, "a")
        + ROW_ENDS % ("b", "b", "false", 2, "b") + " f(a, b); c + 1; };",
    ),
    ('[=] __device__ () { "wgmma"; switch (x) { case 1: T a[4]; f(a); } };', '[=]  () { "wgmma"; switch (x) { case 1: T a[4]; f(a); } };'),
    ("[=] __device__ () { T a[4]; f(a); };", "[=]  () { T a[4]; f(a); };"),
]


@pytest.mark.parametrize("before, after", REWRITES, ids=[before for before, _ in REWRITES])
def test_rewriting(before, after):
    text = '# 1 "a.cu"\nvoid f() { %s }\n'
    done = subprocess.run([BUILD / "simt-translate"], input=text % before, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == text % after


def words_of(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_line_moves(tmp_path, source, compiler):
    def texts():
        done = simtcc("--keep", "-c", "-o", tmp_path / "a.o", source, env={**os.environ, "CXX": compiler})
        assert done.returncode == 0, done.stderr
        return [(tmp_path / f"{source.stem}.{ending}").read_text().splitlines() for ending in ("ii", "simt.ii")]

    before, after = kept("translated", [Program(source, compiler).key()], texts)
    assert len(before) == len(after)
    dropped = set("__shared__ __device__ __constant__ __managed__ alignas __attribute__ aligned float4 static extern "
                  "inline pragma unroll nounroll __noinline__ __host__ __global__ __grid_constant__ "
                  "__launch_bounds__ decltype __typeof__ asm __asm__ volatile __volatile__ memory "
                  "and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq".split())
    for number, (old, new) in enumerate(zip(before, after)):
        # A kernel's name moves to the end of its launch's configuration, a constraint to the end of its statement.
        if old != new and (new.strip() in ("", "(") or "simt_output" in new):
            new += " ".join(after[number : number + 10])
        bounds = re.sub(r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)", "", old)  # they stand at the kernel's end, for its prologue
        missing = words_of(bounds) - words_of(new.replace("simt_T_", "simt_T_ ")) - dropped
        assert not missing, f"{old}\n{new}"
        assert not old.startswith("# ") or old == new


def test_refused_with_line_and_name():
    source = TESTS / "translate" / "refused.cu"
    done = simtcc("-c", "-o", os.devnull, source)
    numbered = enumerate(source.read_text().splitlines(), 1)
    expected = [(number, line.split("// expect: ")[1]) for number, line in numbered if "// expect: " in line]
    found = re.findall(r"^(.+):(\d+): error: (.*)$", done.stderr, re.MULTILINE)
    assert done.returncode == 2
    assert [(file, int(number)) for file, number, _ in found] == [(str(source), number) for number, _ in expected]
    for (_, _, message), (_, words) in zip(found, expected):
        assert words in message
    assert len(found) == len(done.stderr.splitlines())


# ---- __CUDA_ARCH__ ----

LINES_OF_BOTH = """\
__host__ __device__ int index(int i)
{
#ifdef __CUDA_ARCH__
    return 2 * i;
#else
    return i;
#endif
}
__global__ void k(int *out)
{
#if __CUDA_ARCH__ >= 700
    out[0] = 1;
#endif
    out[index(100)] = 1;
}
int main()
{
    int *out;
    cudaMalloc(&out, 4 * 150);
    k<<<1, 1>>>(out);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lines_of_two_texts(tmp_path, compiler):
    (tmp_path / "both.cu").write_text(LINES_OF_BOTH)
    done = simtcc("both.cu", cwd=tmp_path, env={**os.environ, "CXX": compiler})
    assert (done.returncode, done.stderr) == (0, "")
    report = read_report(run(tmp_path / "a.out").stderr)
    assert (report.kind, report.line) == ("out of bounds", 14), report.text
    assert report.lines_named("both.cu") == {14, 19}


@pytest.mark.parametrize("options, features", [((), "1"), (("-arch=sm_90a",), "1"), (("-gencode=arch=compute_90a,code=sm_90a",), "1"),
                                               (("-arch=sm_90",), "0"), (("-arch=sm_80",), "0")])
def test_what_90a_alone_has_is_named_on_the_device(tmp_path, options, features):
    (tmp_path / "features.cu").write_text(
        "#include <stdio.h>\n__global__ void k()\n{\n#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n    printf(\"1\");\n#else\n    printf(\"0\");\n#endif\n}\n"
        "int main()\n{\n    k<<<1, 1>>>();\n    return cudaDeviceSynchronize();\n}\n")
    done = simtcc(*options, "features.cu", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(tmp_path / "a.out").stdout == features


def test_initialisers_of_two_texts_are_refused(tmp_path):
    (tmp_path / "both.cu").write_text(
        "struct s {\n    int n;\n    __host__ __device__ s(int i)\n#ifdef __CUDA_ARCH__\n        : n(i) {}\n"
        "#else\n        : n(i + 1) {}\n#endif\n};\n"
    )
    done = simtcc("-c", "both.cu", cwd=tmp_path)
    assert done.returncode == 2
    assert "both.cu:3: error: a constructor whose initialisers depend on __CUDA_ARCH__" in done.stderr


def test_a_constant_of_two_values_is_refused(tmp_path):
    (tmp_path / "both.cu").write_text("#ifdef __CUDA_ARCH__\nconstexpr int w = 32;\n#else\nconstexpr int w = 1;\n#endif\n")
    done = simtcc("-c", "both.cu", cwd=tmp_path)
    assert done.returncode == 2
    assert "both.cu:2: error: `w` has another value where __CUDA_ARCH__ is defined" in done.stderr


# ---- long inputs ----

PATTERNS = ["a<<<", ">>>", "a<<<1, 1>>>(", "a<<<1, 1>>>();", "(", "{", "[", "]", "<", ">", "a<", "a<a<b>", "template<", "asm(", 'asm("x"::"r"(a) ',
            '"r"(a) ', "__shared__ ", "__shared__ int a, ", "__shared__ int a%d; a%d = 1; ", "__device__ ", "__device__ x ",
            "__device__ int a%d;", "__global__ x ", "__global__ void k(", "do ", "do ; while (1); ", "if (1) ", "case ", "a ? ", "a = ",
            "a = (", "x = f(); ", "+[a]", "return[a] ", "[=]{", "[a = [", "s ", "f(s, ", "T s, ", "* ", "& s ", "a::", "/* ", 'R"(',
            '"', "'", "# 1 \"a%d\"\n", "#if __CUDA_ARCH__\n", "<:", "and ", "struct ", "operator ", "decltype(", "alignas(",
            "T a; f(a); ", "T a%d[4]; f(a%d); ", "{ T a = x; f(a); ", "T a, a, ", "T a; switch (a) { case 1: ", 'T a; asm("wgmma.mma_async"::"r"(a)); ']
FRONTS = ["", "__device__ ", "__global__ void k(int *p) { __shared__ int s[4]; ", "struct o { int operator+(o); }; __device__ void f() { x = ",
          '__device__ void f() { "wgmma"; ']


def seconds_of(command, text):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("front", FRONTS)
def test_time_grows_with_the_length(front):
    for pattern in PATTERNS:
        n = 200_000 // len(pattern) + 1
        text = "".join(pattern.replace("%d", str(i)) for i in range(n)) if "%d" in pattern else pattern * n
        done, seconds = seconds_of([BUILD / "simt-translate"], '# 1 "a.cu"\n' + front + text)
        assert done.returncode == 0 or (done.returncode == 2 and "error: " in done.stderr), pattern
        assert seconds < 2, pattern


@pytest.mark.parametrize("host, device", [("int a%d;", "int b%d;"), ("void a%d() { x; }", "void a%d() { y; }"), ("int x;", "int y;"),
                                          ("c%d() : a(1) { x; }", "c%d() : a(2) { x; }"), ("namespace n {", "namespace n { a")])
def test_time_grows_with_the_length_of_two_texts(tmp_path, host, device):
    for name, pattern in (("host", host), ("device", device)):
        text = "".join(pattern.replace("%d", str(i)) for i in range(200_000 // len(host)))
        (tmp_path / name).write_text(f'# 1 "a.cu"\n{text} int {name};')
    done, seconds = seconds_of([BUILD / "simt-translate", "--device", tmp_path / "device", tmp_path / "host"], "")
    assert done.returncode == 0 or (done.returncode == 2 and "error: " in done.stderr)
    assert seconds < 4


# ---- what a learner reads who makes a mistake ----

MISTAKES = {
    "a name": ("__global__ void k()\n{\n    __shared__ float a[2];\n    a[0] = nothing;\n}\n", 4, "nothing"),
    "a size": ("__global__ void k()\n{\n    __shared__ float a[n];\n}\n", 3, "n"),
    "an argument": ("__global__ void k(int *p, int n) {}\nint main()\n{\n    k<<<1, 1>>>(nullptr);\n}\n", 4, "k"),
    "a type": ("__global__ void k(int *p) {}\nint main()\n{\n    k<<<\n        1, 1>>>(3.0);\n}\n", 5, "int *"),
    "a kernel": ("int main()\n{\n    k<<<1, 1>>>(3);\n}\n", 3, "k"),
    "a block": ("__global__ void k() {}\nint main()\n{\n    k<<<1>>>();\n}\n", 4, "<<<grid, block"),
    "a semicolon": ("__device__ int x\n;\nint main()\n{\n    x\n}\n", 5, ";"),
    "a header": ('#include "nowhere.h"\n', 1, "nowhere.h"),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_compile_error(tmp_path, mistake, compiler):
    text, line, words = MISTAKES[mistake]
    (tmp_path / "wrong.cu").write_text(text)
    done = simtcc("wrong.cu", cwd=tmp_path, env={**os.environ, "CXX": compiler})
    assert done.returncode == 2
    first = next(text for text in done.stderr.splitlines() if "error: " in text)
    assert re.match(rf"wrong\.cu:{line}:(\d+:)? (fatal )?error: ", first), done.stderr
    assert words in done.stderr.replace("int*", "int *")
    assert "simt" not in done.stderr
    assert not (tmp_path / "a.out").exists()


# ---- the driver ----

PROJECT = {
    "main.cu": '#include "my kernels.cuh"\n#include "size.h"\nextern "C" int from_c(void);\nint other(void);\n'
    "int main()\n{\n    k<<<1, SIZE>>>(nullptr);\n"
    "    return cudaDeviceSynchronize() || from_c() != 3 || other() != 4 || *NAME != 'a';\n}\n",
    "other file.cu": '#include "my kernels.cuh"\nint other(void) { k<<<1, 1>>>(nullptr); return twice(2); }\n',
    "my kernels.cuh": "#pragma once\n__host__ __device__ inline int twice(int i) { return 2 * i; }\n"
    "static __global__ void k(int *p) { if (p) *p = twice(3); }\n",
    "in clude/size.h": "#define SIZE 32\n",
    "plain.c": "#include <cuda_runtime.h>\nint from_c(void)\n{\n    int n = 0, *new = &n;\n"
    "    return cudaGetDeviceCount(new) ? 0 : 2 + n;\n}\n",
}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "it's a project"
    (folder / "in clude").mkdir(parents=True)
    (folder / "tmp").mkdir()
    for name, text in PROJECT.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("compiler", COMPILERS)
def test_project(project, compiler):
    nvcc_only = (
        "-O3 -std=c++17 -arch=sm_90a -gencode arch=compute_80,code=sm_80 -Xptxas -v,-warn-spills --use_fast_math "
        "-lineinfo --expt-relaxed-constexpr -rdc=true -Xcompiler -Wall -lcudart -diag-suppress 177 -t 4"
    ).split()
    done = simtcc(*nvcc_only, "-I", "in clude", '-DNAME="a b"', "-MF", "pro gram.d", "-MT", "pro gram",
                  "-o", "pro gram", "main.cu", "plain.c", "other file.cu", cwd=project,
                  env={**os.environ, "CXX": compiler, "TMPDIR": str(project / "tmp")})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run(project / "pro gram").returncode == 0
    depends = (project / "pro gram.d").read_text()
    for name in ("main.cu", "other file.cu", "my kernels.cuh", "in clude/size.h", "plain.c", "cuda_runtime.h"):
        assert name.replace(" ", "\\ ") in depends
    assert {line.split(": ")[0] for line in depends.replace("\\\n", "").splitlines()} == {"pro\\ gram"}
    assert list((project / "tmp").iterdir()) == []


# A C++ compiler that notes whether the text that it compiles begins with the runtime's header as it was left parsed.
NOTES = """#!/bin/sh
for file; do :; done
case $file in *.simt.ii) grep -c '^#pragma GCC pch_preprocess' "$file" >>"$NOTED" ;; esac
exec g++ "$@"
"""
WHOLE, PARSED = "0\n", "1\n"
of_gcc = pytest.mark.skipif("g++" not in COMPILERS, reason="only g++ takes it")


def takes(tmp_path, *options, simt=SIMTCC, build=BUILD):
    """WHOLE or PARSED, and the instructions of the object."""
    compiler, noted, out = tmp_path / "compiler", tmp_path / "noted", tmp_path / "out.o"
    compiler.write_text(NOTES)
    compiler.chmod(0o755)
    noted.unlink(missing_ok=True)
    done = run(simt, "--simt-build", build, *options, "-c", "-o", out, TESTS / "translate" / "kernels.cu", CXX=str(compiler), NOTED=str(noted))
    assert (done.returncode, done.stderr) == (0, "")
    return noted.read_text(), run("objdump", "-d", "--no-show-raw-insn", out).stdout


@of_gcc
@pytest.mark.parametrize("options", [(), ("--plain",), ("-std=c++20",)], ids=" ".join)
def test_the_runtimes_header_is_parsed_once(tmp_path, options):
    """And a program is what it is without that."""
    nowhere = tmp_path / "build"
    nowhere.mkdir()
    (nowhere / "simt-translate").symlink_to(BUILD / "simt-translate")
    parsed, whole = takes(tmp_path, *options), takes(tmp_path, *options, build=nowhere)
    assert (parsed[0], whole[0]) == (PARSED, WHOLE) and parsed[1] == whole[1]


@of_gcc
@pytest.mark.parametrize("options", [("-DNDEBUG",), ("-DSEEK_SET=1", "-USEEK_SET"), ("-arch=sm_80",), ("-fPIC",), ("-fopenmp",), ("--plain", "-std=c++20"), ("-MF", "/dev/null")],
                         ids=" ".join)
def test_it_is_parsed_again_where_it_could_mean_something_else(tmp_path, options):
    """But not because of a macro that is not in it."""
    assert takes(tmp_path, *options)[0] == (PARSED if "SEEK_SET" in options[-1] else WHOLE)


@of_gcc
def test_it_is_parsed_again_after_a_change(tmp_path):
    emulator = tmp_path / "emulator"
    shutil.copytree(ROOT / "emulator", emulator)
    assert takes(tmp_path, simt=emulator / "simtcc")[0] == PARSED
    with open(emulator / "include" / "simt" / "math.h", "a") as header:
        header.write("\n")
    assert takes(tmp_path, simt=emulator / "simtcc")[0] == WHOLE


def test_openmp(tmp_path):
    (tmp_path / "team.cu").write_text(
        "#include <omp.h>\n__global__ void k(int *p) { *p = 1; }\nint main()\n{\n    int threads = 0, wrong = 0;\n"
        "#pragma omp parallel num_threads(3) reduction(+ : threads, wrong)\n    {\n        int *p, one = 0;\n"
        "        cudaMalloc(&p, 4);\n        k<<<1, 1>>>(p);\n        cudaMemcpy(&one, p, 4, cudaMemcpyDeviceToHost);\n"
        "        threads += one;\n        wrong += omp_get_num_threads() != 3;\n    }\n"
        "    return threads != 3 || wrong;\n}\n"
    )
    for options in (["-Xcompiler", "-Wall,-fopenmp"], ["-Xcompiler=-fopenmp"], ["-fopenmp"]):
        done = simtcc(*options, "team.cu", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert run(tmp_path / "a.out").returncode == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_nvtx_marks_nothing(tmp_path, compiler):
    (tmp_path / "marks.cu").write_text(
        "#include <nvToolsExt.h>\n#include <nvtx3/nvToolsExt.h>\n#include <nvToolsExtCudaRt.h>\nint main()\n{\n"
        '    nvtxEventAttributes_t e = {};\n    e.message.ascii = "copy";\n    nvtxRangePush("all");\n'
        '    nvtxRangePushEx(&e);\n    nvtxMark("here");\n    return nvtxRangePop() || nvtxRangePop();\n}\n'
    )
    done = simtcc("marks.cu", "-lnvToolsExt", cwd=tmp_path, env={**os.environ, "CXX": compiler})
    assert (done.returncode, done.stderr) == (0, "")
    assert run(tmp_path / "a.out").returncode == 0


CUBLAS = """\
#include <cublas_v2.h>
#include <cublasLt.h>
#define cublasCheck(status) { if ((status) != CUBLAS_STATUS_SUCCESS) return 1; }
int main()
{
    cublasHandle_t cublas_handle;
    cublasLtHandle_t cublaslt_handle;
    cublasMath_t math;
    cublasCheck(cublasCreate(&cublas_handle));
    cublasCheck(cublasLtCreate(&cublaslt_handle));
    cublasCheck(cublasSetMathMode(cublas_handle, CUBLAS_TF32_TENSOR_OP_MATH));
    cublasCheck(cublasGetMathMode(cublas_handle, &math));
    OPERATION;
    cublasCheck(cublasLtDestroy(cublaslt_handle));
    cublasCheck(cublasDestroy(cublas_handle));
    return math != CUBLAS_TF32_TENSOR_OP_MATH;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_of_cublas_only_the_handles(tmp_path, compiler):
    (tmp_path / "blas.cu").write_text(CUBLAS)
    env = {**os.environ, "CXX": compiler}
    done = simtcc("-DOPERATION=", "-lcublas", "-lcublasLt", "blas.cu", cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(tmp_path / "a.out").returncode == 0
    done = simtcc("-DOPERATION=cublasSgemm(cublas_handle)", "-lcublas", "blas.cu", cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert re.search(r"^blas\.cu:13: error: `cublasSgemm` is not supported by the emulator, which has only", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["cuda::ptx::tcgen05_fence_before_thread_sync", "cuda::device::experimental::no_such_copy"])
def test_a_function_of_a_namespace_that_is_not_offered(tmp_path, compiler, name):
    (tmp_path / "a.cu").write_text(f"#include <cuda/barrier>\n__global__ void k() {{ {name}(); }}\nint main() {{}}\n")
    done = simtcc("a.cu", cwd=tmp_path, env={**os.environ, "CXX": compiler})
    assert done.returncode == 2
    assert f"a.cu:2: error: `{name}` is not supported by the emulator\n" in done.stderr


@pytest.mark.parametrize("options, status", [([], 2), (["-std=c++14"], 2), (["-std=c++20"], 0), (["--std", "c++20"], 0)])
def test_standard(tmp_path, options, status):
    (tmp_path / "a.cu").write_text("auto f = []<typename T>(T i) requires(sizeof(T) > 2) { return i; };\nint main() { f(1); }\n")
    assert simtcc(*options, "a.cu", cwd=tmp_path).returncode == status


def test_own_headers_come_first(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "cuda_fp8.h").write_text("#define OWN 3\n")
    (tmp_path / "toolkit").mkdir()
    (tmp_path / "toolkit" / "cuda_runtime_api.h").write_text("#error the toolkit's\n")
    (tmp_path / "toolkit" / "extra.h").write_text("#define EXTRA 4\n")
    (tmp_path / "a.cu").write_text('#include <cuda_fp8.h>\n#include "extra.h"\nint main() { return OWN + EXTRA - 7; }\n')
    done = simtcc("-Itoolkit", "-I", "own", "a.cu", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(tmp_path / "a.out").returncode == 0


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("found", [True, False])
@pytest.mark.parametrize("header, text", [("cub/grid/grid_queue.cuh", "int x;"), ("cuda/std/mdspan", "#error the toolkit's"),
                                          ("cub/block/block_reduce.cuh", None), ("cuda/std/cassert", None)])
def test_headers_of_a_toolkit_stay_out(tmp_path, header, text, found, compiler):
    file = tmp_path / "toolkit" / header
    file.parent.mkdir(parents=True)
    file.write_text(text or "#error the toolkit's\n")
    (tmp_path / "toolkit" / "cuda_runtime_api.h").write_text("#error the toolkit's\n")
    (tmp_path / "sub.h").write_text(f"\n#include <{header}>\n")
    (tmp_path / "a.cu").write_text('#include "sub.h"\nint main() { return 0; }\n')
    env = {**os.environ, "CXX": compiler, **({"CPATH": str(tmp_path / "toolkit")} if found else {})}
    for options in ([], ["-Itoolkit"]) if found else ([],):
        done = simtcc(*options, "a.cu", cwd=tmp_path, env=env)
        if text is None:
            assert (done.returncode, done.stderr) == (0, "")
        else:
            assert done.returncode == 2
            assert re.search(rf"sub\.h:2:.*error: <{header}> is not offered by the emulator", done.stderr), done.stderr


# Files that share device variables and functions, which nvcc links with -rdc=true.
SEVERAL = {
    "main.cu": "extern __device__ int count;\nextern __constant__ float scale[2];\n__device__ int twice(int);\n"
    "extern __device__ int add(int *, int);\n__global__ void other(int *);\n"
    "__global__ void k(int *p) { *p = add(&count, twice(1)) + (int)scale[1]; }\n"
    "int main()\n{\n    float f[2] = {0, 100};\n    int *p, h[3];\n    cudaMalloc(&p, 8);\n    cudaMemcpyToSymbol(scale, f, 8);\n"
    "    k<<<1, 1>>>(p);\n    other<<<1, 1>>>(p + 1);\n    cudaMemcpy(h, p, 8, cudaMemcpyDeviceToHost);\n"
    "    cudaMemcpyFromSymbol(h + 2, count, 4);\n    return h[0] != 105 || h[1] != 7 || h[2] != 7;\n}\n",
    "device.cu": "__device__ int count = 3;\n__constant__ float scale[2];\nstatic __device__ int hidden = 2;\n"
    "__device__ int twice(int i) { return hidden * i; }\n"
    "__device__ int add(int *to, int n) { int old = *to; *to += n; return old + 2; }\n"
    "__global__ void other(int *p) { *p = (count += 2); }\n",
}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_device_code_in_several_files(tmp_path, compiler):
    for name, text in SEVERAL.items():
        (tmp_path / name).write_text(text)
    done = simtcc("-rdc=true", *SEVERAL, cwd=tmp_path, env={**os.environ, "CXX": compiler})
    assert (done.returncode, done.stderr) == (0, "")
    done = run(tmp_path / "a.out")
    assert (done.returncode, done.stderr) == (0, "")


def test_objects_link(project):
    for source in ("main.cu", "other file.cu", "plain.c"):
        done = simtcc("-c", "-I", "in clude", '-DNAME="a b"', source, cwd=project)
        assert (done.returncode, done.stderr) == (0, "")
    done = simtcc("main.o", "other file.o", "plain.o", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert run(project / "a.out").returncode == 0


def test_nothing_is_left_behind_by_a_failure(project):
    done = simtcc("main.cu", cwd=project, env={**os.environ, "TMPDIR": str(project / "tmp")})
    assert done.returncode == 2
    assert "NAME" in done.stderr or "size.h" in done.stderr
    assert list((project / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "arguments, environment, words",
    [
        (["main.cu"], {"CXX": "/nowhere/g++"}, "no C++ compiler: `/nowhere/g++` was not found. Install g++"),
        (["main.cu"], {"SIMT_BUILD": "/nowhere"}, "the emulator is not built: no simt-translate"),
        (["nowhere.cu"], {}, "nowhere.cu: no such file"),
        (["-c", "main.cu", "other file.cu"], {}, "-c takes one source file, not 2"),
        (["main.py"], {}, "main.py: not a .cu"),
        (["--precompile", "main.cu"], {}, "--precompile takes no files"),
        (["-std=c++71", "main.cu"], {}, "-std=c++71 is not a C++ standard"),
        ([], {}, "no input files"),
    ],
)
def test_driver_refuses(project, arguments, environment, words):
    env = {**os.environ, "SIMT_BUILD": str(BUILD), **environment}
    done = subprocess.run([SIMTCC, *arguments], cwd=project, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
