"""What the emulator says of programs that use tensor cores, beside their faults: counts, notes, refusals."""

import json

import pytest

from conftest import COMPILERS, TESTS, Program, run

WMMA = TESTS / "right" / "wmma.cu"
HEAD = "#include <mma.h>\nusing namespace nvcuda;\n"
FRAGMENT = "wmma::fragment<wmma::matrix_{}, {}, {}, {}, {}, wmma::{}_major> f;"
S4, B1 = "wmma::experimental::precision::s4", "wmma::experimental::precision::b1"
NO_SHAPE = "fragments of this shape and type"
NO_LAYOUT = "of numbers of less than 8 bits matrix_a is row_major and matrix_b is col_major"
REFUSED = {
    "double": (FRAGMENT.format("a", 16, 16, 16, "double", "row"), NO_SHAPE),
    "a_shape": (FRAGMENT.format("a", 16, 16, 32, "half", "row"), NO_SHAPE),
    "a_type": (FRAGMENT.format("a", 16, 16, 16, "long long", "row"), NO_SHAPE),
    "four_bits": (FRAGMENT.format("a", 16, 16, 16, S4, "row"), NO_SHAPE),
    "four_bits_by_columns": (FRAGMENT.format("a", 8, 8, 32, S4, "col"), NO_LAYOUT),
    "bits_by_rows": (FRAGMENT.format("b", 8, 8, 128, B1, "row"), NO_LAYOUT),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("what", REFUSED)
def test_fragments_that_there_are_not(tmp_path, what, compiler):
    source = tmp_path / "refused.cu"
    text, why = REFUSED[what]
    source.write_text(f"{HEAD}__global__ void k()\n{{\n    {text}\n}}\n")
    _, done = Program(source, compiler).compile(tmp_path)
    assert done.returncode == 2
    assert "refused.cu:5" in done.stderr and why in done.stderr, done.stderr


def test_compute_capability_7_0_is_refused(tmp_path):
    _, done = Program(WMMA, options=("-arch=sm_70",)).compile(tmp_path)
    assert done.returncode == 2
    assert "compute capability 7.0, where fragments are laid out otherwise" in done.stderr


KERNEL = HEAD + """
__global__ void product(half *matrix, float *sums)
{
    __shared__ __align__(32) half tile[16 * 16];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    for (int i = 0; i < 2; i++)
        wmma::load_matrix_sync(a, tile, 16);
    wmma::load_matrix_sync(b, matrix + 16, 16);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(sums, c, 16, wmma::mem_row_major);
}
int main()
{
    half *matrix;
    float *sums;
    cudaMalloc(&matrix, 512 * sizeof(half));
    cudaMemset(matrix, 0, 512 * sizeof(half));
    cudaMalloc(&sums, 256 * sizeof(float));
    for (int i = 0; i < 2; i++)
        product<<<1, 32>>>(matrix, sums);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrices")
    source = folder / "product.cu"
    source.write_text(KERNEL)
    executable, done = Program(source).compile(folder)
    assert done.returncode == 0, done.stderr
    return executable


def test_what_a_product_is_counted_as(product, tmp_path):
    profile = tmp_path / "profile.json"
    done = run(product, SIMT_PROFILE="1", SIMT_PROFILE_JSON=str(profile))
    assert done.returncode == 0, done.stderr
    total = json.loads(profile.read_text())["kernels"][0]["total"]
    assert {name: total[name] for name in ("mma", "ldmatrix_requests", "ldmatrix_wavefronts", "ldmatrix_conflicts",
                                           "global_ld_requests", "global_st_requests", "shared_ld_requests")} == {
        "mma": 2 * 2, "ldmatrix_requests": 2 * 2, "ldmatrix_wavefronts": 2 * 2 * 8, "ldmatrix_conflicts": 2 * 2 * 4,
        "global_ld_requests": 2 * 4, "global_st_requests": 2 * 4, "shared_ld_requests": 0}


def test_the_table_has_them(product):
    table = run(product, SIMT_PROFILE="1").stderr
    assert "ldmatrix: requests 4, wavefronts 32, conflicts 16\n" in table
    assert "products of fragments 4\n" in table
