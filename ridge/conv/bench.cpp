// What the command line's check and bench know of the family's operators.
#include <ridge/conv/signal_cases.hpp>
#include <ridge/conv/transpose_cases.hpp>
#include <ridge/conv/volume_cases.hpp>

namespace ridge::conv_detail {

static const check::RegisterCases images(conv2d_book()), signals(conv1d_book()), volumes(conv3d_book()),
    transposed_images(conv_transpose2d_book()), transposed_signals(conv_transpose1d_book());

}  // namespace ridge::conv_detail
