// The two ends of every link of the fabric: what a switch port does to a packet and the queues of the
// kernel do not. fabric.py compiles this with clang and attaches it with tc.
//
//   enqueue  at the egress of a device, before its TBF: blackhole, random loss, tail drop, holding back
//   dequeue  at the ingress of its veth peer, after the TBF: ECN marks by the queue left behind
//
// Between the two a packet is in the TBF, so backlog is the queue, and dequeue marks as a switch that
// marks at egress does: by what a departing packet leaves behind.
//
// The devices of a cable have the interface indices 2k and 2k + 1, unique in the fabric, so one pair of
// maps serves all links: a link is known by the index of the device it leaves from. fabric.py maps both
// arrays into its memory; the layouts there and here have to agree.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

// What libbpf's headers would give; this way nobody has to install them.
#define SECTION(name) __attribute__((section(name), used))
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, value) __typeof__(value)* name
static void* (*bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static __u64 (*bpf_ktime_get_ns)(void) = (void*)BPF_FUNC_ktime_get_ns;
static __u32 (*bpf_get_prandom_u32)(void) = (void*)BPF_FUNC_get_prandom_u32;
static long (*bpf_set_hash_invalid)(struct __sk_buff*) = (void*)BPF_FUNC_set_hash_invalid;
static long (*bpf_skb_ecn_set_ce)(struct __sk_buff*) = (void*)BPF_FUNC_skb_ecn_set_ce;

#define MAX_DEVICES 256    // interface indices below this
#define PIN_BY_NAME 1      // so that fabric.py finds the maps
#define HELD_BACK 0x20001  // the class of the HTB inside the TBF that packets are held back in

struct link_config {
  __u32 mark_from;   // bytes left behind: no mark up to here,
  __u32 mark_to;     // always a mark from here, more likely and more likely in between
  __u32 limit;       // bytes queued, beyond which the tail is dropped
  __u32 loss;        // of 2^32 packets
  __u32 blackhole;   // 1: nothing gets through
  __u32 hold_share;  // of 2^32 packets are held back
  __u32 hold_gap;    // ns between two of those leaving, the pace of their class
  __u32 hold_max;    // ns that one of them waits at most; if it would be more, it is not held back
};

struct link_count {
  __s64 backlog;  // bytes in the queue now
  __u64 max_backlog;
  __u64 in_packets, in_bytes;    // into the queue
  __u64 out_packets, out_bytes;  // out of it
  __u64 marks;                   // packets that became CE here
  __u64 tail_drops, losses, blackholed;
  __u64 held_back;
  __u64 hold_until;  // when the class of those held back will be empty, ns
};

struct {
  MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
  MAP_UINT(max_entries, MAX_DEVICES);
  MAP_UINT(map_flags, BPF_F_MMAPABLE);
  MAP_UINT(pinning, PIN_BY_NAME);
  MAP_TYPE(key, __u32);
  MAP_TYPE(value, struct link_config);
} link_configs SECTION(".maps");

struct {
  MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
  MAP_UINT(max_entries, MAX_DEVICES);
  MAP_UINT(map_flags, BPF_F_MMAPABLE);
  MAP_UINT(pinning, PIN_BY_NAME);
  MAP_TYPE(key, __u32);
  MAP_TYPE(value, struct link_count);
} link_counts SECTION(".maps");

static __attribute__((always_inline)) void add(__u64* counter, __u64 n) {
  __sync_fetch_and_add(counter, n);
}

// IP packets to somebody. What a kernel says to all its neighbours, unasked, is not what is being tested.
static __attribute__((always_inline)) int is_traffic(const struct __sk_buff* skb) {
  const __u8* mac = (const __u8*)(long)skb->data;
  if (mac + 6 > (const __u8*)(long)skb->data_end || (mac[0] & 1)) return 0;
  return skb->protocol == __builtin_bswap16(0x0800) || skb->protocol == __builtin_bswap16(0x86dd);
}

// The helper that marks calls it a success, too, if the packet was marked before.
static __attribute__((always_inline)) int is_ce(const struct __sk_buff* skb) {
  const __u8* mac = (const __u8*)(long)skb->data;
  if (mac + 16 > (const __u8*)(long)skb->data_end) return 0;
  const __u8 ecn = skb->protocol == __builtin_bswap16(0x0800) ? mac[15] : mac[15] >> 4;
  return (ecn & 3) == 3;
}

SECTION("tc/enqueue") int enqueue(struct __sk_buff* skb) {
  const __u32 link = skb->ifindex;
  const struct link_config* config = bpf_map_lookup_elem(&link_configs, &link);
  struct link_count* count = bpf_map_lookup_elem(&link_counts, &link);
  if (!config || !count) return TC_ACT_OK;

  // A connected socket's hash crosses veth with the packet, and ECMP would take it for the ports'.
  bpf_set_hash_invalid(skb);
  if (!is_traffic(skb)) return TC_ACT_OK;

  if (config->blackhole) {
    add(&count->blackholed, 1);
    return TC_ACT_SHOT;
  }
  if (config->loss && bpf_get_prandom_u32() < config->loss) {
    add(&count->losses, 1);
    return TC_ACT_SHOT;
  }
  const __s64 length = skb->wire_len;
  const __s64 backlog = __sync_fetch_and_add(&count->backlog, length) + length;
  if (backlog > (__s64)config->limit) {
    __sync_fetch_and_add(&count->backlog, -length);
    add(&count->tail_drops, 1);
    return TC_ACT_SHOT;
  }
  add(&count->in_packets, 1);
  add(&count->in_bytes, length);
  if ((__u64)backlog > count->max_backlog) count->max_backlog = backlog;

  if (config->hold_share && bpf_get_prandom_u32() < config->hold_share) {
    const __u64 now = bpf_ktime_get_ns();
    const __u64 turn = count->hold_until > now ? count->hold_until : now;
    if (turn - now <= config->hold_max) {
      count->hold_until = turn + config->hold_gap;
      skb->priority = HELD_BACK;
      add(&count->held_back, 1);
    }
  }
  return TC_ACT_OK;
}

SECTION("tc/dequeue") int dequeue(struct __sk_buff* skb) {
  const __u32 link = skb->ifindex ^ 1;
  const struct link_config* config = bpf_map_lookup_elem(&link_configs, &link);
  struct link_count* count = bpf_map_lookup_elem(&link_counts, &link);
  if (!config || !count || !is_traffic(skb)) return TC_ACT_OK;

  const __s64 length = skb->len;
  const __s64 behind = __sync_fetch_and_add(&count->backlog, -length) - length;
  add(&count->out_packets, 1);
  add(&count->out_bytes, length);

  // Between the two thresholds, the probability of a mark rises from 0 to 1.
  if (behind <= (__s64)config->mark_from) return TC_ACT_OK;
  if (behind < (__s64)config->mark_to) {
    const __u32 span = config->mark_to - config->mark_from;
    if (bpf_get_prandom_u32() % span >= (__u32)behind - config->mark_from) return TC_ACT_OK;
  }
  if (!is_ce(skb) && bpf_skb_ecn_set_ce(skb) == 1) add(&count->marks, 1);
  return TC_ACT_OK;
}

char gpl[] SECTION("license") = "GPL";
