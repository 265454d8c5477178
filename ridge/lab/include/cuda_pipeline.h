// CUDA's header of this name, for programs in the lab.
#pragma once
#include <ridge/lab/async.hpp>
