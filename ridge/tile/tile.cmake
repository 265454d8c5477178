# The collectives that kernels are built from: headers, and their tests.
ridge_kernel_test(tile test.cu)
ridge_kernel_test(two_float two_float_test.cu)
