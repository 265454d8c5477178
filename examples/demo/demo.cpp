// The demo (`make demo`): runs operators on real files, from file to file, and checks each result against the oracle.
//
//   1. Byte histograms of this program's own machine code and of the licence.
//   2. A model of the repository's sources: how often does one byte follow another? The logits are log(count + 1), so
//      softmax turns each row into the probability of every next byte.
//   3. Reductions of the result: every row of probabilities sums to 1; argmax is the likeliest next byte.
//
// The command line, `ridge run`, does the work, as a user would run it; the demo prints the commands at the end.
//
//   ridge_demo [RIDGE_PROGRAM]
#include "npy.hpp"
#include "table.hpp"

#include <ridge/core/output_file.hpp>

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;
using ridge::cli::Align;
using ridge::cli::Table;

namespace {

constexpr int byte_values = 256;

// ---- the input: bytes that follow each other ---------------------------------------------------------------------

std::vector<fs::path> source_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"ridge", "apps", "examples"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (entry.is_regular_file() &&
          (extension == ".cpp" || extension == ".hpp" || extension == ".cu" || extension == ".cuh"))
        files.push_back(entry.path());
    }
  std::ranges::sort(files);
  return files;
}

// Row: a byte; column: the one after it; value: log(count + 1).
std::vector<float> next_byte_logits(const std::vector<fs::path>& files) {
  std::vector<double> counts(byte_values * byte_values);
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
      ++counts[static_cast<unsigned char>(text[i]) * byte_values + static_cast<unsigned char>(text[i + 1])];
  }
  std::vector<float> logits;
  for (double count : counts) logits.push_back(static_cast<float>(std::log(count + 1)));
  return logits;
}

void write_npy(const fs::path& path, const ridge::TensorType& type, const void* values, std::size_t bytes) {
  auto file = ridge::OutputFile::create(path);
  if (!file) throw std::runtime_error(std::string(file.error().message()));
  for (const auto& status : {file->write(ridge::npy::make_header(type)), file->write(values, bytes), file->commit()})
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

template <class T> std::vector<T> read_npy(const fs::path& path) {
  const auto array = ridge::npy::read(path);
  if (!array) throw std::runtime_error(std::string(array.error().message()));
  if (array->dtype != ridge::dtype_of<T>) throw std::runtime_error(path.string() + " has another dtype");
  const T* values = static_cast<const T*>(array->bytes.data());
  return {values, values + array->layout.count()};
}

// ---- running the command line ------------------------------------------------------------------------------------

struct Step {
  std::string op, input, output, options;
};

// A word of a command, quoted for the shell.
std::string quoted(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=-+,:") ==
          std::string::npos)
    return word;
  std::string s = "'";
  for (char c : word) s += c == '\'' ? "'\\''" : std::string(1, c);
  return s + "'";
}

std::string command_of(const std::string& program, const Step& step) {
  return quoted(program) + " run " + step.op + " " + quoted(step.input) + " -o " + quoted(step.output) +
         (step.options.empty() ? "" : " " + step.options) + " --check";
}

// The command's JSON report. It also reports a failed check; a command that cannot run explains why on stderr.
nlohmann::json run(const std::string& command) {
  std::FILE* pipe = popen((command + " --json").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start a shell");
  std::string out;
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, pipe)) > 0;) out.append(part, got);
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) throw std::runtime_error("this command failed: " + command);
  return nlohmann::json::parse(out);
}

// ---- showing -----------------------------------------------------------------------------------------------------

std::string type_text(const nlohmann::json& tensor) {
  std::string shape;
  for (const auto& size : tensor["shape"]) shape += (shape.empty() ? "" : "x") + size.dump();
  return tensor["dtype"].get<std::string>() + " " + (shape.empty() ? "scalar" : shape);
}

std::string time_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 1000 ? "%.0f us" : "%.1f ms", us < 1000 ? us : us / 1000);
  return text;
}

std::string check_text(const nlohmann::json& check) {
  if (!check["passed"]) return "FAILED: " + check["first_wrong"].get<std::string>();
  const double worst = check["worst_share_of_tolerance"];
  if (worst == 0) return "passed, exact";
  char text[64];
  std::snprintf(text, sizeof text, "passed, %.2g of the tolerance", worst);
  return text;
}

std::string byte_text(int byte) {
  char text[16];
  std::snprintf(text, sizeof text, byte > ' ' && byte <= '~' ? "'%c'" : "0x%02x", byte);
  return byte == ' ' ? "a space" : byte == '\n' ? "a line's end" : text;
}

void show_findings(const fs::path& folder, const std::string& program, std::size_t sources) {
  const auto counts = ridge::npy::read(folder / "program_bytes.npy");
  if (!counts) throw std::runtime_error(std::string(counts.error().message()));
  const auto total = read_npy<std::int64_t>(folder / "program_size.npy")[0];
  std::printf("\n%s has %lld bytes by its histogram, %llu by the file system.\n", program.c_str(),
              static_cast<long long>(total), static_cast<unsigned long long>(fs::file_size(program)));

  const auto probability = read_npy<float>(folder / "next_byte.npy");
  const auto likeliest = read_npy<std::int64_t>(folder / "likeliest.npy");
  const auto sums = read_npy<float>(folder / "row_sums.npy");
  std::printf(
      "The %zu probabilities of each row sum to 1 within %.1e. In the %zu source files\n", sums.size(),
      static_cast<double>(std::abs(*std::ranges::max_element(sums, {}, [](float s) { return std::abs(s - 1); }) - 1)),
      sources);
  const std::string_view examples = "q#;{";
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const int byte = static_cast<unsigned char>(examples[i]);
    const int next = static_cast<int>(likeliest[byte]);
    std::printf("  after %s comes %s with probability %.2f%s\n", byte_text(byte).c_str(), byte_text(next).c_str(),
                static_cast<double>(probability[byte * byte_values + next]), i + 1 < examples.size() ? "," : ".");
  }
}

// A path as a user would type it in this folder.
std::string from_here(const fs::path& path) {
  const std::string relative = fs::proximate(path).string();
  return relative.starts_with("..") ? fs::weakly_canonical(path).string() : relative;
}

int demo(int argc, char** argv) {
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = from_here(argc > 1 ? fs::path(argv[1]) : bin / "ridge");
  if (!fs::exists(program)) throw std::runtime_error("there is no program '" + program + "'; build ridge_cli first");
  const fs::path source = RIDGE_SOURCE_DIR, folder = bin.parent_path() / "demo";
  fs::create_directories(folder);
  const auto at = [&](const char* name) { return from_here(folder / name); };

  const auto sources = source_files(source);
  const auto logits = next_byte_logits(sources);
  write_npy(folder / "next_byte_logits.npy", {ridge::f32, {byte_values, byte_values}}, logits.data(),
            logits.size() * sizeof(float));

  const std::vector<Step> steps{
      {"histogram", program, at("program_bytes.npy"), ""},
      {"histogram", from_here(source / "LICENSE"), at("license_bytes.npy"), ""},
      {"softmax", at("next_byte_logits.npy"), at("next_byte.npy"), ""},
      {"sum", at("next_byte.npy"), at("row_sums.npy"), "--opt axis=-1"},
      {"argmax", at("next_byte.npy"), at("likeliest.npy"), "--opt axis=-1"},
      {"sum", at("program_bytes.npy"), at("program_size.npy"), ""},
      {"max", at("license_bytes.npy"), at("license_most.npy"), ""},
  };
  Table table(
      {{"operator"}, {"input"}, {""}, {"output"}, {""}, {"device"}, {"variant"}, {"time", Align::right}, {"check"}});
  std::string device_name;
  bool passed = true;
  for (const Step& step : steps) {
    const auto report = run(command_of(program, step));
    const auto &input = report["inputs"][0], &output = report["outputs"][0];
    device_name = report["device_name"];
    passed = passed && report["check"]["passed"];
    table.add({step.op, fs::path(step.input).filename(), type_text(input), fs::path(step.output).filename(),
               type_text(output), report["device"], report["variant"], time_text(report["us"]),
               check_text(report["check"])});
  }
  std::printf("Ridge on %s; every result is checked against a serial oracle in double\n\n", device_name.c_str());
  table.print();
  show_findings(folder, program, sources.size());

  std::printf("\nFiles in %s (read them with numpy.load), and the commands that made them:\n",
              from_here(folder).c_str());
  std::printf("  %s\n    written by this program from the sources' bytes\n", at("next_byte_logits.npy").c_str());
  for (const Step& step : steps) std::printf("  %s\n    %s\n", step.output.c_str(), command_of(program, step).c_str());
  if (!passed) std::puts("\nA check FAILED.");
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return demo(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ridge_demo: %s\n", error.what());
    return 2;
  }
}
