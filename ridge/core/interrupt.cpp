#include <ridge/core/interrupt.hpp>

namespace ridge {

static constinit thread_local Interrupt interrupt;

void set_interrupt(Interrupt wanted) { interrupt = wanted; }
bool can_be_interrupted() { return interrupt.asked; }
bool is_interrupted() { return interrupt.asked && interrupt.asked(interrupt.context) != 0; }

}  // namespace ridge
