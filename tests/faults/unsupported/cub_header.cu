// A header that the emulator does not offer.

#include <cub/cub.cuh>  // expect: cub/cub.cuh

int main(void) { return 0; }
