// CUDA's <cooperative_groups.h>. Its further headers are groups/reduce.hpp, scan.hpp and memcpy_async.hpp.
#pragma once
#include <ridge/lab/groups/group.hpp>
#include <ridge/lab/groups/lanes.hpp>
