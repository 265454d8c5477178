// Loads one operand's block tile from global to shared memory for mma.sync kernels, with all threads of a block. The
// tile keeps the operand's layout: its rows lie along the contiguous axis. Elements outside the matrix become zero.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::gemm_kernels {

using tile::sm80::piece_bytes;

// Outer x BK elements of an operand in shared memory.
template <class T, Major M, int Outer, int BK> struct MmaTile {
  static constexpr bool k_major = M == Major::k;
  static constexpr tile::sm80::Axis axis = k_major ? tile::sm80::Axis::k : tile::sm80::Axis::outer;
  // Whether a lane reads elements one by one: ldmatrix transposes only 16-bit elements.
  static constexpr bool singles = std::is_same_v<T, double> || (std::is_same_v<T, float> && !k_major);
  static constexpr tile::sm80::Reads reads = singles ? tile::sm80::Reads::singles : tile::sm80::Reads::matrices;
  using Element = T;
  static constexpr int size = static_cast<int>(sizeof(T)), outer = Outer, k = BK;
  static constexpr int rows = k_major ? Outer : BK, row_elements = k_major ? BK : Outer;
  static constexpr int row_bytes = row_elements * size, bytes = rows * row_bytes;
  static_assert(!singles || row_bytes >= 128, "they are swizzled over whole lines");
  static_assert(sizeof(T) > 1 || k_major, "no read brings four bytes of different rows together");

  __device__ __forceinline__ static unsigned at(unsigned row, unsigned byte) {
    return tile::sm80::swizzled(reads, row_bytes, row, byte);
  }

  // Where this lane begins to read fragments for a warp whose tile begins at `outer`, a multiple of 32.
  using Origin = unsigned;
  template <class Copy> __device__ __forceinline__ static Origin origin(unsigned outer, const Copy&) {
    const unsigned lane = threadIdx.x % 32;
    const tile::sm80::At e = singles ? tile::sm80::single_at(lane, 0) : tile::sm80::matrix_row_at(axis, lane);
    constexpr unsigned along_k = singles ? size : 2;  // ldmatrix counts in 16-bit elements, whatever the type
    return k_major ? at(outer + e.outer, e.k * along_k) : at(e.k, (outer + e.outer) * size);
  }
  // Reads the fragment at constant offsets `outer` and `k` of the tile at this address.
  template <int N>
  __device__ __forceinline__ static void read(unsigned tile, Origin origin, unsigned outer, unsigned k,
                                              tile::sm80::Register<T> (&to)[N]) {
    const unsigned from = tile + origin;
    const auto further = [=](unsigned o, unsigned along_k) {
      const tile::sm80::Step step = tile::sm80::step(axis, row_bytes, size, o, along_k);
      return (from ^ step.flip) + step.add;
    };
    if constexpr (singles) {
#pragma unroll
      for (unsigned i = 0; i < N; ++i) {
        const tile::sm80::At e = tile::sm80::single_at(0, i);
        tile::sm80::load_single(to[i], further(outer + e.outer, k + e.k));
      }
    } else {
      tile::sm80::load_matrices<!k_major>(to, further(outer, k));
    }
    if constexpr (std::is_same_v<T, float>) {
#pragma unroll
      for (unsigned i = 0; i < N; ++i) tile::sm80::round_to_tf32(to[i]);
    }
  }
};

// Outer x BK floats or 16-bit elements whose rows begin at any alignment, and lie in shared memory with the offset from
// 16 bytes that they have in global memory. Fragments are read in words or elements, from rows that are padded instead
// of swizzled: a lane's are 4 or 8 banks from its neighbour's, plus offsets of less than 4, so that two lanes meet in a
// bank at worst.
template <class T, Major M, int Outer, int BK> struct MmaPieceTile {
  static constexpr bool k_major = M == Major::k, words = sizeof(T) == 4;
  using Element = T;
  static constexpr int size = static_cast<int>(sizeof(T)), outer = Outer, k = BK;
  static constexpr int rows = k_major ? Outer : BK, row_elements = k_major ? BK : Outer;
  static constexpr int row_bytes = row_elements * size;
  static constexpr int pitch = row_bytes + (words && !k_major ? 2 : 1) * piece_bytes, bytes = rows * pitch;
  static_assert(sizeof(T) == 4 || sizeof(T) == 2);

  __device__ __forceinline__ static unsigned at(unsigned row, unsigned byte) { return row * pitch + byte; }

  // Where this lane begins to read fragments for a warp whose tile begins at `outer`, a multiple of 32. All rows of a
  // lane are multiples of a piece's elements apart, and have one offset. 16-bit neighbours along k that lie in two rows
  // have two.
  struct Origin {
    unsigned from, next;  // next: the second neighbour's; along k, bits by which a pair is ahead of its word
  };
  template <class Copy> __device__ __forceinline__ static Origin origin(unsigned outer, const Copy& copy) {
    const unsigned lane = threadIdx.x % 32;
    const tile::sm80::At e = words ? tile::sm80::single_at(lane, 0) : tile::sm80::pair_at(lane, 0);
    if constexpr (k_major) {
      const unsigned offset = copy.offset_of(e.outer), from = at(outer + e.outer, e.k * size + offset);
      return {from / 4 * 4, from % 4 * 8};
    } else {
      const unsigned byte = (outer + e.outer) * size;
      return {at(e.k, byte + copy.offset_of(e.k)), words ? 0 : at(e.k + 1, byte + copy.offset_of(e.k + 1))};
    }
  }
  // Reads the fragment at constant offsets `outer` and `k` of the tile at this address.
  template <int N>
  __device__ __forceinline__ static void read(unsigned tile, const Origin& origin, unsigned outer, unsigned k,
                                              unsigned (&to)[N]) {
#pragma unroll
    for (unsigned i = 0; i < N; ++i) {
      const tile::sm80::At e = words ? tile::sm80::single_at(0, i) : tile::sm80::pair_at(0, i);
      const unsigned o = outer + e.outer, along_k = k + e.k,
                     step = k_major ? at(o, along_k * size) : at(along_k, o * size);
      if constexpr (words) {
        tile::sm80::load_single(to[i], tile + origin.from + step);
        tile::sm80::round_to_tf32(to[i]);
      } else if constexpr (k_major) {
        unsigned low, high;
        tile::sm80::load_single(low, tile + origin.from + step);
        tile::sm80::load_single(high, tile + origin.from + step + 4);
        to[i] = static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> origin.next);
      } else {
        unsigned short low, high;
        tile::sm80::load_single(low, tile + origin.from + step);
        tile::sm80::load_single(high, tile + origin.next + step);
        to[i] = static_cast<unsigned>(high) << 16 | low;
      }
    }
  }
};

// A thread's share of a tile: vectors of Bytes at the same position in several rows. A pointer walks over them by the
// same steps from the first tile to the last.
template <class Tile, int Threads, int Bytes> class MmaWalk {
 public:
  using T = typename Tile::Element;

  // from_outer: the tile's first. outer_size, k_size: of the matrix.
  __device__ __forceinline__ MmaWalk(const Operand<T>& from, std::int64_t batch, std::int64_t from_outer,
                                     std::int64_t outer_size, int k_size) {
    k_left_ = k_size;
    outer_left_ = static_cast<int>(::min(outer_size - from_outer, std::int64_t{Tile::outer}));
    const std::int64_t pitch = Tile::k_major ? from.outer_stride : from.k_stride;
    const T* first = from.data + batch * from.batch_stride;
    first += (Tile::k_major ? from_outer * pitch : from_outer) + first_row() * pitch + first_element();
    from_ = reinterpret_cast<const char*>(first);
    row_step_ = step_rows * pitch * Tile::size;
    tile_step_ = (Tile::k_major ? Tile::k : Tile::k * pitch) * Tile::size - (vectors - 1) * row_step_;
  }

 protected:
  static constexpr int width = Bytes / Tile::size;  // elements per vector
  static constexpr int lanes = Tile::row_bytes / Bytes, step_rows = Threads / lanes, vectors = Tile::rows / step_rows;
  static_assert(Threads % lanes == 0 && Tile::rows % step_rows == 0, "the block's threads divide the tile evenly");

  __device__ __forceinline__ static int first_row() { return static_cast<int>(threadIdx.x) / lanes; }
  __device__ __forceinline__ static int first_element() { return static_cast<int>(threadIdx.x) % lanes * width; }
  // Position of vector i in a tile.
  __device__ __forceinline__ static unsigned vector_at(int i) {
    return Tile::at(first_row() + i * step_rows, first_element() * Tile::size);
  }

  __device__ __forceinline__ bool is_inner() const { return outer_left_ == Tile::outer && k_left_ >= Tile::k; }
  // Elements of vector i inside the matrix.
  __device__ __forceinline__ int elements(int i) const {
    const int rows_left = Tile::k_major ? outer_left_ : k_left_, row_left = Tile::k_major ? k_left_ : outer_left_;
    return first_row() + i * step_rows < rows_left ? ::max(0, ::min(row_left - first_element(), width)) : 0;
  }
  // Calls f(i) with from_ at vector i, and advances to the next tile.
  template <class F> __device__ __forceinline__ void for_vectors(F f) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      f(i);
      from_ += i + 1 < vectors ? row_step_ : tile_step_;
      tile::make_opaque(from_);
    }
    k_left_ -= Tile::k;
  }
  // The same for vectors at an edge: a loop where they are many, whose limits would take all registers.
  template <class F> __device__ __forceinline__ void for_edge_vectors(F f) {
    if constexpr (vectors <= 8) {
      for_vectors(f);
    } else {
      RIDGE_KEEP_LOOP
      for (int i = 0; i < vectors; ++i) {
        f(i);
        from_ += i + 1 < vectors ? row_step_ : tile_step_;
      }
      k_left_ -= Tile::k;
    }
  }

  const char* from_;                   // this thread's next vector
  std::int64_t row_step_, tile_step_;  // in bytes
  int k_left_, outer_left_;            // in the matrix, from this tile's first element on; outer_left_ at most outer
};

// Asynchronous copies of Bytes each. Precondition: every vector's address is a multiple of Bytes.
template <class Tile, int Threads, int Bytes> class MmaAsyncOperand : public MmaWalk<Tile, Threads, Bytes> {
  using Walk = MmaWalk<Tile, Threads, Bytes>;

 public:
  using Walk::Walk;
  __device__ __forceinline__ void start(unsigned char* tile) {
    if (this->is_inner()) {  // nearly always, and in half as many instructions
      this->for_vectors([&](int i) { tile::copy_async<Bytes>(tile + Walk::vector_at(i), this->from_); });
    } else {
      this->for_edge_vectors([&](int i) {
        tile::copy_async<Bytes>(tile + Walk::vector_at(i), this->from_, this->elements(i) * Tile::size);
      });
    }
  }
  __device__ __forceinline__ void finish(unsigned char*) const {}
};

// Rows of any alignment to a tile that keeps each row's offset: the aligned pieces of global memory that a row of the
// tile touches are copied as they are. A row that begins within a piece ends one piece later; a thread copies that last
// one of the row of its own number. What the first piece holds in front of the row is copied too, and never read.
template <class Tile, int Threads> class MmaPieceOperand : public MmaWalk<Tile, Threads, piece_bytes> {
  using Walk = MmaWalk<Tile, Threads, piece_bytes>;
  using T = typename Tile::Element;
  static_assert(Tile::rows <= Threads, "a thread for each row's last piece");
  static_assert(Walk::step_rows % Walk::width == 0 && Tile::k % Walk::width == 0,
                "a thread's rows, in this and the next tiles, have one offset");

 public:
  __device__ __forceinline__ MmaPieceOperand(const Operand<T>& from, std::int64_t batch, std::int64_t from_outer,
                                             std::int64_t outer_size, int k_size)
      : Walk(from, batch, from_outer, outer_size, k_size) {
    const std::int64_t pitch = Tile::k_major ? from.outer_stride : from.k_stride;
    const std::int64_t to_last_row = ((Tile::k_major ? outer_size : k_size) - 1) * pitch;
    const T* data = from.data + batch * from.batch_stride;
    first_ = reinterpret_cast<const char*>(data + ::min(to_last_row, std::int64_t{0}));
    tile_ = reinterpret_cast<const char*>(data + (Tile::k_major ? from_outer * pitch : from_outer));
    pitch_ = pitch * Tile::size;
    offset_ = offset_of(static_cast<unsigned>(Walk::first_row()));
    this->from_ -= offset_;
    last_offset_ = threadIdx.x < Tile::rows ? offset_of(threadIdx.x) : 0;
    last_ = tile_ + static_cast<int>(threadIdx.x) * pitch_ - last_offset_ + Tile::row_bytes;
    goes_on_ = outer_size - from_outer >= Tile::outer + Walk::width;
    // A row but the lowest one begins after other elements, and so does what is not its first piece.
    inside_ = from_outer > 0 && (!Tile::k_major || pitch > 0);
  }

  // Bytes from a multiple of 16 to the row's first element, in global and in shared memory alike.
  __device__ __forceinline__ unsigned offset_of(unsigned row) const {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(tile_ + static_cast<int>(row) * pitch_) %
                                 piece_bytes);
  }

  __device__ __forceinline__ void start(unsigned char* tile) {
    unsigned char* const to_last = tile + threadIdx.x * Tile::pitch + Tile::row_bytes;
    if (is_inner()) {  // nearly always, and in a third of the instructions
      if (last_offset_ != 0) tile::copy_async<piece_bytes>(to_last, last_);
      this->for_vectors([&](int i) { tile::copy_async<piece_bytes>(tile + Walk::vector_at(i), this->from_); });
    } else {
      if (last_offset_ != 0)
        copy(to_last, last_, static_cast<int>(threadIdx.x), Tile::row_elements - in_elements(last_offset_));
      this->for_edge_vectors([&](int i) {
        copy(tile + Walk::vector_at(i), this->from_, Walk::first_row() + i * Walk::step_rows,
             Walk::first_element() - in_elements(offset_));
      });
    }
    last_ += Tile::k_major ? Tile::row_bytes : Tile::k * pitch_;
    inside_ = inside_ || Tile::k_major || pitch_ > 0;
  }
  __device__ __forceinline__ void finish(unsigned char*) const {}

 private:
  // Whether all pieces of the tile are within the operand, from the first piece's start to the last one's end.
  __device__ __forceinline__ bool is_inner() const {
    if constexpr (Tile::k_major)
      return inside_ && this->outer_left_ == Tile::outer && this->k_left_ >= Tile::k + Walk::width;
    else return inside_ && goes_on_ && this->k_left_ >= Tile::k;
  }
  __device__ __forceinline__ static int in_elements(unsigned bytes) { return static_cast<int>(bytes) / Tile::size; }

  // Copies a piece of a row, whose first element is the row's element `first`, which is negative in front of it.
  __device__ __forceinline__ void copy(unsigned char* to, const char* from, int row, int first) const {
    const int rows_left = Tile::k_major ? this->outer_left_ : this->k_left_,
              row_left = Tile::k_major ? this->k_left_ : this->outer_left_;
    const int count = row < rows_left ? ::max(0, ::min(row_left - first, Walk::width)) : 0;
    if (from >= first_) {
      tile::copy_async<piece_bytes>(to, from, count * Tile::size);
    } else {  // what lies in front of the operand is not its caller's to give
      RIDGE_KEEP_LOOP
      for (int e = 0; e < Walk::width; ++e)
        reinterpret_cast<T*>(to)[e] = first + e >= 0 && e < count ? reinterpret_cast<const T*>(from)[e] : T{};
    }
  }

  const char* first_;              // the operand's first element in memory
  const char* tile_;               // element 0 of row 0 of this block's first tile
  const char* last_;               // the last piece of the row of this thread's number
  std::int64_t pitch_;             // in bytes
  unsigned offset_, last_offset_;  // of this thread's rows, and of the row of its number; in bytes
  bool inside_, goes_on_;          // no piece begins in front of the operand; along outer, none ends behind it
};

// For 16-bit elements in rows of any alignment: a 16-byte vector spans two aligned ones, which are loaded to registers
// and shifted there. Where these would reach past the operand's first or last element, or the vector past the matrix's
// edge, it is read element by element.
template <class Tile, int Threads> class MmaShiftedOperand : public MmaWalk<Tile, Threads, 16> {
  using Walk = MmaWalk<Tile, Threads, 16>;
  static_assert(Tile::size == 2);

 public:
  __device__ __forceinline__ MmaShiftedOperand(const Operand<typename Walk::T>& from, std::int64_t batch,
                                               std::int64_t from_outer, std::int64_t outer_size, int k_size)
      : Walk(from, batch, from_outer, outer_size, k_size) {
    const std::int64_t pitch = Tile::k_major ? from.outer_stride : from.k_stride;
    const std::int64_t to_last_row = ((Tile::k_major ? outer_size : k_size) - 1) * pitch;
    const auto* data = from.data + batch * from.batch_stride;
    first_ = reinterpret_cast<const char*>(data + ::min(to_last_row, std::int64_t{0}));
    last_ = reinterpret_cast<const char*>(data + ::max(to_last_row, std::int64_t{0}) +
                                          (Tile::k_major ? k_size : outer_size));
  }

  __device__ __forceinline__ void start(unsigned char*) {
    this->for_vectors([&](int i) {
      const int count = this->elements(i);
      const unsigned past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(this->from_)) % 16;
      const char* aligned = this->from_ - past;
      shift_[i] = past;
      if (count == Walk::width && aligned >= first_ && aligned + 32 <= last_) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(aligned) + 4 * half);
#pragma unroll
          for (int w = 0; w < 4; ++w) words_[i][4 * half + w] = words[w];
        }
      } else {
        shift_[i] = 0;
        const auto* elements = reinterpret_cast<const unsigned short*>(this->from_);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const unsigned low = 2 * w < count ? elements[2 * w] : 0, high = 2 * w + 1 < count ? elements[2 * w + 1] : 0;
          words_[i][w] = low | high << 16;
        }
      }
    });
  }

  __device__ __forceinline__ void finish(unsigned char* tile) const {
#pragma unroll
    for (int i = 0; i < Walk::vectors; ++i) {
      unsigned w[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) w[j] = words_[i][j];
      if (shift_[i] & 8) {
#pragma unroll
        for (int j = 0; j < 6; ++j) w[j] = w[j + 2];
      }
      if (shift_[i] & 4) {
#pragma unroll
        for (int j = 0; j < 5; ++j) w[j] = w[j + 1];
      }
      simt::vec<unsigned, 4> vector;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        vector[j] = static_cast<unsigned>((static_cast<std::uint64_t>(w[j + 1]) << 32 | w[j]) >> (shift_[i] & 2) * 8);
      simt::store(reinterpret_cast<unsigned*>(tile + Walk::vector_at(i)), vector);
    }
  }

 private:
  const char *first_, *last_;  // of the operand
  unsigned words_[Walk::vectors][8];
  unsigned shift_[Walk::vectors];  // bytes
};

// The same share of a tile of B, copied by type Half, and of the tile of G behind it.
template <class Tile, class Half> class MmaGatedOperand {
 public:
  using T = typename Tile::Element;
  __device__ __forceinline__ MmaGatedOperand(const GatedOperand<T>& from, std::int64_t batch, std::int64_t from_outer,
                                             std::int64_t outer_size, int k_size)
      : b_(from.b, batch, from_outer, outer_size, k_size), gate_(from.gate, batch, from_outer, outer_size, k_size) {}
  __device__ __forceinline__ const Half& half(int which) const { return which == 0 ? b_ : gate_; }
  __device__ __forceinline__ void start(unsigned char* tile) {
    b_.start(tile);
    gate_.start(tile + Tile::bytes);
  }
  __device__ __forceinline__ void finish(unsigned char* tile) {
    b_.finish(tile);
    gate_.finish(tile + Tile::bytes);
  }

 private:
  Half b_, gate_;
};

}  // namespace ridge::gemm_kernels
