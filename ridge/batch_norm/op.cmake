ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS batch_norm_f32.cu batch_norm_f16.cu batch_norm_bf16.cu gradient_f32.cu gradient_f16.cu gradient_bf16.cu)
