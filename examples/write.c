/* A one-sided write: one side offers memory, the other puts bytes there without a receive being posted.
 *
 *   write
 *
 * Both endpoints live in this process and this thread, which works on them in turn. It shows, in
 * order: registering memory, telling the peer its key, writing, and the message after the writes by
 * which the owner knows that they are in place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strack/strack.h>
#include <string.h>

enum { BLOCK = 100 * 1000, BLOCKS = 10 };
enum { TAG_OFFER = 1, TAG_DONE = 2 };

/* What the owner tells the writer. A program for several kinds of machine would fix the byte order. */
struct offer {
  strack_region region;
  uint64_t length;
};

static void die(const char* what, const char* why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  exit(1);
}

static void need(strack_status status, const char* what) {
  if (status != STRACK_OK) die(what, strack_error_text(status));
}

static strack_endpoint* open_endpoint(const char* listen) {
  char why[256];
  strack_options options;
  strack_endpoint* endpoint;
  strack_options_init(&options);
  options.listen = listen;
  if (strack_open(&options, &endpoint, why, sizeof why) != STRACK_OK) die("cannot open", why);
  return endpoint;
}

/* Works on `endpoint` and on the other one, until the first reports `kind` as often as `count` says. */
static strack_completion work_until(strack_endpoint* endpoint, strack_endpoint* other,
                                    uint32_t kind, int count) {
  strack_completion done = {0};
  while (count > 0) {
    strack_poll(other);
    strack_wait(endpoint, 100 * 1000); /* 0.1 ms, then the other's turn again */
    while (count > 0 && strack_completions(endpoint, &done, 1) == 1) {
      if (done.status != STRACK_OK) {
        die(strack_kind_text(done.kind), strack_error_text(done.status));
      }
      if (done.kind == kind) --count;
    }
  }
  return done;
}

int main(void) {
  strack_endpoint* owner = open_endpoint("127.0.0.1:0"); /* any free port */
  strack_endpoint* writer = open_endpoint(NULL);
  unsigned char* memory = calloc(BLOCKS, BLOCK);
  unsigned char* bytes = malloc((size_t)BLOCKS * BLOCK);
  char why[256];
  char address[STRACK_ADDRESS_SIZE];
  strack_connection to_owner;
  strack_connection to_writer;
  struct offer offered;
  struct offer offer;
  size_t i;

  if (memory == NULL || bytes == NULL) die("cannot allocate", "out of memory");
  for (i = 0; i < (size_t)BLOCKS * BLOCK; ++i) bytes[i] = (unsigned char)(i * 31 + i / 251);

  strack_local_address(owner, address, sizeof address);
  if (strack_connect(writer, address, 0, &to_owner, why, sizeof why) != STRACK_OK) {
    die("cannot connect", why);
  }
  need(strack_post_receive(writer, to_owner, TAG_OFFER, STRACK_EXACT_TAG, &offer, sizeof offer, 0),
       "cannot post a receive");
  to_writer = work_until(owner, writer, STRACK_ACCEPTED, 1).connection;

  /* The owner: this connection, and no other, may write into `memory`. */
  if (strack_register_region(owner, to_writer, memory, (size_t)BLOCKS * BLOCK, &offered.region, why,
                             sizeof why) != STRACK_OK) {
    die("cannot register", why);
  }
  offered.length = (uint64_t)BLOCKS * BLOCK;
  need(strack_post_receive(owner, to_writer, TAG_DONE, STRACK_EXACT_TAG, NULL, 0, 0),
       "cannot post a receive");
  need(strack_send(owner, to_writer, TAG_OFFER, &offered, sizeof offered, 0), "cannot send");

  /* The writer: blocks in any order, here from the last to the first; then an empty message. It
   * completes at the owner when everything sent before it is in place. */
  work_until(writer, owner, STRACK_RECEIVED, 1);
  if (offer.length != (uint64_t)BLOCKS * BLOCK) die("offer", "an unexpected length");
  for (i = BLOCKS; i-- > 0;) {
    need(strack_write(writer, to_owner, offer.region, i * BLOCK, bytes + i * BLOCK, BLOCK, i),
         "cannot write");
  }
  need(strack_send(writer, to_owner, TAG_DONE, NULL, 0, BLOCKS), "cannot send");

  work_until(owner, writer, STRACK_RECEIVED, 1);
  if (memcmp(memory, bytes, (size_t)BLOCKS * BLOCK) != 0) die("memory", "not what was written");
  work_until(writer, owner, STRACK_WRITTEN, BLOCKS);
  printf("%d writes, %llu bytes in place\n", BLOCKS, (unsigned long long)offer.length);

  need(strack_close(writer, to_owner), "cannot close");
  need(strack_close(owner, to_writer), "cannot close");
  work_until(writer, owner, STRACK_CLOSED, 1);
  need(strack_unregister_region(owner, offered.region), "cannot unregister");
  strack_destroy(writer);
  strack_destroy(owner);
  free(memory);
  free(bytes);
  return 0;
}
