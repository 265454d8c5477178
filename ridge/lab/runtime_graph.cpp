// CUDA graphs are not emulated. What begins one says so; what ends one fails quietly.
#include <ridge/lab/runtime_checks.hpp>

using namespace ridge::lab;

static cudaError_t refuse(Place at) { return misuse(cudaErrorNotSupported, at, "CUDA graphs are not emulated"); }

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode, Place at) { return refuse(at); }
cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned, Place at) { return refuse(at); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long, Place at) { return refuse(at); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, cudaGraphNode_t*, char*, std::size_t, Place at) {
  return refuse(at);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long, Place at) {
  return refuse(at);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t, Place at) { return refuse(at); }

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph, Place) {
  if (graph) *graph = nullptr;
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaGraphExecDestroy(Placed<cudaGraphExec_t>) { return fail(cudaErrorNotSupported); }
cudaError_t cudaGraphDestroy(Placed<cudaGraph_t>) { return fail(cudaErrorNotSupported); }

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
