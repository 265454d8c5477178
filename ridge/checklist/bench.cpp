// Registers the cases of the checklist for the command line's check and bench.
#include <ridge/checklist/cases.hpp>

namespace ridge::checklist_detail {

static const check::RegisterCases registered[] = {
    check::RegisterCases(book_of(Lesson::copy)),   check::RegisterCases(book_of(Lesson::branch)),
    check::RegisterCases(book_of(Lesson::vecadd)), check::RegisterCases(book_of(Lesson::histogram)),
    check::RegisterCases(book_of(Lesson::window)), check::RegisterCases(book_of(Lesson::banks)),
};

}  // namespace ridge::checklist_detail
