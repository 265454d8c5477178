// softmax from C++: the one-line call, and a plan explained for a GPU that is not here.
#include <ridge/softmax/softmax.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  std::vector<float> x(8 * 100), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  ridge::softmax(ridge::view(x.data(), {8, 100}), ridge::view(y.data(), {8, 100}));
  int wrong = 0;
  for (int row = 0; row < 8; ++row) {
    double sum = 0;
    for (int col = 0; col < 100; ++col) sum += y[row * 100 + col];
    wrong += !(std::abs(sum - 1) < 1e-5);
  }

  const auto h200 = ridge::device_model("H200");
  const auto plan = ridge::plan_softmax({.rows = 8192, .cols = 50257, .dtype = ridge::bf16}, *h200);
  if (!plan) return std::puts(plan.error().message().data()), 1;
  std::puts(plan->explain().text().c_str());

  try {
    ridge::softmax(ridge::view(x.data(), {8, 100}), ridge::view(y.data(), {100, 8}));
    ++wrong;
  } catch (const ridge::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
  std::puts(wrong ? "WRONG" : "all right");
  return wrong != 0;
}
