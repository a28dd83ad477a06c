// Changes to a message that decoders are likely to mind.
#pragma once

#include "target.h"

namespace strack::decoders {

/// Changes the message of `size` bytes at the start of `room` a little; its size then. `other` is another message of the
/// same decoder, `words` are put into it now and then.
std::size_t mutate(Rng& rng, Room room, std::size_t size, Bytes other,
                   std::span<const std::string_view> words);

}  // namespace strack::decoders
