ridge_operator(SOURCES plan.cpp op.cpp cache.cpp KERNELS rope.cu cache.cu TESTS cache_test.cpp)
