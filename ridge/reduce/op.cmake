ridge_operator(SOURCES plan.cpp op.cpp KERNELS sum.cu extreme.cu arg.cu dot.cu PEERS peers.cu)
