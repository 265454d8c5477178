#include "course.hpp"

#include "../lab/toolchain.hpp"
#include "../request.hpp"
#include "../strings.hpp"

#include <ridge/core/file.hpp>
#include <ridge/core/nearest.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ridge::cli::learn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "// ridge learn ";

Status no_course(const fs::path& file, const std::string& why) {
  return Status::error(Code::io, fmt::format("learn: {}: {}", file.string(), why));
}

Result<Exercise> read_exercise(const fs::path& folder, int number) {
  const fs::path file = folder / "goal.json";
  const auto text = read_file(file);
  if (!text) return no_course(file, "it cannot be read");
  try {
    const Json json = Json::parse(*text);
    Exercise exercise{.number = number,
                      .name = folder.filename().string(),
                      .title = json.at("title"),
                      .teaches = json.at("teaches"),
                      .kernel = json.value("kernel", ""),
                      .goals = {},
                      .folder = folder};
    for (const Json& goal : json.at("goals")) exercise.goals.push_back(goal_of(goal));
    return exercise;
  } catch (const Json::exception& error) {
    return no_course(file, error.what());
  }
}

}  // namespace

Result<Course> load_course() {
  RIDGE_CLI_TAKE(tools, lab::find_toolchain());
  std::error_code ignored;
  fs::path folder = tools.headers / "learn";  // the headers of a build are its sources'
  if (!fs::exists(folder / "index.txt", ignored)) folder = tools.headers.parent_path() / "share/ridge/learn";
  const auto index = read_file(folder / "index.txt");
  if (!index) return no_course(folder / "index.txt", "it cannot be read");
  Course course;
  for (const std::string& name : text_lines(*index)) {
    if (name.empty()) continue;
    RIDGE_CLI_TAKE(exercise, read_exercise(folder / name, static_cast<int>(course.size()) + 1));
    course.push_back(std::move(exercise));
  }
  return course;
}

Result<Exercise> find_exercise(const Course& course, std::string_view name) {
  int number = 0;
  const bool is_number =
      std::from_chars(name.data(), name.data() + name.size(), number).ptr == name.data() + name.size();
  std::vector<std::string_view> names;
  for (const Exercise& exercise : course) {
    if (exercise.name == name || (is_number && exercise.number == number)) return exercise;
    names.push_back(exercise.name);
  }
  std::string known;
  for (const std::string_view near : nearest(name, names, 2)) known += (known.empty() ? "" : ", ") + std::string(near);
  return Status::error(
      Code::invalid_argument,
      fmt::format("learn: there is no exercise {}; the nearest are {} (ridge learn list has all)", name, known));
}

Result<Exercise> exercise_of(const Course& course, const std::string& file) {
  const auto text = read_file(file);
  if (!text) return Status::error(Code::invalid_argument, fmt::format("learn: {} cannot be read", file));
  const std::string line = text->substr(0, text->find_first_of("\r\n"));
  if (!line.starts_with(first_line))
    return Status::error(Code::invalid_argument,
                         fmt::format("learn: {} does not say which exercise it is of; its first line should be "
                                     "'{}NAME'",
                                     file, first_line));
  std::string name = line.substr(first_line.size());
  name.erase(name.find_last_not_of(' ') + 1);
  return find_exercise(course, name);
}

std::string opening_comment(const std::string& program) {
  std::string text;
  bool is_first = true;
  for (const std::string& line : text_lines(program)) {
    if (!line.starts_with("//")) break;
    if (!std::exchange(is_first, false) && (line.size() > 3 || !text.empty()))
      text += line.substr(std::min<std::size_t>(line.size(), 3)) + "\n";
  }
  return text;
}

std::vector<std::string> hints_of(const Exercise& exercise) {
  std::vector<std::string> hints;
  for (const std::string& line : text_lines(read_file(exercise.folder / "hints.md").value_or(""))) {
    const std::string number = fmt::format("{}. ", hints.size() + 1);
    if (line.starts_with(number)) hints.push_back(line.substr(number.size()));
    else if (!hints.empty() && line.find_first_not_of(' ') != line.npos) hints.back() += "\n" + line;
  }
  return hints;
}

}  // namespace ridge::cli::learn
