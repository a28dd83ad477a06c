// The page template, put into the program as it stands. A report can then be made wherever the
// program is.
#include "report/model.h"

// Of the assembler, which both compilers use: no program to convert it and no array of a million
// numbers to compile. STRACK_REPORT_PAGE is the file.
__asm__(
    ".pushsection .rodata\n"
    ".global strack_report_page\n"
    ".global strack_report_page_end\n"
    "strack_report_page:\n"
    ".incbin \"" STRACK_REPORT_PAGE
    "\"\n"
    "strack_report_page_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char strack_report_page[];
extern const char strack_report_page_end[];
}

namespace strack::report {

std::string_view page_template() {
  const char* begin = strack_report_page;
  return {begin, static_cast<std::size_t>(strack_report_page_end - begin)};
}

}  // namespace strack::report
