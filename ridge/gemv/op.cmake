ridge_operator(SOURCES problem.cpp plan.cpp op.cpp KERNELS gemv_f32.cu gemv_f64.cu gemv_16bit.cu PEERS peers.cu)
