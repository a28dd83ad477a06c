// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/transport.h"
#include "transports/uet/pull_pacer.h"
#include "transports/uet/receiver.h"
#include "transports/uet/sender.h"

namespace strack::core {

static_assert(Transport<UetSender<>, UetReceiver>);
template class UetSender<NoEvents>;

}  // namespace strack::core
