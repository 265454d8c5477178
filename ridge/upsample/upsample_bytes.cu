// upsample of i8 and u8, which are copied alike.
#include <ridge/upsample/dispatch.cuh>

namespace ridge::upsample_detail {

template <> Status launch_bytes<simt::Backend>(const Arguments& args) { return launch_table<std::uint8_t>(args); }

}  // namespace ridge::upsample_detail
