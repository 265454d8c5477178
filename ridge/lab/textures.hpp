// What CUDA has for textures and surfaces, and the lab has not: each name is refused where it is used, in a sentence
// that `ridge lab` shows (apps/ridge/lab/toolchain.cpp).
#pragma once

#define RIDGE_LAB_NO_TEXTURES \
  __attribute__((unavailable("textures and surfaces are not emulated: read global memory by its pointer")))

using cudaTextureObject_t RIDGE_LAB_NO_TEXTURES = unsigned long long;
using cudaSurfaceObject_t RIDGE_LAB_NO_TEXTURES = unsigned long long;
struct RIDGE_LAB_NO_TEXTURES cudaArray;
using cudaArray_t RIDGE_LAB_NO_TEXTURES = void*;
struct RIDGE_LAB_NO_TEXTURES cudaTextureDesc {};
struct RIDGE_LAB_NO_TEXTURES cudaResourceDesc {};
struct RIDGE_LAB_NO_TEXTURES cudaChannelFormatDesc {};

#define RIDGE_LAB_TEXTURE_FUNCTION(name) template <class T = int, class... A> RIDGE_LAB_NO_TEXTURES T name(A...)
RIDGE_LAB_TEXTURE_FUNCTION(tex1D);
RIDGE_LAB_TEXTURE_FUNCTION(tex1Dfetch);
RIDGE_LAB_TEXTURE_FUNCTION(tex1DLayered);
RIDGE_LAB_TEXTURE_FUNCTION(tex2D);
RIDGE_LAB_TEXTURE_FUNCTION(tex2Dgather);
RIDGE_LAB_TEXTURE_FUNCTION(tex2DLayered);
RIDGE_LAB_TEXTURE_FUNCTION(tex2DLod);
RIDGE_LAB_TEXTURE_FUNCTION(tex3D);
RIDGE_LAB_TEXTURE_FUNCTION(texCubemap);
RIDGE_LAB_TEXTURE_FUNCTION(surf1Dread);
RIDGE_LAB_TEXTURE_FUNCTION(surf1Dwrite);
RIDGE_LAB_TEXTURE_FUNCTION(surf2Dread);
RIDGE_LAB_TEXTURE_FUNCTION(surf2Dwrite);
RIDGE_LAB_TEXTURE_FUNCTION(surf3Dread);
RIDGE_LAB_TEXTURE_FUNCTION(surf3Dwrite);
RIDGE_LAB_TEXTURE_FUNCTION(cudaCreateChannelDesc);
RIDGE_LAB_TEXTURE_FUNCTION(cudaMallocArray);
RIDGE_LAB_TEXTURE_FUNCTION(cudaMalloc3DArray);
RIDGE_LAB_TEXTURE_FUNCTION(cudaCreateTextureObject);
RIDGE_LAB_TEXTURE_FUNCTION(cudaCreateSurfaceObject);
#undef RIDGE_LAB_TEXTURE_FUNCTION
#undef RIDGE_LAB_NO_TEXTURES
