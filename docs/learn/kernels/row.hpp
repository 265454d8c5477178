// For the programs beside this file: the row of an operator's table that a kernel is instantiated for, and device
// memory.
#pragma once
#include <cstddef>
#include <string_view>

template <std::size_t N> struct Name {
  char text[N];
  consteval Name(const char (&from)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};

template <class Table> consteval auto config_of(const Table& table, std::string_view name) {
  for (const auto& row : table)
    if (row.name == name) return row.config;
  throw "no row of the table has this name";
}

template <const auto& table, Name name> struct Row { static constexpr auto config = config_of(table, name.text); };

// n elements, zero.
template <class T> struct Memory {
  T* data = nullptr;
  explicit Memory(std::size_t n) {
    cudaMalloc(&data, n * sizeof(T));
    cudaMemset(data, 0, n * sizeof(T));
  }
  ~Memory() { cudaFree(data); }
  Memory(const Memory&) = delete;
};
