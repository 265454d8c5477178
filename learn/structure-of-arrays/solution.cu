// ridge learn structure-of-arrays
//
// With an array for each member, the 32 lanes of a warp load 32 x that lie in a row: 4 sectors where there were 32. An
// array of structures moves as many bytes only if all members of a body are used by the same instruction; mass and
// charge, which are not used here, no longer travel with the rest.
#include <cstdio>

constexpr int n = 8192;

struct Bodies {
  float *x, *y, *z, *vx, *vy, *vz, *mass, *charge;
};

__global__ void move(Bodies bodies, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bodies.x[i] += dt * bodies.vx[i];
  bodies.y[i] += dt * bodies.vy[i];
  bodies.z[i] += dt * bodies.vz[i];
}

int main() {
  Bodies bodies;
  for (float** member :
       {&bodies.x, &bodies.y, &bodies.z, &bodies.vx, &bodies.vy, &bodies.vz, &bodies.mass, &bodies.charge})
    cudaMallocManaged(member, n * sizeof(float));
  for (int i = 0; i < n; ++i) {
    bodies.x[i] = i, bodies.y[i] = 2 * i, bodies.z[i] = 3 * i;
    bodies.vx[i] = 1, bodies.vy[i] = 2, bodies.vz[i] = 3;
    bodies.mass[i] = 1, bodies.charge[i] = 0;
  }
  move<<<n / 256, 256>>>(bodies, 0.5f);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i) {
    const float x = bodies.x[i], y = bodies.y[i], z = bodies.z[i];
    if (x != i + 0.5f || y != 2 * i + 1 || z != 3 * i + 1.5f) {
      std::printf("body %d is at (%g, %g, %g), and should be at (%g, %g, %g)\n", i, x, y, z, i + 0.5, 2.0 * i + 1,
                  3 * i + 1.5);
      return 1;
    }
  }
  std::printf("right\n");
  for (float* member : {bodies.x, bodies.y, bodies.z, bodies.vx, bodies.vy, bodies.vz, bodies.mass, bodies.charge})
    cudaFree(member);
}
