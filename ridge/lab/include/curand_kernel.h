// cuRAND for kernels.
#pragma once
#include <ridge/lab/random.hpp>
