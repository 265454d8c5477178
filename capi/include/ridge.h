/* ridge.h: Ridge's operators for C, and for every language that can call C.
 *
 * An operator is known by its name, its tensors are DLPack's, its options are texts: a new operator changes nothing
 * here. The sequence of calls is always the same:
 *
 *   ridge_infer            types and shapes of the outputs (where the caller has to allocate them)
 *   ridge_plan_create      chooses a variant for these shapes, strides, types and this device
 *   ridge_plan_run         runs it, as often as wanted, on tensors like those planned for
 *   ridge_plan_destroy
 *
 * Errors    A function that can fail returns a ridge_status, and ridge_last_error() has the sentence. After a failure
 *           nothing was launched, except after a kernel's or the device's fault, which leaves the outputs undefined. No
 *           exception leaves the library.
 * Threads   Every function may be called from any thread. One plan may be run by several threads at once, each with
 *           outputs and a workspace of its own.
 * Tensors   DLTensor as it is: byte_offset counts, strides may be NULL (row major without gaps), zero or negative,
 *           ndim 0 is a scalar, sizes may be 0 (then data may be NULL). Refused: more than RIDGE_MAX_RANK axes, lanes
 *           other than 1, an element type that Ridge does not have, data that is not aligned to its element's size,
 *           2^63 bytes or more, elements beyond an end of the address space.
 * Types     f64 f32 f16 (kDLFloat), bf16 (kDLBfloat), f8e4m3 (kDLFloat8_e4m3fn), f8e5m2 (kDLFloat8_e5m2), i64 i32 i8
 *           (kDLInt), u8 (kDLUInt), bool (kDLBool, 8 bits). Each operator takes some of them: ridge_ops_json().
 * Devices   kDLCPU: Ridge's CPU runtime. kDLCUDA: GPU number device_id. Memory that both can reach counts as on the
 *           device of the request's other tensors; without others, kDLCUDAHost counts as the CPU's and kDLCUDAManaged
 *           as the GPU's. Other devices are refused, and so are requests with tensors on different devices.
 */
#ifndef RIDGE_H
#define RIDGE_H

#include "ridge/dlpack.h"

#include <stddef.h>
#include <stdint.h>

#if defined(RIDGE_STATIC) || defined(_WIN32)
#define RIDGE_C_API
#else
#define RIDGE_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned; /* <dlpack/dlpack.h> before 1.0 has none */

#define RIDGE_MAX_RANK 8     /* axes of a tensor */
#define RIDGE_MAX_TENSORS 16 /* inputs of a request, and as many outputs */

typedef enum ridge_status {
  RIDGE_OK = 0,
  RIDGE_INVALID_ARGUMENT = 1, /* the request contradicts the operator's contract, or this file */
  RIDGE_UNSUPPORTED = 2,      /* the request is legal, and no variant takes it */
  RIDGE_NO_DEVICE = 3,        /* a GPU was asked for, and there is none */
  RIDGE_OUT_OF_MEMORY = 4,
  RIDGE_KERNEL_FAULT = 5, /* a kernel broke a rule of the CPU runtime */
  RIDGE_DEVICE_ERROR = 6, /* the GPU's driver or runtime reported an error */
  RIDGE_IO = 7,
  RIDGE_INTERNAL_ERROR = 8, /* a fault of Ridge's own */
  RIDGE_INTERRUPTED = 9     /* the caller interrupted the work: ridge_set_interrupt() */
} ridge_status;

/* "ok", "invalid_argument", ...; "unknown" for a number that is none of them. */
RIDGE_C_API const char* ridge_status_name(ridge_status status);

/* The sentence of the calling thread's last call that failed: operator, argument, value and what it must be. "" if no
 * call has failed; calls that succeed do not change it. Valid until the thread's next call that fails. */
RIDGE_C_API const char* ridge_last_error(void);

/* ---- version, devices, tuning, operators ------------------------------------------------------------------------- */

RIDGE_C_API const char* ridge_version(void); /* "0.1.0" */
RIDGE_C_API int ridge_has_cuda(void);        /* 1: the GPU variants are built in; 0: the CPU's alone */
RIDGE_C_API int ridge_device_count(void);    /* GPUs that can be used now; 0 also without CUDA or without a driver */

/* Sets the tuning mode for plans made from now on, in all threads: "1" times the few variants that are predicted to be
 * nearly as fast as the chosen one when a plan first runs, and keeps the fastest in the tuning file; "read" uses the
 * file's choices and measures nothing; "0" does neither. It overrides the environment's RIDGE_TUNE; a plan's option
 * tune=0 or tune=1 overrides it. The file is the one that RIDGE_TUNE_CACHE names, else ridge/tuning in the user's cache
 * folder. A first run that measures waits for its stream and allocates; under graph capture nothing is measured. */
RIDGE_C_API ridge_status ridge_set_tuning(const char* mode);

/* Every operator, as JSON: {"operators": [{"name", "family", "summary", "inputs", "optional_inputs", "outputs",
 * "optional_outputs", "dtypes" (of the first input), "options": [{"name", "values", "help", "default", "required"}],
 * "variants": [{"name", "step", "item"}]}]}. A default is a text that may be given as well; null: it is as `help` says.
 * Valid as long as the process. NULL only where memory has run out. */
RIDGE_C_API const char* ridge_ops_json(void);

/* ---- outputs' types ---------------------------------------------------------------------------------------------- */

/* "bins" = "64", "variant" = "naive", ... An operator's options are in ridge_ops_json(); every operator takes
 * "variant". Where a key occurs twice, the last value counts. */
typedef struct ridge_option {
  const char* key;
  const char* value;
} ridge_option;

typedef struct ridge_tensor_type {
  DLDataType dtype;
  int32_t ndim;
  int64_t shape[RIDGE_MAX_RANK]; /* ndim sizes */
} ridge_tensor_type;

/* The types and shapes of this request's outputs. The inputs' data is not used.
 *   inputs    n_inputs tensors, in the operator's order
 *   options   n_options pairs; NULL where there are none
 *   types     room for RIDGE_MAX_TENSORS; receives *n_types of them, in the operator's order */
RIDGE_C_API ridge_status ridge_infer(const char* op, const DLTensor* const* inputs, int32_t n_inputs,
                                     const ridge_option* options, int32_t n_options, ridge_tensor_type* types,
                                     int32_t* n_types);

/* ---- plans ------------------------------------------------------------------------------------------------------- */

/* The variant chosen for one request, and all that it needs to run. The variant changes at most once: when a plan that
 * measures (ridge_set_tuning) first runs. */
typedef struct ridge_plan ridge_plan;

/* Plans `op` for tensors of these types, shapes, strides, devices and alignments. It reads and writes no data, and
 * keeps no pointer to the tensors or the texts. A tensor whose data is NULL counts as fully aligned and as apart from
 * the others (byte_offset is ignored then), so that a plan can be made before its tensors.
 *   outputs   n_outputs tensors, of the types and shapes that ridge_infer gives
 *   device    NULL: the device of the tensors. "cpu", "cuda", "cuda:1": this device, which must be the tensors'. The
 *             name of a model ("H200", "A100", ...): as if the tensors were on one; such a plan explains and never runs
 *   plan      receives the plan, or NULL on failure */
RIDGE_C_API ridge_status ridge_plan_create(const char* op, const DLTensor* const* inputs, int32_t n_inputs,
                                           const DLTensor* const* outputs, int32_t n_outputs,
                                           const ridge_option* options, int32_t n_options, const char* device,
                                           ridge_plan** plan);

/* Bytes of scratch memory that every run borrows; often 0. */
RIDGE_C_API size_t ridge_plan_workspace_bytes(const ridge_plan* plan);

/* The variant and its candidates, its bound, its least and predicted time: as text for people, and as the JSON of
 * `ridge explain --json` {"operator", "problem", "device", "variant", "bound", "bytes", "operations", "least_us",
 * "predicted_us", "workspace_bytes", "candidates": [{"variant", "fits", "reason", ...}], ...}. Made on the first call;
 * valid as long as the plan. NULL where plan is NULL or memory has run out. */
RIDGE_C_API const char* ridge_plan_explain(const ridge_plan* plan);
RIDGE_C_API const char* ridge_plan_explain_json(const ridge_plan* plan);

/* Runs the plan on tensors of the planned number, order, types, shapes, strides (of axes longer than 1) and device,
 * with at least the planned alignment. On a GPU the work is queued: no allocation, no synchronisation, no copy (except
 * where a plan first measures, ridge_set_tuning), safe under graph capture, whatever device is current. On the CPU it
 * is done on return.
 *   workspace, workspace_bytes   scratch memory on the plan's device, apart from the tensors', 256-byte aligned, at
 *                                least ridge_plan_workspace_bytes(); NULL and 0 where that is 0
 *   stream                       a cudaStream_t of the plan's device, NULL for the default stream; ignored on a CPU */
RIDGE_C_API ridge_status ridge_plan_run(const ridge_plan* plan, const DLTensor* const* inputs,
                                        const DLTensor* const* outputs, void* workspace, size_t workspace_bytes,
                                        void* stream);

/* Sets a function that the calling thread's runs on the CPU call when they start and about twenty times a second: if
 * asked(context) returns not 0, the run ends within a second with RIDGE_INTERRUPTED and undefined outputs. It must not
 * call Ridge, nor wait for a thread that does. NULL, the default: no function. Other threads and GPUs never call it. */
RIDGE_C_API void ridge_set_interrupt(int (*asked)(void* context), void* context);

/* Destroys the plan. Work that is already queued is not affected. NULL is allowed. */
RIDGE_C_API void ridge_plan_destroy(ridge_plan* plan);

/* ---- tensors with an owner --------------------------------------------------------------------------------------- */

/* Checks a tensor that was passed with its owner (a "dltensor_versioned" capsule) and returns the tensor inside:
 *   RIDGE_UNSUPPORTED        its major version is not DLPack 1's, so nothing else of it can be read
 *   RIDGE_INVALID_ARGUMENT   for_output is not 0, and the owner marked the tensor read-only
 * On success the caller calls managed->deleter when done with *tensor. On failure *tensor is NULL, and the deleter has
 * been called: managed is gone. (An unversioned DLManagedTensor needs no check: its dl_tensor can be used at once.) */
RIDGE_C_API ridge_status ridge_tensor_of_managed(struct DLManagedTensorVersioned* managed, int for_output,
                                                 const DLTensor** tensor);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* RIDGE_H */
