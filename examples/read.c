/* A peer by its address, and a one-sided read: one side asks in a message of several pieces, the other offers memory, and the
 * first fetches it without the owner's program being told.
 *
 *   read
 *
 * Both endpoints live in this process and this thread, which works on them in turn. It shows, in order: an address vector, whose
 * connections open with the first message; a message gathered from pieces; a look at it before there is a receive; memory that
 * may be read; the read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strack/strack.h>
#include <string.h>

enum { LENGTH = 1000 * 1000 };
enum { TAG_QUESTION = 1, TAG_OFFER = 2 };

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

/* A handle for `owner`, and its connection, which opens with the first message. */
static strack_connection connection_to(strack_endpoint* reader, strack_endpoint* owner,
                                       strack_address* handle) {
  char why[256];
  char text[STRACK_ADDRESS_SIZE];
  const char* addresses[1];
  strack_connection connection;
  strack_local_address(owner, text, sizeof text);
  addresses[0] = text;
  if (strack_av_insert(reader, addresses, 1, STRACK_DEFAULT_PORT, handle, why, sizeof why) != 1) {
    die("no address", why);
  }
  if (strack_av_connection(reader, *handle, &connection, why, sizeof why) != STRACK_OK) {
    die("cannot connect", why);
  }
  return connection;
}

/* The reader's question, in three pieces. */
static void ask(strack_endpoint* reader, strack_connection to) {
  strack_iovec pieces[3] = {{"may I ", 6}, {"read ", 5}, {"that?", 5}};
  need(strack_sendv(reader, to, TAG_QUESTION, pieces, 3, 0), "cannot send");
}

int main(void) {
  strack_endpoint* owner = open_endpoint("127.0.0.1:0"); /* any free port */
  strack_endpoint* reader = open_endpoint(NULL);
  unsigned char* memory = malloc(LENGTH);
  unsigned char* into = calloc(1, LENGTH);
  char why[256];
  char question[32] = {0};
  strack_address to_owner;
  strack_connection connection;
  strack_connection asker;
  strack_completion seen;
  strack_region offered;
  strack_region region;
  strack_status status;
  size_t i;

  if (memory == NULL || into == NULL) die("cannot allocate", "out of memory");
  for (i = 0; i < LENGTH; ++i) memory[i] = (unsigned char)(i * 31 + i / 251);

  /* The reader knows the owner by a handle; nothing has been sent yet. */
  connection = connection_to(reader, owner, &to_owner);
  need(strack_post_receive(reader, connection, TAG_OFFER, STRACK_EXACT_TAG, &region, sizeof region,
                           0),
       "cannot post a receive");
  ask(reader, connection);

  /* The owner looks before it has a buffer, and then receives. */
  while (strack_peek(owner, STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG, &seen) != 1) {
    strack_poll(reader);
    strack_poll(owner);
  }
  if (seen.length >= sizeof question) die("question", "too long");
  asker = seen.connection;
  need(strack_post_receive(owner, asker, seen.tag, STRACK_EXACT_TAG, question, sizeof question, 0),
       "cannot post a receive");
  work_until(owner, reader, STRACK_RECEIVED, 1);
  if (strack_register_memory(owner, asker, memory, LENGTH, STRACK_ACCESS_READ, &offered, why,
                             sizeof why) != STRACK_OK) {
    die("cannot register", why);
  }
  need(strack_send(owner, asker, TAG_OFFER, &offered, sizeof offered, 0), "cannot send");

  /* The reader fetches all of it; the owner's program hears nothing of that. */
  work_until(reader, owner, STRACK_RECEIVED, 1);
  do {
    status = strack_read(reader, connection, region, 0, into, LENGTH, 0);
    strack_poll(owner);
    strack_poll(reader);
  } while (status == STRACK_WOULD_BLOCK);
  need(status, "cannot read");
  work_until(reader, owner, STRACK_READ, 1);
  if (memcmp(memory, into, LENGTH) != 0) die("memory", "not what is there");
  printf("\"%s\" %d bytes read\n", question, LENGTH);

  need(strack_av_remove(reader, to_owner), "cannot remove"); /* and closes */
  need(strack_close(owner, asker), "cannot close");
  work_until(reader, owner, STRACK_CLOSED, 1);
  need(strack_unregister_region(owner, offered), "cannot unregister");
  strack_destroy(reader);
  strack_destroy(owner);
  free(memory);
  free(into);
  return 0;
}
