ridge_operator(SOURCES plan.cpp op.cpp norm.cpp KERNELS embedding.cu norm.cu TESTS norm_test.cpp)
