// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/events.h"
#include "core/transport.h"
#include "core/window/receiver.h"
#include "core/window/sender.h"
#include "transports/smartt/control.h"

namespace strack::core {

template class WindowSender<SmarttParams, SmarttControl>;
static_assert(Transport<WindowSender<SmarttParams, SmarttControl>, WindowReceiver>);

}  // namespace strack::core
