// What operators that run products by gemm's plans ask of a plan.
#pragma once
#include <ridge/gemm/gemm.hpp>
#include <ridge/roofline/predict.hpp>

#include <string>

namespace ridge::gemm_detail {

RIDGE_API roofline::Kernel kernel_of(const GemmPlan&);  // the launch of the chosen row
RIDGE_API double predicted_us(const GemmPlan&);
RIDGE_API std::string row_of(const GemmPlan&);  // its name

}  // namespace ridge::gemm_detail
