// Cases of conv3d: what the depth adds to conv2d's.
#pragma once
#include <ridge/conv/cases.hpp>

namespace ridge::conv_detail {

inline check::CaseBook conv3d_book() {
  const std::string op = "conv3d";
  check::CaseBook book = empty_book(op, {"n", "c", "d", "h", "w", "k", "r"}, {"s", "t"});
  const auto test = [&](const std::string& rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* layout : {"", ":layout=ndhwc"}) {
    for (const char* direction : {"", ":backward", ":backward:outputs=dx", ":backward:outputs=dw"}) {
      // Nothing, and one of each; a filter as large as the volume; taps along the depth alone, and across it alone.
      for (const char* rest :
           {"f32:n=0,c=2,d=3,h=4,w=4,k=3,r=3", "f32:n=2,c=0,d=3,h=4,w=5,k=3,r=2", "f32:n=1,c=2,d=3,h=4,w=4,k=0,r=3",
            "f32:n=1,c=1,d=1,h=1,w=1,k=1,r=1", "f32:n=2,c=3,d=2,h=4,w=5,k=2,t=2,r=4,s=5",
            "f32:n=2,c=3,d=7,h=3,w=4,k=4,t=3,r=1:pad=1,0,0", "f32:n=2,c=3,d=3,h=5,w=6,k=4,t=1,r=3:pad=0,1,1"})
        test(std::string(rest) + layout + direction);
      // Strides with remainders, dilations that share a factor with them, padding that differs by side, groups.
      for (const char* rest :
           {"f32:n=2,c=3,d=5,h=6,w=7,k=5,r=3:pad=1",
            "f32:n=1,c=4,d=7,h=6,w=5,k=6,t=3,r=2,s=3:stride=2,1,3:pad=2,0,1,0,3,1",
            "f32:n=1,c=2,d=8,h=6,w=7,k=3,r=2:stride=2:dilation=2,3,1:pad=1,2,0",
            "f16:n=1,c=6,d=4,h=5,w=6,k=9,r=3:pad=1:groups=3", "bf16:n=2,c=16,d=3,h=6,w=5,k=24,r=3:pad=1",
            "f16:n=1,c=8,d=5,h=9,w=6,k=8,r=3:stride=2:pad=1", "f32:n=1,c=9,d=4,h=3,w=5,k=65,r=2:pad=1,0,1,0,1,0",
            "bf16:n=1,c=8,d=3,h=4,w=5,k=8,r=3:pad=1:groups=8"})
        test(std::string(rest) + layout + direction);
      for (const char* fill : {"nan", "inf", "denormal", "ones"})
        test(std::string("f32:n=1,c=3,d=3,h=4,w=5,k=4,r=3:pad=1:fill=") + fill + layout + direction);
      for (const char* place : {"offset", "padded", "strided", "reversed"}) {
        test(std::string("f32:n=2,c=3,d=4,h=3,w=5,k=4,r=2:pad=1:fill=ints:place=") + place + layout + direction);
        test(std::string("f16:n=2,c=8,d=3,h=4,w=3,k=16,r=3:pad=1:fill=ints:place=") + place + layout + direction);
      }
      // One tap: a matrix product, of pixels that merge and of such that do not.
      for (const char* place : {"", ":place=padded"})
        test(std::string("bf16:n=2,c=24,d=3,h=4,w=8,k=16,r=1") + place + layout + direction);
    }
    for (const char* epilogue : {"bias", "silu", "bias+residual+relu", "bias+gelu+residual"})
      for (const char* type : {"f32", "bf16"})
        test(std::string(type) + ":n=2,c=8,d=3,h=4,w=5,k=16,r=3:pad=1:epilogue=" + epilogue + layout);
    test(std::string("f32:n=1,c=12,d=4,h=5,w=6,k=8,r=3:pad=1:math=tf32") + layout);
    test(std::string("f32:n=1,c=3,d=3,h=4,w=5,k=4,r=3:stride=2:pad=1:warp=64") + layout);
  }

  // The causal convolutions of a video autoencoder, whose padding along the time is in front alone; the patches of a
  // video transformer; a step of a network of volumes.
  for (const char* rest : {"n=1,c=128,d=5,h=120,w=208,k=128,r=3:pad=2,1,1,0,1,1:epilogue=bias",
                           "n=1,c=512,d=5,h=30,w=52,k=512,r=3:pad=2,1,1,0,1,1:epilogue=bias+silu",
                           "n=1,c=256,d=5,h=60,w=104,k=512,t=3,r=1:pad=2,0,0,0,0,0:epilogue=bias",
                           "n=1,c=16,d=21,h=60,w=104,k=1536,t=1,r=2:stride=1,2,2:epilogue=bias",
                           "n=2,c=64,d=32,h=32,w=32,k=64,r=3:pad=1:epilogue=bias+relu"}) {
    book.benches.push_back(op + ":f32:" + rest);
    book.benches.push_back(op + ":bf16:" + rest + ":layout=ndhwc");
  }
  return book;
}

}  // namespace ridge::conv_detail
