// The program of all unit tests of native code; one file per header that is tested.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
