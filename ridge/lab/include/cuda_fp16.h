// __half and __half2.
#pragma once
#include <ridge/lab/half.hpp>
