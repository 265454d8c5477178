// CUDA's thread scopes, and the orders of its atomics. Scopes make no difference among the cores of one machine.
#pragma once
#include <atomic>

namespace cuda {

enum thread_scope : int { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread = 10 };

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
namespace std {
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
}  // namespace std

}  // namespace cuda
