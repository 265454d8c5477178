// How often the calling thread has called operator new.
#pragma once

extern thread_local long allocations;
