// Checks the contents of offsets, lengths and page tables against the contract.
#include <ridge/attention/validate.hpp>
#include <ridge/core/check_indices.hpp>
#include <ridge/core/grid.hpp>

#include <algorithm>
#include <string>

namespace ridge::attention_detail {

static constexpr std::string_view op = "attention";

Status check_sequences(const AttentionProblem& p, const AttentionTensors& t, Stream stream) {
  if (t.cu_q) RIDGE_TRY(check_offsets(op, "cu_q", *t.cu_q, p.total_q, "the rows of q", stream));
  if (t.cu_k) RIDGE_TRY(check_offsets(op, "cu_k", *t.cu_k, p.total_k, "the rows of k", stream));
  if (!t.lengths) return {};
  const auto lengths = read_indices(op, "lengths", *t.lengths, stream);
  if (!lengths) return lengths.error();
  // A maximum may leave out later keys, which exist nevertheless.
  const std::int64_t columns = t.block_table ? t.block_table->size(1) : 0;
  const std::int64_t rows = t.block_table ? columns * p.page : t.k.size(2);
  for (std::size_t b = 0; b < lengths->size(); ++b)
    RIDGE_TRY(check_index(op, "lengths[" + std::to_string(b) + "]", (*lengths)[b], 0, rows,
                          t.block_table ? "the keys of a row of block_table" : "the rows of k"));
  if (!t.block_table) return {};
  const auto pages = read_indices(op, "block_table", *t.block_table, stream);
  if (!pages) return pages.error();
  for (std::size_t b = 0; b < lengths->size(); ++b) {
    const std::int64_t used = ceil_div(std::min((*lengths)[b], p.sk), p.page);  // entries that are read
    for (std::int64_t n = 0; n < used; ++n)
      RIDGE_TRY(check_index(op, "block_table[" + std::to_string(b) + ", " + std::to_string(n) + "]",
                            (*pages)[b * static_cast<std::size_t>(columns) + static_cast<std::size_t>(n)], 0,
                            p.pages - 1, "the pages of k"));
  }
  return {};
}

}  // namespace ridge::attention_detail
