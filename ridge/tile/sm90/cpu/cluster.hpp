// Clusters of blocks on the CPU runtime, where a block is a cluster of its own and exchanges with itself.
#pragma once
#include <ridge/simt/vec.hpp>
#include <ridge/tile/sm90/mbarrier.cuh>

namespace ridge::tile::sm90 {

inline void cluster_arrive() {}
inline void cluster_arrive_relaxed() {}
inline void cluster_wait() {}
template <class T> T* map_shared_rank(T* shared, unsigned /*rank*/) { return shared; }
template <class S> struct RemoteBuffer {
  S* place;
  Barrier* got;
  RemoteBuffer(S* to, Barrier* counts, unsigned /*rank*/) : place(to), got(counts) {}
  void send(int at, const simt::vec<S, 4>& x) const {
    simt::store(place + at, x);
    detail::arrived_bytes(got, sizeof x);
  }
};
inline void wait_cluster_scope(Barrier* b, unsigned parity) { wait(b, parity); }

}  // namespace ridge::tile::sm90
