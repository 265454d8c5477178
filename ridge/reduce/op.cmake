ridge_operator(SOURCES plan.cpp op.cpp KERNELS sum.cu extreme.cu arg.cu dot.cu two_float.cu
  CUDA_KERNELS sm90_cluster.cu PEERS peers.cu)
