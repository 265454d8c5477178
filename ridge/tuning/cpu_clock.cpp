#include <ridge/tuning/clock.hpp>

#include <chrono>

namespace ridge::tuning {

namespace {
class CpuClock final : public Clock {
 public:
  Stream stream() const override { return {}; }
  Status nothing() override { return {}; }
  Result<std::function<Result<double>()>> prepare(int runs, std::function<Status(int)> work, bool) override {
    RIDGE_TRY(work(0));  // warms up
    return std::function<Result<double>()>([runs, work = std::move(work)]() -> Result<double> {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < runs; ++i) RIDGE_TRY(work(i));
      return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / runs;
    });
  }
};
}  // namespace

Result<std::unique_ptr<Clock>> make_cpu_clock() { return std::unique_ptr<Clock>(std::make_unique<CpuClock>()); }

}  // namespace ridge::tuning
