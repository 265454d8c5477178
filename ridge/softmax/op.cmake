ridge_operator(SOURCES plan.cpp op.cpp KERNELS softmax.cu gradient.cu CUDA_KERNELS sm90_resident.cu sm90_ring.cu)
