-- Wireshark dissector for STrack over UDP, version 2 (docs/protocol.md).
--
--   wireshark -X lua_script:tools/wireshark/strack.lua capture.pcap
--   tshark -X lua_script:tools/wireshark/strack.lua -r capture.pcap -Y strack.sack.ecn==1
--
-- To have it always, copy it into the folder that Help / About Wireshark / Folders names "Personal Lua
-- Plugins". Packets on port 4794 (a preference) are dissected, and so are those to any port from or to
-- which the capture has shown a hello: an endpoint's other packets come from other ports, but all go to
-- one. For the rest use "Decode As ... STrack".
--
-- What src/wire refuses is shown with the name of its fault in strack.fault, as an error. Sealed packets show
-- their header only.

local strack = Proto("strack", "STrack transport over UDP")

local VERSION = 2
local MAX_PATHS = 256
local HELLO_MIN = 1200

local types = {
  [1] = "data", [2] = "sack", [3] = "probe", [4] = "ping", [5] = "pong", [6] = "hello", [7] = "challenge",
  [8] = "connect", [9] = "accept", [10] = "reject", [11] = "close", [12] = "close_ack", [13] = "reset",
}
local close_reasons = {
  [0] = "done", [1] = "aborted", [2] = "protocol_error", [3] = "no_resources", [4] = "keys_exhausted",
  [5] = "going_away",
}
local reject_reasons = {
  [1] = "version", [2] = "key_required", [3] = "key_unknown", [4] = "no_key", [5] = "no_cipher", [6] = "busy",
  [7] = "not_listening", [8] = "terms", [9] = "transport", [10] = "extension",
}

-- The same table as in src/wire/wire.cpp: own flags, path (or attempt) allowed, addressed, keyed allowed, least bytes of a plain
-- body, open-ended, bytes of MAC with the keyed flag, session packet (sealed where keyed), bytes of Noise's message between hosts with
-- keys of their own (flag 0 of hello, connect and accept).
local shapes = {
  data      = { flags = 0x07, path = true,  addressed = true,  keyed = true,  body = 28, open = true,  mac = 0,  session = true },
  sack      = { flags = 0x03, path = true,  addressed = true,  keyed = true,  body = 40, open = false, mac = 0,  session = true },
  probe     = { flags = 0x00, path = true,  addressed = true,  keyed = true,  body = 10, open = false, mac = 0,  session = true },
  ping      = { flags = 0x00, path = true,  addressed = true,  keyed = true,  body = 12, open = true,  mac = 0,  session = true },
  pong      = { flags = 0x01, path = true,  addressed = true,  keyed = true,  body = 18, open = false, mac = 0,  session = true },
  hello     = { flags = 0x01, path = true,  addressed = false, keyed = true,  body = HELLO_MIN - 8, open = true, mac = 0, session = false },
  challenge = { flags = 0x00, path = false, addressed = true,  keyed = false, body = 42, open = false, mac = 0,  session = false },
  connect   = { flags = 0x01, path = true,  addressed = false, keyed = true,  body = 104, open = false, mac = 16, session = false, noise = 128 },
  accept    = { flags = 0x01, path = false, addressed = true,  keyed = true,  body = 72, open = false, mac = 16, session = false, noise = 80 },
  reject    = { flags = 0x00, path = false, addressed = true,  keyed = false, body = 12, open = false, mac = 0,  session = false },
  close     = { flags = 0x00, path = false, addressed = true,  keyed = true,  body = 10, open = false, mac = 0,  session = true },
  close_ack = { flags = 0x00, path = false, addressed = true,  keyed = true,  body = 10, open = false, mac = 0,  session = true },
  reset     = { flags = 0x00, path = false, addressed = false, keyed = true,  body = 12, open = false, mac = 16, session = false },
}

-- --- Fields --------------------------------------------------------------------------------------

local F = {}
local function field(kind, name, title, ...)
  F[name] = ProtoField[kind]("strack." .. name, title, ...)
end

field("uint8", "version", "Version", base.DEC, nil, 0xf0)
field("uint8", "type", "Type", base.DEC, types, 0x0f)
field("uint8", "flags", "Flags", base.HEX)
field("bool", "keyed", "Keyed", 8, nil, 0x80, "protected by a key: sealed, or with a MAC in set-up packets")
field("uint16", "path_id", "Path", base.DEC)
field("uint32", "connection_id", "Connection id", base.HEX, nil, nil, "chosen by the receiver of this packet")
field("uint64", "counter", "Packet counter", base.DEC)
field("bytes", "sealed", "Sealed body", base.NONE)
field("bytes", "tag", "Authentication tag", base.NONE)
field("string", "fault", "Refused for", base.ASCII, "the DecodeFault that src/wire refuses it with")

field("bool", "data.retransmission", "Retransmission", 8, nil, 0x01)
field("bool", "data.write", "Write", 8, nil, 0x02, "one-sided write; otherwise a tagged send")
field("bool", "data.piece", "Piece", 8, nil, 0x04, "part of a packet that the path is too narrow for")
field("uint32", "data.psn", "PSN", base.DEC)
field("uint32", "data.timestamp", "Timestamp (ns)", base.DEC)
field("uint32", "data.message_id", "Message id", base.DEC)
field("uint32", "data.message_length", "Message length", base.DEC)
field("uint32", "data.offset", "Offset in the message", base.DEC)
field("uint64", "data.tag", "Tag", base.HEX)
field("uint64", "data.region", "Region", base.HEX)
field("uint64", "data.region_offset", "Offset in the region", base.DEC)
field("uint32", "request.length", "Request: bytes to read", base.DEC)
field("uint64", "request.region", "Request: region to read", base.HEX)
field("uint64", "request.offset", "Request: offset in it", base.DEC)
field("uint64", "request.reply_region", "Request: region to write them to", base.HEX)
local operations = { "minimum", "maximum", "sum", "product", "logical or", "logical and", "bitwise or", "bitwise and", "logical xor",
  "bitwise xor", "read", "write", "swap if equal", "swap if not equal", "swap if less or equal", "swap if less",
  "swap if greater or equal", "swap if greater", "swap under a mask" }
local values = { "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "double" }
field("uint8", "atomic.op", "Atomic: operation", base.DEC, operations)
field("uint8", "atomic.type", "Atomic: type of values", base.DEC, values)
field("uint32", "atomic.length", "Atomic: bytes of values", base.DEC)
field("uint64", "atomic.region", "Atomic: region to change", base.HEX)
field("uint64", "atomic.offset", "Atomic: offset in it", base.DEC)
field("uint64", "atomic.reply_region", "Atomic: region to write to what was there", base.HEX)
field("uint32", "data.payload_length", "Payload length", base.DEC)
field("bytes", "data.payload", "Payload", base.NONE)

field("bool", "sack.ecn", "Echo: marked", 8, nil, 0x01)
field("bool", "sack.for_probe", "For a probe", 8, nil, 0x02)
field("uint32", "sack.epsn", "EPSN", base.DEC, nil, nil, "all before it have arrived")
field("uint32", "sack.sack_base", "SACK base", base.DEC)
field("uint64", "sack.bitmap", "Bitmap", base.HEX, nil, nil, "bit i: SACK base + i has arrived")
field("uint32", "sack.bytes_recvd", "Bytes received", base.DEC)
field("uint32", "sack.psn", "Echo: PSN", base.DEC)
field("uint32", "sack.timestamp", "Echo: timestamp (ns)", base.DEC)
field("uint32", "sack.hold_time_ns", "Hold time (ns)", base.DEC)
field("uint16", "sack.ooo_count", "Out of order", base.DEC)
field("uint16", "sack.probe_id", "Echo: probe id", base.DEC)
field("uint32", "sack.credit", "Credit", base.DEC)

field("uint32", "probe.psn", "SACK base wanted", base.DEC)
field("uint32", "probe.timestamp", "Timestamp (ns)", base.DEC)
field("uint16", "probe.probe_id", "Probe id", base.DEC)

field("uint32", "ping.id", "Id", base.DEC)
field("uint32", "ping.timestamp", "Timestamp (ns)", base.DEC)
field("uint32", "ping.credit", "Credit", base.DEC)
field("uint32", "ping.padding", "Padding", base.DEC)

field("bool", "pong.ecn", "Echo: marked", 8, nil, 0x01)
field("uint32", "pong.id", "Echo: id", base.DEC)
field("uint32", "pong.timestamp", "Echo: timestamp (ns)", base.DEC)
field("uint32", "pong.hold_time_ns", "Hold time (ns)", base.DEC)
field("uint32", "pong.credit", "Credit", base.DEC)
field("uint16", "pong.size", "Size of the ping", base.DEC)

field("uint32", "close.end_psn", "End PSN", base.DEC)
field("uint32", "close.source_id", "Source connection id", base.HEX, nil, nil, "of the side that closes")
field("uint16", "close.reason", "Reason", base.DEC, close_reasons)

field("uint32", "terms.connection_id", "Own connection id", base.HEX)
field("bytes", "terms.nonce", "Nonce", base.NONE)
field("uint32", "terms.key_id", "Key id", base.HEX)
field("uint64", "terms.user_data", "User data", base.DEC)
field("uint32", "terms.initial_psn", "Initial PSN", base.DEC)
field("uint32", "terms.credit", "Credit", base.DEC)
field("uint32", "terms.idle_timeout_ms", "Idle timeout (ms)", base.DEC)
field("uint16", "terms.mtu", "MTU (payload)", base.DEC)
field("uint16", "terms.paths", "Paths", base.DEC)
field("uint16", "terms.tracking_window", "Tracking window (packets)", base.DEC)
field("uint8", "terms.ciphers", "Ciphers", base.HEX)
field("bool", "terms.ciphers.chacha20_poly1305", "ChaCha20-Poly1305", 8, nil, 0x01)
field("bool", "terms.ciphers.aes_256_gcm", "AES-256-GCM", 8, nil, 0x02)

field("uint8", "terms.transport", "Transport", base.DEC)
field("uint16", "terms.reply_port", "Reply port", base.DEC, nil, nil, "where its sender receives")
field("uint16", "terms.extensions", "Extensions", base.HEX)

field("bytes", "hello.first", "Handshake, first message", base.NONE)
field("bytes", "hello.mac", "MAC", base.NONE)
field("uint32", "hello.size", "Size of the datagram", base.DEC)
field("uint64", "challenge.echo", "Echo of the nonce", base.HEX)
field("bytes", "challenge.cookie", "Cookie", base.NONE)
field("uint16", "challenge.hello_size", "Size of the datagram answered", base.DEC)
field("bytes", "connect.cookie", "Cookie", base.NONE)
field("bytes", "connect.first", "Handshake, first message", base.NONE)
field("bytes", "connect.mac", "MAC", base.NONE)
field("bytes", "accept.second", "Handshake, second message", base.NONE)
field("bytes", "accept.mac", "MAC", base.NONE)
field("uint64", "reject.echo", "Echo of the nonce", base.HEX)
field("uint8", "reject.reason", "Reason", base.DEC, reject_reasons)
field("uint8", "reject.lowest_version", "Lowest version", base.DEC)
field("uint8", "reject.highest_version", "Highest version", base.DEC)
field("uint32", "reset.unknown_id", "Unknown connection id", base.HEX)
field("uint64", "reset.echo", "Echo of the packet answered", base.HEX, nil, nil, "its counter, or its first bytes")
field("bytes", "reset.mac", "MAC", base.NONE)

local all_fields = {}
for _, one in pairs(F) do all_fields[#all_fields + 1] = one end
strack.fields = all_fields

local refused = ProtoExpert.new("strack.refused", "refused by every receiver", expert.group.MALFORMED,
                                expert.severity.ERROR)
local retransmitted = ProtoExpert.new("strack.retransmitted", "retransmission", expert.group.SEQUENCE,
                                      expert.severity.NOTE)
local marked = ProtoExpert.new("strack.marked", "congestion echoed", expert.group.SEQUENCE, expert.severity.NOTE)
local ended = ProtoExpert.new("strack.ended", "connection ended other than gracefully", expert.group.SEQUENCE,
                              expert.severity.WARN)
strack.experts = { refused, retransmitted, marked, ended }

strack.prefs.port = Pref.uint("UDP port", 4794, "where endpoints listen")

-- --- Checks: the faults of src/wire, in its order -----------------------------------------------

local function all_zero(tvb, from)
  local bytes = tvb:bytes(from)
  for i = 0, bytes:len() - 1 do
    if bytes:get_index(i) ~= 0 then return false end
  end
  return true
end

-- Without bit operators, which differ between the Lua versions that Wireshark comes with.
local function has_bits_outside(value, mask)
  for i = 0, 7 do
    local bit = 2 ^ i
    if math.floor(value / bit) % 2 == 1 and math.floor(mask / bit) % 2 == 0 then return true end
  end
  return false
end

local function terms_fault(tvb, keyed, one_cipher, host)
  local ciphers = tvb(8 + 66, 1):uint()
  local ciphers_fit
  if not keyed then
    ciphers_fit = ciphers == 0
  elseif one_cipher then
    ciphers_fit = ciphers == 1 or ciphers == 2
  else
    ciphers_fit = ciphers >= 1 and ciphers <= 3
  end
  local key_id, paths, window = tvb(8 + 36, 4):uint(), tvb(8 + 62, 2):uint(), tvb(8 + 64, 2):uint()
  local fits = tvb(8, 4):uint() ~= 0 and keyed == (key_id ~= 0) and ciphers_fit and tvb(8 + 56, 4):uint() ~= 0 and
                 tvb(8 + 60, 2):uint() >= 512 and paths >= 1 and paths <= MAX_PATHS and window >= 1 and
                 window <= 32768 and tvb(8 + 67, 1):uint() ~= 0 and tvb(8 + 68, 2):uint() ~= 0 and
                 host == (tvb(8 + 70, 1):bitfield(7, 1) == 1)
  if not fits then return "bad_terms" end
  return nil
end

local function data_fault(tvb, body, length, write, piece)
  local message_length, offset = tvb(body + 12, 4):uint(), tvb(body + 16, 4):uint()
  local payload = length - 28
  if write then
    payload = length - 36
    if tvb(body + 28, 4):uint() == 0xffffffff and tvb(body + 32, 4):uint() + message_length > 0xffffffff then
      return "beyond_region"
    end
  end
  if payload == 0 and (message_length ~= 0 or piece) then return "no_payload" end
  if offset + payload > message_length then return "beyond_message" end
  return nil
end

-- Returns the fault or nil; and what has been found out so far: type's name, shape, keyed, sealed, header's length,
-- body's length. `readable` says whether the lengths are right, so that fields can be shown.
local function inspect(tvb)
  local size = tvb:len()
  if size < 8 then return "too_short", {} end
  if tvb(0, 1):bitfield(0, 4) ~= VERSION then return "unknown_version", {} end
  local found = { type = types[tvb(0, 1):bitfield(4, 4)] }
  if not found.type then return "unknown_type", found end
  local shape = shapes[found.type]
  local flags = tvb(1, 1):bitfield(1, 7)
  found.keyed = tvb(1, 1):bitfield(0, 1) == 1
  found.sealed = found.keyed and shape.session
  found.header = found.sealed and 16 or 8
  local path_id, connection_id = tvb(2, 2):uint(), tvb(4, 4):uint()
  if has_bits_outside(flags, shape.flags) then return "reserved_flag", found end
  if found.keyed and not shape.keyed then return "keyed_not_allowed", found end
  found.host = (found.type == "hello" or found.type == "connect" or found.type == "accept") and flags == 1
  if found.host and not found.keyed then return "reserved_flag", found end
  if path_id >= (shape.path and MAX_PATHS or 1) then return "path_not_allowed", found end
  if shape.addressed ~= (connection_id ~= 0) then return "connection_id", found end

  found.write = found.type == "data" and tvb(1, 1):bitfield(6, 1) == 1
  local length = size - (found.sealed and 32 or 8)
  local least = shape.body + (found.keyed and shape.mac or 0)
  if found.write then least = 36 end
  if found.host and shape.noise then least = least + shape.noise end
  if length < least then return "too_short", found end
  if length > least and not shape.open then return "too_long", found end
  found.readable = true
  found.length = length
  if found.sealed then
    if tvb(8, 3):uint() ~= 0 then return "counter_limit", found end
    return nil, found  -- what follows cannot be read
  end

  local kind = found.type
  if kind == "data" then
    return data_fault(tvb, 8, length, found.write, tvb(1, 1):bitfield(5, 1) == 1), found
  elseif kind == "sack" then
    if tvb(1, 1):bitfield(6, 1) == 0 and tvb(8 + 34, 2):uint() ~= 0 then return "field_not_allowed", found end
  elseif kind == "ping" then
    if length > 12 and not all_zero(tvb, 8 + 12) then return "reserved_not_zero", found end
  elseif kind == "hello" then
    local fault = terms_fault(tvb, found.keyed, false, found.host)
    local fields = 8 + 72 + (found.host and 128 or 0) + (found.keyed and 16 or 0)
    if not fault and not all_zero(tvb, fields) then fault = "reserved_not_zero" end
    return fault, found
  elseif kind == "connect" then
    return terms_fault(tvb, found.keyed, false, found.host), found
  elseif kind == "accept" then
    return terms_fault(tvb, found.keyed, true, found.host), found
  elseif kind == "reject" then
    local low, high = tvb(8 + 9, 1):uint(), tvb(8 + 10, 1):uint()
    if tvb(8 + 11, 1):uint() ~= 0 then return "reserved_not_zero", found end
    if not reject_reasons[tvb(8 + 8, 1):uint()] then return "bad_reason", found end
    if low == 0 or low > high or high > 15 then return "bad_terms", found end
  elseif kind == "close" or kind == "close_ack" then
    if not close_reasons[tvb(8 + 8, 2):uint()] then return "bad_reason", found end
    if tvb(8 + 4, 4):uint() == 0 then return "connection_id", found end
  elseif kind == "reset" then
    if tvb(8, 4):uint() == 0 then return "connection_id", found end
    if found.keyed and tvb(12, 3):uint() ~= 0 then return "counter_limit", found end
  end
  return nil, found
end

-- --- Showing -------------------------------------------------------------------------------------

-- Adds fields of the given widths one after the other, and returns where the next one starts.
local function add_all(tree, tvb, at, list)
  for _, entry in ipairs(list) do
    local name, width = entry[1], entry[2]
    tree:add(F[name], tvb(at, width))
    at = at + width
  end
  return at
end

local show = {}

-- Whether a write to region 0 asks for an atomic: its kind, and an operation, a type and lengths that go together.
local value_bytes = { 1, 1, 2, 2, 4, 4, 8, 8, 4, 8 }
local function is_atomic(tvb, at, payload)
  if payload < 32 or tvb(at, 1):uint() ~= 2 or tvb(at + 3, 1):uint() ~= 0 then return false end
  local op, size, length = tvb(at + 1, 1):uint(), value_bytes[tvb(at + 2, 1):uint()], tvb(at + 4, 4):uint()
  if op < 1 or op > 19 or not size or length == 0 or length > 240 or length % size ~= 0 then return false end
  return payload == 32 + (op == 11 and 0 or op < 13 and length or 2 * length)
end

function show.data(tree, tvb, pinfo, found)
  local flags = tvb(1, 1)
  local again = tree:add(F["data.retransmission"], flags)
  tree:add(F["data.write"], flags)
  tree:add(F["data.piece"], flags)
  local at = add_all(tree, tvb, 8, {
    { "data.psn", 4 }, { "data.timestamp", 4 }, { "data.message_id", 4 }, { "data.message_length", 4 },
    { "data.offset", 4 } })
  local where
  if found.write then
    at = add_all(tree, tvb, at, { { "data.region", 8 }, { "data.region_offset", 8 } })
    where = "write to region 0x" .. tvb(28, 8):uint64():tohex()
  else
    at = add_all(tree, tvb, at, { { "data.tag", 8 } })
    where = "tag 0x" .. tvb(28, 8):uint64():tohex()
  end
  local payload = tvb:len() - at
  -- A write to region 0 is a request to the endpoint. Of a read there is one kind.
  if found.write and payload == 32 and tvb(28, 8):uint64() == UInt64(0) and tvb(at, 4):uint() == 0x01000000 then
    add_all(tree, tvb, at + 4, {
      { "request.length", 4 }, { "request.region", 8 }, { "request.offset", 8 }, { "request.reply_region", 8 } })
    where = string.format("read of %u bytes of region 0x%s", tvb(at + 4, 4):uint(), tvb(at + 8, 8):uint64():tohex())
  elseif found.write and tvb(28, 8):uint64() == UInt64(0) and is_atomic(tvb, at, payload) then
    add_all(tree, tvb, at + 1, { { "atomic.op", 1 }, { "atomic.type", 1 } })
    add_all(tree, tvb, at + 4, {
      { "atomic.length", 4 }, { "atomic.region", 8 }, { "atomic.offset", 8 }, { "atomic.reply_region", 8 } })
    where = string.format("atomic %s of %u bytes of region 0x%s", operations[tvb(at + 1, 1):uint()], tvb(at + 4, 4):uint(),
                          tvb(at + 8, 8):uint64():tohex())
  end
  tree:add(F["data.payload_length"], payload):set_generated()
  if payload > 0 then tree:add(F["data.payload"], tvb(at, payload)) end
  local offset = tvb(8 + 16, 4):uint()
  local text = string.format("psn %u message %u bytes %.0f..%.0f of %u %s", tvb(8, 4):uint(), tvb(16, 4):uint(), offset,
                             offset + payload, tvb(20, 4):uint(), where)
  if flags:bitfield(5, 1) == 1 then text = text .. " piece" end
  if flags:bitfield(7, 1) == 1 then
    again:add_proto_expert_info(retransmitted)
    text = text .. " retransmission"
  end
  return text
end

function show.sack(tree, tvb)
  local flags = tvb(1, 1)
  local ecn = tree:add(F["sack.ecn"], flags)
  tree:add(F["sack.for_probe"], flags)
  add_all(tree, tvb, 8, {
    { "sack.epsn", 4 }, { "sack.sack_base", 4 }, { "sack.bitmap", 8 }, { "sack.bytes_recvd", 4 }, { "sack.psn", 4 },
    { "sack.timestamp", 4 }, { "sack.hold_time_ns", 4 }, { "sack.ooo_count", 2 }, { "sack.probe_id", 2 },
    { "sack.credit", 4 } })
  local text = string.format("epsn %u base %u ooo %u credit %u", tvb(8, 4):uint(), tvb(12, 4):uint(),
                             tvb(40, 2):uint(), tvb(44, 4):uint())
  if flags:bitfield(6, 1) == 1 then text = text .. string.format(" for probe %u", tvb(42, 2):uint())
  else text = text .. string.format(" for psn %u", tvb(28, 4):uint()) end
  if flags:bitfield(7, 1) == 1 then
    ecn:add_proto_expert_info(marked)
    text = text .. " marked"
  end
  return text
end

function show.probe(tree, tvb)
  add_all(tree, tvb, 8, { { "probe.psn", 4 }, { "probe.timestamp", 4 }, { "probe.probe_id", 2 } })
  return string.format("probe %u wants base %u", tvb(16, 2):uint(), tvb(8, 4):uint())
end

function show.ping(tree, tvb)
  local at = add_all(tree, tvb, 8, { { "ping.id", 4 }, { "ping.timestamp", 4 }, { "ping.credit", 4 } })
  tree:add(F["ping.padding"], tvb:len() - at):set_generated()
  return string.format("id %u credit %u, %u bytes", tvb(8, 4):uint(), tvb(16, 4):uint(), tvb:len())
end

function show.pong(tree, tvb)
  local ecn = tree:add(F["pong.ecn"], tvb(1, 1))
  if tvb(1, 1):bitfield(7, 1) == 1 then ecn:add_proto_expert_info(marked) end
  add_all(tree, tvb, 8, { { "pong.id", 4 }, { "pong.timestamp", 4 }, { "pong.hold_time_ns", 4 },
                          { "pong.credit", 4 }, { "pong.size", 2 } })
  return string.format("id %u credit %u for %u bytes", tvb(8, 4):uint(), tvb(20, 4):uint(), tvb(24, 2):uint())
end

function show.close(tree, tvb)
  add_all(tree, tvb, 8, { { "close.end_psn", 4 }, { "close.source_id", 4 }, { "close.reason", 2 } })
  local reason = tvb(16, 2):uint()
  if reason ~= 0 then tree:add_proto_expert_info(ended, close_reasons[reason] or "undefined reason") end
  return string.format("%s, end psn %u", close_reasons[reason] or "undefined reason", tvb(8, 4):uint())
end
show.close_ack = show.close

local function show_terms(tree, tvb)
  add_all(tree, tvb, 8, {
    { "terms.connection_id", 4 }, { "terms.nonce", 32 }, { "terms.key_id", 4 }, { "terms.user_data", 8 },
    { "terms.initial_psn", 4 }, { "terms.credit", 4 }, { "terms.idle_timeout_ms", 4 }, { "terms.mtu", 2 },
    { "terms.paths", 2 }, { "terms.tracking_window", 2 } })
  local ciphers = tree:add(F["terms.ciphers"], tvb(74, 1))
  ciphers:add(F["terms.ciphers.chacha20_poly1305"], tvb(74, 1))
  ciphers:add(F["terms.ciphers.aes_256_gcm"], tvb(74, 1))
  add_all(tree, tvb, 75, { { "terms.transport", 1 }, { "terms.reply_port", 2 }, { "terms.extensions", 2 } })
  return string.format("id %08x psn %u mtu %u paths %u", tvb(8, 4):uint(), tvb(56, 4):uint(), tvb(68, 2):uint(),
                       tvb(70, 2):uint())
end

function show.hello(tree, tvb, pinfo, found)
  local text = show_terms(tree, tvb)
  if found.host then tree:add(F["hello.first"], tvb(80, 128)) end
  if found.keyed then tree:add(F["hello.mac"], tvb(found.host and 208 or 80, 16)) end
  tree:add(F["hello.size"], tvb:len()):set_generated()
  return text .. string.format(", %u bytes", tvb:len())
end

function show.challenge(tree, tvb)
  add_all(tree, tvb, 8, { { "challenge.echo", 8 }, { "challenge.cookie", 32 }, { "challenge.hello_size", 2 } })
  return string.format("for %u bytes", tvb(48, 2):uint())
end

function show.connect(tree, tvb, pinfo, found)
  local text = show_terms(tree, tvb)
  tree:add(F["connect.cookie"], tvb(80, 32))
  if found.host then tree:add(F["connect.first"], tvb(112, 128)) end
  if found.keyed then tree:add(F["connect.mac"], tvb(found.host and 240 or 112, 16)) end
  return text
end

function show.accept(tree, tvb, pinfo, found)
  local text = show_terms(tree, tvb)
  if found.host then tree:add(F["accept.second"], tvb(80, 80)) end
  if found.keyed then tree:add(F["accept.mac"], tvb(found.host and 160 or 80, 16)) end
  return text
end

function show.reject(tree, tvb)
  add_all(tree, tvb, 8, { { "reject.echo", 8 }, { "reject.reason", 1 }, { "reject.lowest_version", 1 },
                          { "reject.highest_version", 1 } })
  local reason = reject_reasons[tvb(16, 1):uint()] or "undefined reason"
  tree:add_proto_expert_info(ended, "rejected: " .. reason)
  return string.format("%s, versions %u to %u", reason, tvb(17, 1):uint(), tvb(18, 1):uint())
end

function show.reset(tree, tvb, pinfo, found)
  add_all(tree, tvb, 8, { { "reset.unknown_id", 4 }, { "reset.echo", 8 } })
  if found.keyed then tree:add(F["reset.mac"], tvb(20, 16)) end
  tree:add_proto_expert_info(ended, "reset")
  return string.format("of %08x", tvb(8, 4):uint())
end

-- --- Which packets are ours ----------------------------------------------------------------------

local endpoints = {}  -- "address port" of every primary port that a hello has shown

local function place(address, port) return tostring(address) .. " " .. port end

function strack.init() endpoints = {} end

function strack.dissector(tvb, pinfo, root)
  local fault, found = inspect(tvb)
  pinfo.cols.protocol = "STrack"
  local tree = root:add(strack, tvb())

  if not fault and found.type == "hello" then
    endpoints[place(pinfo.src, tvb(8 + 68, 2):uint())] = true
    endpoints[place(pinfo.dst, pinfo.dst_port)] = true
  end

  local info = found.type and string.upper(found.type) or "unknown"
  if tvb:len() >= 8 then
    tree:add(F.version, tvb(0, 1))
    tree:add(F.type, tvb(0, 1))
    local flags = tree:add(F.flags, tvb(1, 1))
    flags:add(F.keyed, tvb(1, 1))
    tree:add(F.path_id, tvb(2, 2))
    tree:add(F.connection_id, tvb(4, 4))
    if found.type and shapes[found.type].path then
      local what = shapes[found.type].session and "path" or "attempt"
      info = info .. string.format(" %s %u", what, tvb(2, 2):uint())
    end
    if found.type and shapes[found.type].addressed then info = info .. string.format(" to %08x", tvb(4, 4):uint()) end
  end
  if found.readable then
    if found.sealed then
      tree:add(F.counter, tvb(8, 8))
      tree:add(F.sealed, tvb(16, found.length))
      tree:add(F.tag, tvb(16 + found.length, 16))
      info = info .. " sealed, counter " .. tostring(tvb(8, 8):uint64()) .. string.format(", %u bytes", found.length)
    else
      info = info .. " " .. show[found.type](tree, tvb, pinfo, found)
    end
  end
  if fault then
    tree:add(F.fault, fault):set_generated()
    tree:add_proto_expert_info(refused, "refused by every receiver: " .. fault)
    info = info .. " [refused: " .. fault .. "]"
  end
  pinfo.cols.info = info
  return tvb:len()
end

strack:register_heuristic("udp", function(tvb, pinfo, root)
  local known = endpoints[place(pinfo.dst, pinfo.dst_port)]
  if not known then
    -- A valid hello has a kilobyte of zeros in it: no other traffic looks like that.
    if tvb:len() < HELLO_MIN then return false end
    local fault, found = inspect(tvb)
    if fault or found.type ~= "hello" then return false end
  end
  strack.dissector(tvb, pinfo, root)
  return true
end)

local udp = DissectorTable.get("udp.port")
local registered = strack.prefs.port
udp:add(registered, strack)

function strack.prefs_changed()
  if strack.prefs.port == registered then return end
  udp:remove(registered, strack)
  registered = strack.prefs.port
  udp:add(registered, strack)
end
