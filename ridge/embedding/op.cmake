ridge_operator(SOURCES plan.cpp op.cpp KERNELS embedding.cu)
