/* softmax and a histogram from C99, through ridge.h alone: ask for outputs, plan, explain, run, look at the result. */
#include <ridge.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 4
#define COLS 1000
#define BINS 16

static ridge_status failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, ridge_last_error());
  return RIDGE_INTERNAL_ERROR;
}

/* y = op(x). The plan is made and dropped here; a program keeps it for as long as the shapes stay. */
static int compute(const char* op, const ridge_option* options, int n_options, const DLTensor* x, DLTensor* y) {
  ridge_tensor_type types[RIDGE_MAX_TENSORS];
  int32_t n_types = 0;
  ridge_plan* plan = NULL;
  const DLTensor* output = y;
  ridge_status status;

  if (ridge_infer(op, &x, 1, options, n_options, types, &n_types) != RIDGE_OK) return failed(op);
  y->dtype = types[0].dtype;
  y->ndim = types[0].ndim;
  y->shape = types[0].shape;
  if (ridge_plan_create(op, &x, 1, &output, 1, options, n_options, NULL, &plan) != RIDGE_OK) return failed(op);
  printf("%s\n", ridge_plan_explain(plan));

  size_t bytes = ridge_plan_workspace_bytes(plan);
  void* memory = malloc(bytes + 256);
  if (!memory) return RIDGE_OUT_OF_MEMORY;
  void* workspace = (void*)(((uintptr_t)memory + 255) / 256 * 256);
  status = ridge_plan_run(plan, &x, &output, workspace, bytes, NULL);
  if (status != RIDGE_OK) failed(op);
  free(memory);
  ridge_plan_destroy(plan);
  return status;
}

int main(void) {
  static float x[ROWS * COLS], y[ROWS * COLS];
  static int64_t counts[BINS];
  int64_t shape[2] = {ROWS, COLS};
  DLTensor tx = {0}, ty = {0}, tc = {0};
  const ridge_option options[2] = {{"bins", "16"}, {"range", "0,1"}};
  int wrong = 0;

  for (int i = 0; i < ROWS * COLS; ++i) x[i] = (float)(i % COLS) / COLS;
  tx.data = x;
  tx.device.device_type = kDLCPU;
  tx.dtype.code = kDLFloat;
  tx.dtype.bits = 32;
  tx.dtype.lanes = 1;
  tx.ndim = 2;
  tx.shape = shape;
  ty.device = tc.device = tx.device;
  ty.data = y;
  tc.data = counts;

  printf("Ridge %s, %s CUDA\n\n", ridge_version(), ridge_has_cuda() ? "with" : "without");
  if (compute("softmax", NULL, 0, &tx, &ty) != RIDGE_OK) return 1;
  if (compute("histogram", options, 2, &tx, &tc) != RIDGE_OK) return 1;

  for (int row = 0; row < ROWS; ++row) {
    double sum = 0, all = 0;
    for (int col = 0; col < COLS; ++col) all += exp((double)x[row * COLS + col]);
    for (int col = 0; col < COLS; ++col) {
      const double expected = exp((double)x[row * COLS + col]) / all;
      sum += y[row * COLS + col];
      wrong += fabs(y[row * COLS + col] - expected) > 1e-5 * expected;
    }
    printf("row %d of softmax sums to %.7f\n", row, sum);
  }
  for (int bin = 0; bin < BINS; ++bin) {
    int64_t expected = 0;
    for (int i = 0; i < ROWS * COLS; ++i) expected += (int)(x[i] * BINS) == bin;
    wrong += counts[bin] != expected;
  }
  printf("the histogram has %d bins, the first with %d samples\n", BINS, (int)counts[0]);

  /* A request that is wrong: a sentence, and no result. */
  const DLTensor* input = &tx;
  ridge_plan* plan = NULL;
  wrong += ridge_plan_create("softmaxx", &input, 1, NULL, 0, NULL, 0, NULL, &plan) != RIDGE_INVALID_ARGUMENT;
  printf("refused: %s\n", ridge_last_error());
  printf(wrong ? "%d WRONG\n" : "all right\n", wrong);
  return wrong != 0;
}
