"""What may stand between the marks: statements of a kernel or of the host, as libclang reads them; with one sentence for each
text that is more."""

import functools
import sys

import pytest
from conftest import ROOT, kept, libclang_key

sys.path.insert(0, str(ROOT))
from tools import exercises, statements, submission  # noqa: E402

_, LOAD = exercises.find("04.load")
_, HOST = exercises.find("00.host")
_, LANES = exercises.find("17.k8")
_, ADDRESSES = exercises.find("18.addresses")


@functools.cache
def authors_own(exercise_id):
    _, exercise = exercises.find(exercise_id)
    return statements.Read(exercise.solution(), list(exercise.regions), submission.is_host(exercise), statements.arguments())


@pytest.fixture(scope="module", autouse=True)
def forgets():
    """What libclang has read is let go while libclang is still there."""
    yield
    authors_own.cache_clear()


def said_of(exercise, region, text, place="behind"):
    """What is said of the author's lines with a text more; None where they are taken."""
    own = exercise.author()[region]
    written = exercise.author() | {region: f"{text}\n{own}" if place == "before" else f"{own}{text}\n"}
    program, names, host = exercise.with_regions(written), list(exercise.regions), submission.is_host(exercise)

    def read():
        try:
            statements.require_all(program, authors_own(exercise.reference), names, host, statements.arguments())
        except statements.No as error:
            return str(error)
        return None

    return kept("read", [libclang_key(), exercise.solution(), program, *names], read)


POINTER, NO_NAME, BELONG = "a pointer to a function", "what is not a function's name", "does not belong"
COMPILE, BEYOND = "does not compile", "goes on beyond the marks"

REFUSED = {
    # a function by its address
    '((int (*)(const char *))0x1234)("id");': POINTER,
    'reinterpret_cast<int (*)(const char *)>((size_t)k)("id");': POINTER,
    'auto f = (int (*)(const char *))(long)k; f("id");': POINTER,
    'using F = int(const char *); ((F *)(long)k)("id");': POINTER,
    'typedef int (*F)(const char *); F f; memcpy(&f, &k, sizeof f); f("id");': POINTER,
    'union { long word; int (*f)(const char *); } u; u.word = 5; u.f("id");': POINTER,
    'decltype(&printf) f = (decltype(&printf))(long)k; f("id");': POINTER,
    '(*(int (**)(const char *))A)("x");': POINTER,
    'std::pair<int, int (*)(const char *)> p; p.second("x");': POINTER,
    "int (*f)() = nullptr;": POINTER,
    "using F = int(const char *); F *f = (F *)A;": POINTER,
    "long place = (long)printf;": POINTER, "A == (void *)printf;": "", 'using F = int(const char *); using G = F *; switch (int i = G(A)("x"); i) { }': "",
    'switch (int i = 3; i) { default: ; }': "head of a `switch`", "for (int i = 3; int j : {1}) ;": "head of a `for`",
    'auto f = [call = system] { call("x"); }; f();': "", 'struct s { int a = system("x"); } x;': "calls `system`",
    'struct s { int a; s() : a(system("x")) { } } x;': "calls `system`", 'auto f = [](int a = system("x")) { };': "calls `system`",
    'auto f = [](auto x) { return x("id"); };': NO_NAME, 'matmul_tiled<true, 0><<<system("x"), 1>>>(A, B, C, m, n, k);': "a launch",
    "int $x = 3;": "ASCII",
    "auto f = &system;": POINTER,
    'auto f = [](auto g) { g("id"); }; f(system);': "",
    '(row ? system : system)("x");': NO_NAME, '(0, system)("x");': NO_NAME, '(*system)("x");': POINTER,
    "auto f = [](const char *s) { return 0; }; int (*g)(const char *) = f;": POINTER,
    # functions that no kernel can call
    'system("id");': "calls `system`", 'std::system("id");': "calls `system`", 'using namespace std; system("x");': "calls `system`",
    'decltype(system("x")) i = 3;': "calls `system`", 'sizeof(system("x"));': "calls `system`",
    'if constexpr (false) { system("x"); }': "calls `system`", 'A[system("x")];': "calls `system`",
    'float x[(system("x"), 3)];': "calls `system`", 'for (int i : {system("x")}) { }': "calls `system`",
    "auto f = [] { exit(0); }; f();": "calls `exit`", "qsort(0, 0, 0, 0);": "calls `qsort`",
    "cudaMemcpy((void *)C, A, 4, cudaMemcpyDeviceToDevice);": "calls `cudaMemcpy`",
    "__cudaPushCallConfiguration(1, 1);": "`__cudaPushCallConfiguration`", "__builtin_trap();": "`__builtin_trap`",
    "__builtin_frame_address(0);": "`__builtin_frame_address`", "simt_syncthreads();": "`simt_syncthreads`",
    "launch(nullptr, 0);": "`launch`", "matmul_main(0, 0, 0);": "`matmul_main`",
    # declarations
    "int system(const char *); system(0);": "the declaration of a function", "void f(int);": "the declaration of a function",
    'extern "C" int system(const char *);': "`extern` without", "extern char **environ;": "`extern` without",
    "struct s { virtual void f(); };": "`virtual`", "struct s { operator int() const; };": "a conversion", "class c { };": "`class`",
    "template <class T> struct s { };": "`class`", "thread_local int i;": "`thread_local`", "namespace x { int i; }": COMPILE,
    "int i __attribute__((cleanup(exit)));": "`__attribute__`", "[[gnu::cleanup(exit)]] int i;": "attribute",
    "[[using gnu: cleanup(exit)]] int i;": "attribute", 'register int i asm("rax");': BELONG, "__typeof__(row) i;": "`__typeof__`",
    "struct s { ~s() { } } v;": "a destructor", "enum class e { A }; class c { };": "`class`", "using std::system;": "calls `system`",
    'struct s { int operator()() { return system("x"); } } v; v();': "calls `system`", "int operator+(dim3, dim3);": "the declaration of a function",
    'auto l = [](auto g) { auto p = +g; struct s { decltype(p) f; } v{p}; v.f("x"); };': NO_NAME,
    'auto l = [](auto g) { auto p = +g; std::pair<decltype(p), int> v{p, 1}; v.first("x"); };': NO_NAME,
    'auto l = [](auto g) { auto p = +g; std::max(p, p)("x"); };': NO_NAME,
    'auto l = [](auto g) { auto p = +g; [&] { return p; }()("x"); };': NO_NAME,
    '[] { system("x"); }();': "calls `system`",
    # words that clang reads as nothing, with all in their parentheses
    '__launch_bounds__((system("id"), 256)) int i = 0;': "`__launch_bounds__`", 'int i __launch_bounds__(= system("id"));': "`__launch_bounds__`",
    '__cluster_dims__(system("x")) int i;': "`__cluster_dims__`", "__managed__ int i = 3;": "`__managed__`", "__constant__ int i = 3;": "`__constant__`",
    "auto f = [] __global__ (int x) { return x; };": "`__global__`",
    # statements
    "goto out; out: ;": "`goto`", "out: ;": "a label", "void *p = &&l; l: ;": "a label", "int i = ({ int j = 3; j; });": "a statement as an expression",
    "try { row; } catch (...) { }": "`try`", "throw 3;": "`throw`", "co_return;": "`co_return`",
    'asm("syscall");': "`asm`", '__asm__ volatile("");': "`__asm__`", 'auto f = [] { asm("syscall"); };': "`asm`",
    # what would swallow the lines behind the marks
    "if (row)": BEYOND, "if (row) { } else": BEYOND, "for (;;)": BEYOND, "while (row)": BEYOND, "do": COMPILE,
    "switch (row) case 1:": BEYOND, "return": BEYOND, "(void)": BEYOND, "const float z =": "",
    # brackets
    "} int hijack(const struct matmul_args *) {": "closes a '}'", "if (row) {": "leaves a '{' open", "row(]);": "closes a ']'",
    '"}" ; \'"\'; } // {': "closes a '}'", "int i = 1'000; }": "closes a '}'", "/* } */ \n /*": COMPILE,
    # numbers, characters, strings
    "int i = 1'.; } int hijack() { return 1'.; {": "", "int i = 1'é; } int hijack() { return 1'é; {": "",
    "int i = 1'.}'; int j = 2;": "", "int i = 0x1'g;": "no plain number", "float f = 1.0e+'0';": "no plain number",
    "int i = 12_km;": "no plain number", 'auto s = "x"s;': "no plain number", "auto t = 5ms;": "no plain number",
    'const char *s = R"(}{)";': "no plain number", 'const char *s = u8R"x(})x";': "no plain number", 'const char *s = "': "'\"'",
    # the preprocessor
    "#define k 0": "'#'", '#include "/etc/passwd"': "'#'", "#pragma GCC poison a": "'#'", "#pragma unroll } void f() {": "'#'",
    "; #pragma unroll": "'#'", '#line 1 "x"': "'#'", "%:define k 0": "'%:'", "<% %>": "'<%'", "int i<:3:>;": "'<:'",
    '_Pragma("GCC poison a")': "`_Pragma`", '_Pragma("unroll\\n#include <x>") for (;;) break;': "`_Pragma`",
    '_Pragma("unroll") _Pragma("once") for (;;) break;': "`_Pragma`", '#pragma unroll "x"': "'#'", "#pragma unroll { }": "'#'", "int \\u0061b = 3;": BELONG, "int é = 3;": "ASCII", "// \\\n}": "backslash",
    "// \\  \n}": "backslash", "/* ??/\n*/": "trigraph", "__END_DECLS int f(); __BEGIN_DECLS": "`__END_DECLS`",
    '__CONCAT(sys, tem)("id");': "`__CONCAT`", 'fputs("x", stdout);': "macro `stdout`", "alloca(100);": "macro `alloca`",
    "int i = __COUNTER__;": "`__COUNTER__`", 'int i = __has_include("x");': "`__has_include`", "int i = __clang__;": "`__clang__`",
    # characters and the marks
    "\x0c;": "control character", "// \x1b[2J": "control character", "int \x85;": "control character",
    "// answer early: b" + " " * 50000 + "c": "a line of more than", "row; // [end load]": "a line `// [end load]` of its own",
    "/* //[load] */": "a line `// [load]` of its own",
}

HOSTS = {
    'system("id");': "calls `system`", 'axpy<<<(system("id"), 1), THREADS>>>(host.a, x, y, n);': "calls `system`",
    '((int (*)(const char *))(long)n)("id");': POINTER, "cudaLaunchHostFunc(0, (cudaHostFn_t)system, 0);": POINTER,
    "for (int i = 0; i < n; i++) result[i] = 0;": "stores", "*result = 3;": "stores", "result[0]++;": "stores", "++*result;": "stores",
    "float &r = result[0]; r = 3;": "stores", "(&result[0])[1] = 3;": "stores", "new (result) float(3);": "stores",
    "auto f = [&] { result[0] = 1; }; f();": "stores", "dim3 *d = (dim3 *)result; *d = dim3(1);": "stores",
    "struct s { float v; }; ((s *)result)->v = 3;": "stores", "memcpy(result, host.x, bytes);": "calls `memcpy`",
    "struct s { float v; }; s *p = (s *)result; p->v = 1;": "stores", "struct s { float v; }; auto &[q] = *(s *)result; q = 1;": "stores",
    "using R = float &; R r = result[0]; r = 1;": "stores", "struct s { float &v; } q{result[0]}; q.v = 1;": "stores",
    "struct s { float v[4]; } q; q.v[0] = 1;": "stores", "struct s { float *p; void f() { *p = 1; } } v{result}; v.f();": "stores",
    "cudaLaunchKernel((const void *)main, 1, 1, nullptr, 0, 0);": POINTER, "cudaLaunchKernel((const void *)system, 1, 1, nullptr, 0, 0);": POINTER,
    'asm("");': "`asm`", "std::swap(result[0], result[1]);": "calls `swap`", "axpy_end(result);": "calls `axpy_end`", 'stop(0, "x");': "calls `stop`",
}

TAKEN = """
#pragma unroll (TILE / 8)\\nfor (int i = 0; i < 3; i++) { }
#pragma unroll 4  // four at a time\\nfor (int i = 0; i < 3; i++) { }
#pragma unroll /* all */\\nfor (int i = 0; i < 3; i++) { }
# pragma unroll(4)\\nfor (int i = 0; i < 3; i++) { }
__align__(16) float four[4]; four[0] = 1;
struct __align__(16) four { float x, y, z, w; }; four f = {1, 2, 3, 4};
int64_t most = INT64_MAX; uint64_t least = UINT64_C(3);
float *p = new float[n]; p[0] = 1; delete[] p;
float *p = (float *)malloc(16); free(p);
auto at = [&](int r, int c) { return r * TILE + c; }; (void)at(1, 2);
auto at = [=] __device__ (int r) { return r + row; }; (void)at(1);
auto at = [](auto x) { return x + 1; }; (void)at(1.0f);
struct two { float a; __device__ __forceinline__ float sum() const { return a; } }; two p{1}; (void)p.sum();
float most = -INFINITY; most = fmaxf(most, NAN);
int i = 1'000'000; unsigned long long u = 0xffff'ffffull; float f = 0x1.8p3f + 1.e3f + .5f;
char c = '\\'', d = '"'; printf("}%c", '}');
if (row == 1000000) printf("row %d: \\"%s\\"\\n", row, "}{");
assert(row >= 0);
switch (row) { case 0: break; case 1: [[fallthrough]]; default: break; }
[[maybe_unused]] const int unused = 3;
int i = 0; do { i++; } while (i < 3);
float (*Tile)[32] = (float (*)[32])&A_smem[0][0]; float (&line)[3] = *(float (*)[3])&A_smem[0][0];
const float4 v = *reinterpret_cast<const float4 *>(&A_smem[0][0]); float w = v.x;
__shared__ float more[32]; more[threadIdx.x] = 1;
extern __shared__ float words[];
constexpr int half = TILE / 2; static_assert(half > 0, "half");
using real = float; typedef real number; number r = static_cast<real>(3);
int i = std::min(row, col), j = max(row, col);
float x = std::numeric_limits<float>::infinity();
unsigned m = __ballot_sync(0xffffffff, row > 0); int c = __popc(m) + __ffs(m);
__syncwarp(); __threadfence(); __threadfence_block();
const float *__restrict__ a_row = A; float a_value = __ldg(a_row);
int x = row and col or not row;
/* a comment with }}} and "quotes */ ; // it's\\n;
int x[2][3] = {{1, 2, 3}, {}}; for (int v : {1, 2, 3}) x[0][0] += v;
auto [p, q] = make_int2(1, 2); int s = p + q;
// ein Ä und ein λ\\n;
static const int table[4] = {1, 2, 3, 4}; int s = table[1];
using namespace std; int i = min(1, 2);
using std::min, std::max; int i = min(row, col) + max(1, 2);
enum class side : unsigned { left, right }; side s = side::left;
struct total { float v; __device__ total &operator+=(float x) { v += x; return *this; } float operator()(int i) const { return v; } }; total z{0}; z += 1; z(1);
float x = __builtin_expect(row < m, 1) ? 1.0f : 2.0f; const float *p = (const float *)__builtin_assume_aligned(A, 4);
_Pragma("unroll") for (int i = 0; i < 2; i++) { } _Pragma("unroll 4") for (int i = 0; i < 2; i++) { }
#pragma unroll TILE > 4 ? 4 : sizeof(float)\\nfor (int i = 0; i < 3; i++) { }
auto add = [&, all = 0.0f](float v) mutable noexcept -> float { all += v; return all; }; (void)add(1.f);
[&] { int i = row; (void)i; }(); float x = [=](int i) { return i * 2.f; }(3);
""".strip().split("\n")

HOSTS_TAKEN = """
dim3 grid((n + THREADS - 1) / THREADS), block(THREADS); axpy<<<grid, block, 0, 0>>>(host.a, x, y, n);
int more = n / THREADS; if (n % THREADS) more++; axpy<<<more, THREADS>>>(host.a, x, y, n);
cudaStream_t s; CUDA(cudaStreamCreate(&s)); axpy<<<(n + 255) / 256, 256, 0, s>>>(host.a, x, y, n);
cudaError_t e = cudaMemcpy(x, host.x, bytes, cudaMemcpyHostToDevice); if (e != cudaSuccess) printf("%s\\n", cudaGetErrorString(e));
cudaFuncAttributes a; CUDA(cudaFuncGetAttributes(&a, axpy));
auto count = [](int n) { return (n + THREADS - 1) / THREADS; }; axpy<<<count(n), THREADS>>>(host.a, x, y, n);
int least, size; CUDA(cudaOccupancyMaxPotentialBlockSize(&least, &size, axpy));
dim3 grid; grid.x = (n + 255) / 256; axpy<<<grid, 256>>>(host.a, x, y, n);
cudaLaunchConfig_t c = {}; c.gridDim.x = (n + 255) / 256; c.blockDim = 256; c.stream = nullptr; CUDA(cudaLaunchKernelEx(&c, axpy, host.a, (const float *)x, y, (int)n));
void *all[] = {(void *)&host.a, &x, &y, (void *)&n}; CUDA(cudaLaunchKernel((const void *)axpy, dim3(n), dim3(1), all, 0, 0));
struct shape { int blocks, threads; int total() const { return blocks * threads; } } s{1, n}; struct shape q; q.blocks = s.total();
axpy<<<dim3{(unsigned)((n + 255) / 256), 1, 1}, dim3{256}>>>(host.a, x, y, n);
""".strip().split("\n")


def shown(text):
    return repr(text[:50])


@pytest.mark.parametrize("text", REFUSED, ids=shown)
def test_what_is_more_than_statements_is_refused(text):
    said = said_of(LOAD, "load", text)
    assert said and REFUSED[text] in said and "Traceback" not in said, said


@pytest.mark.parametrize("text", HOSTS, ids=shown)
def test_host_code_launches_and_copies_and_does_no_more(text):
    said = said_of(HOST, "launch", text)
    assert said and HOSTS[text] in said, said


@pytest.mark.parametrize("text", TAKEN, ids=shown)
def test_statements_are_taken(text):
    assert said_of(LOAD, "load", text.replace("\\n", "\n") if text.startswith(("#", "/")) else text, "before") is None


@pytest.mark.parametrize("text", HOSTS_TAKEN, ids=shown)
def test_host_code_is_taken(text):
    assert said_of(HOST, "launch", text) is None


@pytest.mark.parametrize("exercise, region", [(LANES, "multiply"), (ADDRESSES, "b")], ids=["its own", "a header's"])
def test_assembly_is_taken_where_the_author_has_it(exercise, region):
    assert said_of(exercise, region, 'asm volatile("" ::: "memory");') is None


def test_a_text_that_is_too_much_for_the_parser_is_refused():
    deep = "int i = " + "(" * 20000 + "1" + ")" * 20000 + ";"
    text = "\n".join(deep[at:at + 900] for at in range(0, len(deep), 900))
    program = LOAD.with_regions({"load": text + "\n"})
    said = statements.objection("1_load.cu", program, LOAD.solution(), ["load"], False)
    assert said and "Traceback" not in said and len(said) < 300, said


def test_an_author_that_cannot_be_read_is_told(capsys):
    with pytest.raises(SystemExit) as stopped:
        statements.objection("1_load.cu", LOAD.solution(), LOAD.with_regions({"load": "goto nowhere;\n"}), ["load"], False)
    assert stopped.value.code == 2 and "The author's lines are refused here." in capsys.readouterr().err
