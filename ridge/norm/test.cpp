#include <ridge/check/gtest_cases.hpp>
#include <ridge/norm/norm.hpp>
#include <ridge/norm/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using norm_detail::variants;

const check::TestCasesOf cases{"layer_norm", "rms_norm", "add_layer_norm", "add_rms_norm"};

}  // namespace
}  // namespace ridge
