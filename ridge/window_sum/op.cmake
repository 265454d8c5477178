ridge_operator(SOURCES plan.cpp op.cpp KERNELS window_sum.cu)
