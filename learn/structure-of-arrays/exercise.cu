// ridge learn structure-of-arrays
//
// move() walks over an array of structures. Make it a structure of arrays, in the kernel and in main().
#include <cstdio>

constexpr int n = 8192;

// TODO: a structure of arrays
struct Body {
  float x, y, z, vx, vy, vz, mass, charge;
};

__global__ void move(Body* bodies, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bodies[i].x += dt * bodies[i].vx;
  bodies[i].y += dt * bodies[i].vy;
  bodies[i].z += dt * bodies[i].vz;
}

int main() {
  Body* bodies;
  cudaMallocManaged(&bodies, n * sizeof(Body));
  for (int i = 0; i < n; ++i) {
    const float f = i;
    bodies[i] = {f, 2 * f, 3 * f, 1, 2, 3, 1, 0};
  }
  move<<<n / 256, 256>>>(bodies, 0.5f);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i) {
    const float x = bodies[i].x, y = bodies[i].y, z = bodies[i].z;
    if (x != i + 0.5f || y != 2 * i + 1 || z != 3 * i + 1.5f) {
      std::printf("body %d is at (%g, %g, %g), and should be at (%g, %g, %g)\n", i, x, y, z, i + 0.5, 2.0 * i + 1,
                  3 * i + 1.5);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(bodies);
}
