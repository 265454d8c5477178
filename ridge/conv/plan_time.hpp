// What rows that run by further plans of this operator ask of such a plan.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/roofline/predict.hpp>

#include <string>

namespace ridge::conv_detail {

RIDGE_API double predicted_us(const ConvPlan&);
RIDGE_API roofline::Kernel kernel_of(const ConvPlan&);  // the launch of the chosen row, or of the first nested one
RIDGE_API std::string row_of(const ConvPlan&);          // its name, and those of nested ones

}  // namespace ridge::conv_detail
