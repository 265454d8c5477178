// cooperative_groups: memcpy_async, and the wait for it. Each thread of the group copies a share.
#pragma once
#include <ridge/lab/aligned_size.hpp>
#include <ridge/lab/copies.hpp>
#include <ridge/lab/groups/group.hpp>

#include <algorithm>

namespace cooperative_groups {

// Copies `bytes`, a number or a cuda::aligned_size_t.
template <class Group, class T, class Size>
void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes,
                  ridge::lab::where at = ridge::lab::where::current()) {
  ridge::lab::share_copy(to, from, static_cast<std::size_t>(bytes), ridge::lab::alignment_of<Size>,
                         static_cast<std::size_t>(group.thread_rank()), static_cast<std::size_t>(group.size()), at,
                         ridge::lab::queue_copy);
  ridge::lab::commit_copies();
}
// Copies as many elements as both hold.
template <class Group, class T, class ToSize, class FromSize>
void memcpy_async(const Group& group, T* to, const ToSize& to_elements, const T* from, const FromSize& from_elements,
                  ridge::lab::where at = ridge::lab::where::current()) {
  const std::size_t elements = std::min(static_cast<std::size_t>(to_elements), static_cast<std::size_t>(from_elements));
  memcpy_async(group, to, from, elements * sizeof(T), at);
}

// Waits for all of the group's copies but the latest `Prior`.
template <unsigned Prior, class Group>
void wait_prior(const Group& group, ridge::lab::where at = ridge::lab::where::current()) {
  ridge::lab::wait_copies_prior(Prior);
  group.sync(at);
}
template <class Group> void wait(const Group& group, ridge::lab::where at = ridge::lab::where::current()) {
  wait_prior<0>(group, at);
}

}  // namespace cooperative_groups
