// Calibration: figures of a GPU that `ridge calibrate` measured, kept in the user's cache folder. device() uses them in
// place of the data sheet's.
#pragma once
#include <ridge/core/device.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace ridge {

struct Calibration {
  std::string device;  // as the driver names it
  std::string date;    // 2026-01-31
  // As in DeviceInfo; 0: not measured.
  double memory_gbs = 0, read_gbs = 0, fp32_tflops = 0, fp64_tflops = 0, fp16_tflops = 0, shortest_kernel_us = 0;
  bool operator==(const Calibration&) const = default;

  // $XDG_CACHE_HOME/ridge/calibration-NAME.json, or below ~/.cache; empty where there is no home.
  RIDGE_API static std::filesystem::path file_of(std::string_view device);
  // Nothing where there is no such file, or write() has not written it.
  RIDGE_API static std::optional<Calibration> read(std::string_view device);
  RIDGE_API Result<std::filesystem::path> write() const;
  // The same from a file's text.
  RIDGE_API static std::optional<Calibration> parse(std::string_view device, std::string_view json);
  RIDGE_API std::string text() const;

  RIDGE_API void apply(DeviceInfo&) const;
};

}  // namespace ridge
