// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/launch_recorder.hpp>
#include <ridge/transpose/launch.hpp>
#include <ridge/transpose/narrow.cuh>
#include <ridge/transpose/quads.cuh>
#include <ridge/transpose/runs.cuh>
#include <ridge/transpose/shifted.cuh>
#include <ridge/transpose/span.cuh>
#include <ridge/transpose/textbook.cuh>
#include <ridge/transpose/thin.cuh>
#include <ridge/transpose/tile.cuh>
#include <ridge/transpose/turned.cuh>

#include <utility>

namespace ridge::transpose_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

struct Arguments {
  const Form& form;
  const void* x;
  void* y;
  Stream stream;
  const DeviceInfo& device;
};

// A kernel of a row that overlaps, or another.
template <class... P, class... A>
static Status start(const Arguments& args, bool overlaps, const simt::Config& at, void (*kernel)(P...), const A&... a) {
  if (overlaps && args.device.cc == 90) return tile::launch_overlapping(at, kernel, a...);
  return simt::launch(at, kernel, a...);
}

// Every axis of a form, y's fastest last.
static Axes all_axes(const Form& f) {
  Axes axes = f.outer;
  if (f.kind == Kind::matrices) {
    axes.push(f.cols, 1, f.pitch_y);
    axes.push(f.rows, f.pitch_x, 1);
  } else if (f.kind != Kind::strided) {
    axes.push(f.cols, 1, 1);
  }
  return axes;
}

template <int I, int Unit> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  using T = Bits<Unit>;
  const Form& f = args.form;
  const Tiles tiles = tiles_of(c, f);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(tiles.count())),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(smem_bytes(c, Unit)),
                        .stream = args.stream.handle,
                        .warp = args.device.warp};
  const T* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y);
  const int above = y_shifted(f) ? per_chunk(Unit) - 1 : 0;
  if constexpr (c.method == Method::naive) {
    return simt::launch(at, transpose_naive<Row<I>, T>, x, y, f, tiles);
  } else if constexpr (c.method == Method::square) {
    return simt::launch(at, transpose_square<Row<I>, T>, x, y, f, tiles);
  } else if constexpr (c.method == Method::runs) {
    return simt::launch(at, permute_runs<Row<I>, T>, x, y, f.count(), f);
  } else if constexpr (c.method == Method::copy) {
    return simt::launch(at, permute_copy<Row<I>, T>, x, y, f.count());
  } else if constexpr (c.method == Method::strided) {
    return simt::launch(at, permute_strided<Row<I>, T>, x, y, f.count(), all_axes(f));
  } else if constexpr (c.method == Method::thin) {
    const auto launch = [&]<int Width>() {
      return start(args, overlaps(c, Unit), at, transpose_thin<Row<I>, T, Width>, x, y, f, tiles, y_shifted(f));
    };
    if constexpr (Unit < chunk_bytes) {
      switch (f.cols) {
        case 2: return launch.template operator()<2>();
        case 3: return launch.template operator()<3>();
        case 4:
          if constexpr (is_quads(Unit, 4))
            return start(args, overlaps(c, Unit), at, transpose_quads<Row<I>, T>, x, y, f, tiles, y_shifted(f));
          else return launch.template operator()<4>();
        case 8: return launch.template operator()<8>();
      }
    }
    return Status::error(Code::unsupported, "transpose: no such width");  // refused by fits()
  } else if constexpr (c.method == Method::narrow_in) {
    return simt::launch(at, transpose_narrow_in<Row<I>, T>, x, y, f, tiles, above, Divider(f.cols));
  } else if constexpr (c.method == Method::narrow_out) {
    return simt::launch(at, transpose_narrow_out<Row<I>, T>, x, y, f, tiles, above,
                        Divider(narrow_pitch(c, Unit, f.rows)), Divider(f.rows));
  } else if constexpr (c.method == Method::span) {
    const std::int64_t period = span_period(f);
    const bool periodic = period <= c.threads;
    const SpanShape shape{.all = f.outer.count(),
                          .matrices = static_cast<int>(span_matrices(c, f)),
                          .rows = static_cast<int>(f.rows),
                          .cols = static_cast<int>(f.cols),
                          .spread = f.spread,
                          .step = static_cast<int>(periodic ? c.threads / period * period : c.threads),
                          .periodic = periodic,
                          .by_size = Divider(f.rows * f.cols),
                          .by_rows = Divider(f.rows)};
    return start(args, overlaps(c, Unit), at, transpose_span<Row<I>, T>, x, y, shape);
  } else if constexpr (!has_tile(c, Unit)) {
    return Status::error(Code::unsupported, "transpose: this variant has no such tile");  // refused by fits()
  } else if constexpr (c.method == Method::tile) {
    return start(args, overlaps(c, Unit), at, transpose_tile<Row<I>, T>, x, y, f, tiles);
  } else if constexpr (turns(Unit)) {
    return simt::launch(at, transpose_turned<Row<I>, T>, x, y, f, tiles, y_shifted(f));
  } else {
    return simt::launch(at, transpose_shifted<Row<I>, T>, x, y, f, tiles, above);
  }
}

template <int Unit, int... I>
static Status launch_variant(int variant, const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((variant == I ? void(status = launch_row<I, Unit>(args)) : void()), ...);
  return status;
}

template <>
Status launch<simt::Backend>(int variant, const DeviceInfo& device, const Form& form, const void* x, void* y,
                             Stream stream) {
  const Arguments args{form, x, y, stream, device};
  constexpr auto rows = std::make_integer_sequence<int, variant_count>{};
  switch (form.unit) {
    case 1: return launch_variant<1>(variant, args, rows);
    case 2: return launch_variant<2>(variant, args, rows);
    case 4: return launch_variant<4>(variant, args, rows);
    case 8: return launch_variant<8>(variant, args, rows);
    default: return launch_variant<16>(variant, args, rows);
  }
}

}  // namespace ridge::transpose_detail
