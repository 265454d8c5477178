# The collectives that kernels are built from: headers, and their tests.
ridge_kernel_test(tile test.cu)
