// Cases of the transposed convolutions.
#pragma once
#include <ridge/conv/cases.hpp>

namespace ridge::conv_detail {

inline check::CaseBook conv_transpose2d_book() {
  const std::string op = "conv_transpose2d";
  check::CaseBook book = empty_book(op, {"n", "c", "h", "w", "k", "r"}, {"s"});
  const auto test = [&](const std::string& rest) { book.tests.push_back(op + ":" + rest); };
  const char* const layouts[] = {"", ":layout=nhwc"};
  // Nothing, and one of each: no images, channels in or out; one pixel; padding that leaves one pixel of y.
  for (const char* size :
       {"n=0,c=2,h=4,w=4,k=3,r=3", "n=2,c=0,h=4,w=5,k=3,r=3:epilogue=bias+relu", "n=2,c=3,h=4,w=4,k=0,r=3",
        "n=1,c=1,h=1,w=1,k=1,r=1", "n=1,c=2,h=1,w=1,k=2,r=3:pad=1", "n=2,c=3,h=2,w=3,k=2,r=4,s=5:stride=5,6"})
    for (const char* layout : layouts) test("f32:" + std::string(size) + layout);
  // Strides with and without a remainder, output padding up to the stride, dilations that share a factor with the
  // stride, asymmetric padding, groups, and filters that leave places which no tap meets.
  for (const char* rest :
       {"n=2,c=3,h=5,w=6,k=4,r=2:stride=2", "n=2,c=4,h=7,w=5,k=6,r=3:stride=2:pad=1:output_pad=1",
        "n=1,c=4,h=5,w=6,k=6,r=4:stride=2:pad=1:groups=2",
        "n=1,c=2,h=6,w=5,k=3,r=3:stride=2,3:dilation=2,3:pad=2,1,0,3",
        "n=1,c=3,h=4,w=5,k=4,r=1:stride=3:output_pad=2,1", "n=1,c=3,h=6,w=7,k=4,r=3:pad=1",
        "n=1,c=6,h=5,w=4,k=6,r=3:groups=6:stride=2:pad=1", "n=1,c=2,h=5,w=5,k=2,r=3:stride=4:dilation=3:pad=4",
        "n=2,c=9,h=6,w=5,k=65,r=2:stride=2", "n=1,c=8,h=11,w=12,k=130,r=3:pad=1"})
    for (const char* type : {"f32", "f16"})
      for (const char* layout : layouts) test(std::string(type) + ":" + rest + layout);
  for (const char* type : {"f16", "bf16"})
    for (const char* rest : {"n=2,c=16,h=9,w=10,k=72,r=3:pad=1", "n=1,c=136,h=7,w=8,k=8,r=2:stride=2",
                             "n=1,c=72,h=5,w=6,k=16,r=4:stride=2:pad=1"})
      test(std::string(type) + ":" + rest + ":layout=nhwc:fill=ints");
  for (const char* epilogue : {"bias", "relu", "silu", "residual", "bias+relu+residual", "bias+residual+gelu_tanh"})
    for (const char* rest : {"n=2,c=3,h=5,w=4,k=4,r=3:stride=2:pad=1", "n=2,c=8,h=5,w=6,k=16,r=3:pad=1"})
      for (const char* type : {"f32", "bf16"})
        for (const char* layout : layouts) test(std::string(type) + ":" + rest + layout + ":epilogue=" + epilogue);
  for (const char* rest : {"", ":output_pad=1", ":epilogue=bias+residual+silu"})  // depthwise
    test(std::string("bf16:n=2,c=16,h=5,w=6,k=16,r=3:stride=2:pad=1:groups=16:layout=nhwc") + rest);
  for (const char* epilogue : {"gelu", "gelu+residual"})  // of few terms, so that gelu's own error shows
    test(std::string("bf16:n=3,c=16,h=12,w=13,k=16,r=3:stride=2:groups=16:layout=nhwc:epilogue=") + epilogue);
  for (const char* type : {"f32", "bf16"})  // one tap: a matrix product
    for (const char* layout : layouts)
      for (const char* epilogue : {"bias+silu", "bias+residual+relu", "residual"})
        test(std::string(type) + ":n=2,c=24,h=3,w=8,k=16,r=1:epilogue=" + epilogue + layout);
  for (const char* layout : layouts)  // copies to channels-last tensors: no whole vectors of channels in and out
    for (const char* rest : {"", ":place=padded", ":place=strided", ":place=reversed", ":place=offset"}) {
      test(std::string("f16:n=2,c=20,h=5,w=6,k=18,r=3:stride=2:pad=1:epilogue=bias+residual+silu") + rest + layout);
      test(std::string("bf16:n=1,c=70,h=4,w=7,k=24,r=2:stride=2:fill=ints:epilogue=bias+relu") + rest + layout);
      test(std::string("f16:n=2,c=20,h=5,w=6,k=20,r=3:pad=1:groups=20:epilogue=bias+residual+relu") + rest + layout);
    }
  for (const char* fill : {"nan", "inf", "ones", "denormal"})
    for (const char* layout : layouts)
      test(std::string("f32:n=1,c=3,h=5,w=6,k=4,r=3:stride=2:pad=1:fill=") + fill + layout);
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* layout : layouts) {
      test(std::string("f32:n=2,c=3,h=5,w=6,k=4,r=3:stride=2:fill=ints:place=") + place + layout);
      test(std::string("f16:n=2,c=8,h=5,w=6,k=8,r=3:pad=1:epilogue=bias+residual+relu:place=") + place + layout);
    }
  test("f32:n=1,c=3,h=5,w=6,k=4,r=3:stride=2:warp=64");

  // The enlarging steps of U-Net, of a generator of images, and of a decoder of segmentation.
  for (const char* rest : {"n=1,c=1024,h=28,w=28,k=512,r=2:stride=2", "n=1,c=128,h=196,w=196,k=64,r=2:stride=2",
                           "n=64,c=512,h=8,w=8,k=256,r=4:stride=2:pad=1", "n=32,c=64,h=56,w=56,k=64,r=3:pad=1",
                           "n=8,c=256,h=14,w=14,k=256,r=2:stride=2:epilogue=bias+gelu"}) {
    book.benches.push_back(op + ":f32:" + rest);
    book.benches.push_back(op + ":bf16:" + rest + ":layout=nhwc");
  }
  return book;
}

inline check::CaseBook conv_transpose1d_book() {
  const std::string op = "conv_transpose1d";
  check::CaseBook book = empty_book(op, {"n", "c", "w", "k", "s"});
  const auto test = [&](const std::string& rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* layout : {"", ":layout=nwc"}) {
    for (const char* rest :
         {"f32:n=0,c=2,w=4,k=3,s=3", "f32:n=1,c=1,w=1,k=1,s=1", "f32:n=2,c=3,w=9,k=5,s=4:stride=2:pad=1",
          "f32:n=1,c=4,w=7,k=6,s=3:stride=3:output_pad=2:pad=1,2:groups=2",
          "bf16:n=2,c=16,w=11,k=8,s=16:stride=8:pad=4:epilogue=bias+silu",
          "f16:n=2,c=8,w=13,k=8,s=3:dilation=2:pad=2:epilogue=bias+residual+relu"})
      test(std::string(rest) + layout);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      test(std::string("f32:n=2,c=3,w=9,k=4,s=3:stride=2:fill=ints:place=") + place + layout);
  }
  // HiFi-GAN's first two steps from a mel spectrogram to sound.
  for (const char* rest : {"n=8,c=512,w=400,k=256,s=16:stride=8:pad=4", "n=8,c=256,w=3200,k=128,s=16:stride=8:pad=4"}) {
    book.benches.push_back(op + ":f32:" + rest);
    book.benches.push_back(op + ":bf16:" + rest + ":layout=nwc");
  }
  return book;
}

}  // namespace ridge::conv_detail
