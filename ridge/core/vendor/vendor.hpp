// The runtime of this build's GPU.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_VENDOR_IS_HIP
#include <ridge/core/vendor/hip.hpp>
#elif RIDGE_VENDOR_IS_MUSA
#include <ridge/core/vendor/musa.hpp>
#elif RIDGE_VENDOR_IS_MACA
#include <ridge/core/vendor/maca.hpp>
#elif RIDGE_VENDOR_IS_ILUVATAR
#include <ridge/core/vendor/iluvatar.hpp>
#else
#include <ridge/core/vendor/cuda.hpp>
#endif
