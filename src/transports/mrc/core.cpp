// The sending end compiled into the library of cores; the receiving one is UET's.
#include "core/transport.h"
#include "transports/mrc/params.h"
#include "transports/uet/receiver.h"
#include "transports/uet/sender.h"

namespace strack::core {

static_assert(Transport<UetSender<NoEvents, MrcParams>, UetReceiver>);
template class UetSender<NoEvents, MrcParams>;

}  // namespace strack::core
