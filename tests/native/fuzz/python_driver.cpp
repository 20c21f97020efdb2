// libFuzzer for a target that is written in Python: a library that is loaded before the interpreter starts.
//
// Python hands over a function for one input, and one that damages a file in a way that keeps its structure.
#include <cstddef>
#include <cstdint>

extern "C" {

using RunOne = int (*)(const uint8_t* data, size_t size);
using Mutate = size_t (*)(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

int LLVMFuzzerRunDriver(int* argc, char*** argv, RunOne run_one);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

static Mutate mutate_structure = nullptr;

// Every other input is damaged by Python, the rest by libFuzzer.
__attribute__((visibility("default"))) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                      unsigned int seed) {
  if (mutate_structure == nullptr || seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return mutate_structure(data, size, max_size, seed);
}

__attribute__((visibility("default"))) int fuzz_python(int argc, char** argv, RunOne run_one, Mutate mutate) {
  mutate_structure = mutate;
  return LLVMFuzzerRunDriver(&argc, &argv, run_one);
}
}
