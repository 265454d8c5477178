// float32 on Hopper's tensor cores.
#include <ridge/attention/sm90_terms.cuh>

namespace ridge::attention_detail {

Status launch_wgmma_terms(const Call& call) { return launch_row<WgmmaTermsRows>(call); }

}  // namespace ridge::attention_detail
