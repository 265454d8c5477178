ridge_operator(SOURCES plan.cpp op.cpp KERNELS softmax.cu gradient.cu)
