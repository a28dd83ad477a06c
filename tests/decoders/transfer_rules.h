// "The transfer protocol" of docs/udp-tools.md as a second implementer reads it. Nothing of src/transfer is used.
#pragma once

#include "target.h"

namespace strack::decoders {

/// Whether it is a control message.
[[nodiscard]] bool control_is_right(Bytes message);

}  // namespace strack::decoders
