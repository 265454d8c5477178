ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS pool_f32.cu pool_f16.cu pool_bf16.cu gradient_f32.cu gradient_f16.cu gradient_bf16.cu)
