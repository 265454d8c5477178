// The number of calls of operator new on the calling thread.
#pragma once

extern thread_local long allocations;
