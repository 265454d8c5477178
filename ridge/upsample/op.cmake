ridge_operator(SOURCES plan.cpp op.cpp KERNELS upsample_f32.cu upsample_f16.cu upsample_bf16.cu upsample_bytes.cu)
