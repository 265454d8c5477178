// Nothing: ridge/lab/cuda.hpp, which comes before every file, has what this header has.
#pragma once
