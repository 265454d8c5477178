ridge_operator(SOURCES problem.cpp plan.cpp op.cpp KERNELS conv_f32.cu conv_f16.cu conv_bf16.cu)
