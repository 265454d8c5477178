ridge_operator(SOURCES form.cpp plan.cpp op.cpp KERNELS transpose.cu)
