// Cases of conv1d. The kernels are conv2d's, whose cases they have: here are the ways in which signals differ.
#pragma once
#include <ridge/conv/cases.hpp>

namespace ridge::conv_detail {

inline check::CaseBook conv1d_book() {
  const std::string op = "conv1d";
  check::CaseBook book = empty_book(op, {"n", "c", "w", "k", "s"});
  const auto test = [&](const std::string& rest) { book.tests.push_back(op + ":" + rest); };
  const char* const layouts[] = {"", ":layout=nwc"};
  for (const char* layout : layouts) {
    for (const char* direction : {"", ":backward", ":backward:outputs=dw"}) {
      for (const char* rest :
           {"f32:n=0,c=2,w=4,k=3,s=3", "f32:n=2,c=0,w=4,k=3,s=2", "f32:n=1,c=1,w=1,k=1,s=1",
            "f32:n=2,c=3,w=17,k=5,s=4:stride=2:pad=1,2", "f32:n=1,c=6,w=20,k=9,s=3:dilation=3:groups=3",
            "bf16:n=2,c=16,w=33,k=24,s=3:pad=1", "f16:n=2,c=8,w=130,k=16,s=3:stride=2:pad=1"})
        test(std::string(rest) + layout + direction);
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        test(std::string("f32:n=2,c=3,w=19,k=4,s=3:pad=1:fill=ints:place=") + place + layout + direction);
    }
    for (const char* epilogue : {"bias+gelu", "bias+residual+relu", "bias+silu+residual"})
      test(std::string("f16:n=2,c=8,w=21,k=16,s=3:pad=1:epilogue=") + epilogue + layout);
    test(std::string("f32:n=2,c=12,w=40,k=8,s=5:pad=2:math=tf32") + layout);
  }
  for (const char* size : {"n=2,c=16,w=40,k=16,s=3:pad=1:groups=16", "n=2,c=8,w=31,k=8,s=31:pad=15:groups=8"})
    test(std::string("bf16:") + size + ":layout=nwc");

  // Whisper's two convolutions of a mel spectrogram, and a Conformer's depthwise one.
  for (const char* rest : {"n=8,c=80,w=3000,k=512,s=3:pad=1:epilogue=bias+gelu",
                           "n=8,c=512,w=3000,k=512,s=3:stride=2:pad=1:epilogue=bias+gelu",
                           "n=8,c=512,w=1500,k=512,s=31:pad=15:groups=512"}) {
    book.benches.push_back(op + ":f32:" + rest);
    book.benches.push_back(op + ":bf16:" + rest + ":layout=nwc");
  }
  return book;
}

}  // namespace ridge::conv_detail
