ridge_operator(SOURCES plan.cpp op.cpp KERNELS nms.cu)
