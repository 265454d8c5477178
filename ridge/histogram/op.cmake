ridge_operator(SOURCES plan.cpp op.cpp KERNELS histogram.cu PEERS peers.cu)
