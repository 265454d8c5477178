// A plan of the library, with what a call needs beside it: what its results are, and who makes them.
#pragma once
#include "request.hpp"

namespace ridge_python {

class Planned {
 public:
  Planned(const Planned&) = delete;
  ~Planned() { ridge_plan_destroy(plan_); }

  // The request's plan. Where it brings no outputs: for contiguous, aligned ones, which make_outputs() makes.
  static std::shared_ptr<Planned> of(const Request&, const char* device = nullptr);

  std::vector<Ref> make_outputs(const Framework&, const DLDevice&);

  // Runs on the tensors of the request; borrows the workspace where none is given. Without the GIL.
  void run(const Request&, void* workspace = nullptr, std::size_t workspace_bytes = 0);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  const char* explain() const { return ridge_plan_explain(plan_); }
  const char* explain_json() const { return ridge_plan_explain_json(plan_); }
  std::size_t output_count() const { return types_.size(); }

 private:
  Planned() = default;
  void run_on(const Request&, void* workspace, std::size_t bytes) const;

  ridge_plan* plan_ = nullptr;
  std::size_t workspace_bytes_ = 0;
  std::vector<ridge_tensor_type> types_;  // of the outputs
  const Framework* maker_ = nullptr;      // whose makers_ these are
  DLDevice maker_device_{};
  std::vector<Ref> makers_;  // callables that make one output each
  Ref scratch_;              // the callable that makes the workspace
};

// What the caller gets: the one output, or a tuple of them.
Ref result_of(const Request&);

}  // namespace ridge_python
