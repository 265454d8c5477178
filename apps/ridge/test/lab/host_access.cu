// Host code that follows a device's pointer.
#include <cstdio>
int main() {
  int* x;
  cudaMalloc(&x, 100 * sizeof(int));
  x[3] = 1;
  std::printf("not reached\n");
}
