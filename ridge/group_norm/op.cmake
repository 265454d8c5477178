ridge_operator(SOURCES plan.cpp op.cpp KERNELS group_norm_f32.cu group_norm_f16.cu group_norm_bf16.cu)
