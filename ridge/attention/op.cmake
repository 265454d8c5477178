ridge_operator(SOURCES problem.cpp plan.cpp op.cpp
  KERNELS attention_f32.cu attention_16bit.cu gradient_f32.cu gradient_f16.cu gradient_bf16.cu
  CUDA_KERNELS sm80_f16.cu sm80_bf16.cu)
