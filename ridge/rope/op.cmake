ridge_operator(SOURCES plan.cpp op.cpp KERNELS rope.cu)
