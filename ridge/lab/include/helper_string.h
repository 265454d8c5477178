// The helpers of NVIDIA's samples for command lines: flags are "-name", "--name" and "-name=value", in any case.
// Written from what the samples expect of them.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fstream>
#include <string>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2  // the exit code of a sample that cannot run here
#endif
#ifndef STRCASECMP
#define STRCASECMP strcasecmp
#endif
#ifndef STRNCASECMP
#define STRNCASECMP strncasecmp
#endif
#ifndef STRCPY
#define STRCPY(to, size, from) strcpy(to, from)
#endif
#ifndef FOPEN
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#endif
#ifndef FOPEN_FAIL
#define FOPEN_FAIL(file) ((file) == nullptr)
#endif
#ifndef SSCANF
#define SSCANF sscanf
#endif
#ifndef SPRINTF
#define SPRINTF sprintf
#endif

// The number of leading characters that are this one.
inline int stringRemoveDelimiter(char delimiter, const char* text) {
  int n = 0;
  while (text[n] == delimiter) ++n;
  return text[n] ? n : 0;
}

namespace ridge::lab {
// What follows the name in the flag's argument: "" or "=value"; null where no argument is the flag.
inline const char* after_flag(int argc, const char** argv, const char* name) {
  const std::size_t length = strcspn(name, "=");
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] != '-') continue;
    const char* flag = argv[i] + strspn(argv[i], "-");
    if (strncasecmp(flag, name, length) == 0 && (flag[length] == '\0' || flag[length] == '=')) return flag + length;
  }
  return nullptr;
}
inline const char* flag_value(int argc, const char** argv, const char* name) {
  const char* rest = after_flag(argc, argv, name);
  return rest && *rest == '=' ? rest + 1 : rest;
}
}  // namespace ridge::lab

inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) {
  return ridge::lab::after_flag(argc, argv, name) != nullptr;
}
inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
  const char* value = ridge::lab::flag_value(argc, argv, name);
  return value ? atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
  const char* value = ridge::lab::flag_value(argc, argv, name);
  return value ? static_cast<float>(atof(value)) : 0.0f;
}
template <class T> bool getCmdLineArgumentValue(int argc, const char** argv, const char* name, T* result) {
  const char* value = ridge::lab::flag_value(argc, argv, name);
  if (value && *value) *result = static_cast<T>(atoi(value));
  return value != nullptr;
}
// The value stays the program's argument.
inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** result) {
  const char* value = ridge::lab::flag_value(argc, argv, name);
  *result = const_cast<char*>(value);
  return value != nullptr;
}

// A sample's data file: here, or in ./data, or beside the program. The caller frees the path; null: there is none.
inline char* sdkFindFilePath(const char* name, const char* program) {
  const std::string of_program = program ? program : "";
  const std::string beside = of_program.substr(0, of_program.rfind('/') + 1);
  for (const std::string& folder : {std::string(), std::string("data/"), beside, beside + "data/", std::string("../")})
    if (std::ifstream(folder + name).good()) return strdup((folder + name).c_str());
  return nullptr;
}
