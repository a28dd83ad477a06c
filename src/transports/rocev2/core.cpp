// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/transport.h"
#include "transports/rocev2/ar_receiver.h"
#include "transports/rocev2/ar_sender.h"
#include "transports/rocev2/receiver.h"
#include "transports/rocev2/sender.h"

namespace strack::core {

static_assert(Transport<RoceSender<>, RoceReceiver<>>);
template class RoceSender<NoEvents>;
template class RoceReceiver<NoEvents>;
static_assert(Transport<ArSender<>, ArReceiver<>>);
template class ArSender<NoEvents>;
template class ArReceiver<NoEvents>;

}  // namespace strack::core
