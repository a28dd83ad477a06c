/* The smallest conversation: a client says something, the server answers.
 *
 *   hello server [ADDRESS]     takes one connection; the default address is 127.0.0.1:4794
 *   hello client [ADDRESS]
 *
 * Between hosts both need the same key: STRACK_KEY=$(openssl rand -hex 32). Without one, an endpoint
 * talks to its own host only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strack/strack.h>
#include <string.h>

static void die(const char* what, const char* why) {
  fprintf(stderr, "error: %s: %s\n", what, why);
  exit(1);
}

/* For calls whose failure a status describes well enough. */
static void need(strack_status status, const char* what) {
  if (status != STRACK_OK) die(what, strack_error_text(status));
}

static strack_endpoint* open_endpoint(const char* listen) {
  char why[256];
  unsigned char key[STRACK_KEY_SIZE];
  strack_options options;
  strack_endpoint* endpoint;
  const char* hex = getenv("STRACK_KEY");

  strack_options_init(&options);
  options.listen = listen;
  if (hex != NULL) {
    if (strack_parse_key(hex, key, why, sizeof why) != STRACK_OK) die("STRACK_KEY", why);
    options.key = key; /* copied by strack_open */
  }
  if (strack_open(&options, &endpoint, why, sizeof why) != STRACK_OK) die("cannot open", why);
  return endpoint;
}

/* Works until something of this kind has happened, and returns it. Other completions are of no
 * interest here, except that a connection has failed. */
static strack_completion wait_for(strack_endpoint* endpoint, uint32_t kind) {
  strack_completion done;
  for (;;) {
    /* All the work is done in here: without this call, nothing is sent or acknowledged. */
    strack_wait(endpoint, STRACK_FOREVER);
    while (strack_completions(endpoint, &done, 1) == 1) {
      if (done.status != STRACK_OK) {
        die(strack_kind_text(done.kind), strack_error_text(done.status));
      }
      if (done.kind == kind) return done;
    }
  }
}

static void server(const char* address) {
  strack_endpoint* endpoint = open_endpoint(address);
  char text[256] = "";
  char answer[300];
  char own[STRACK_ADDRESS_SIZE];
  char peer[STRACK_ADDRESS_SIZE];
  strack_completion received;

  /* A receive can be posted before anybody has connected. */
  need(strack_post_receive(endpoint, STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG, text,
                           sizeof text - 1, 0),
       "cannot post a receive");
  strack_local_address(endpoint, own, sizeof own);
  printf("listening on %s\n", own);
  fflush(stdout);

  received = wait_for(endpoint, STRACK_RECEIVED);
  if (strack_peer_address(endpoint, received.connection, peer, sizeof peer) < 0) {
    die("no address", "the peer has gone");
  }
  printf("%s says: %s\n", peer, text);

  /* `answer` must stay as it is until the send has completed; closing waits for that. */
  snprintf(answer, sizeof answer, "hello, you said '%s'", text);
  need(strack_send(endpoint, received.connection, received.tag, answer, strlen(answer), 0),
       "cannot send");
  need(strack_close(endpoint, received.connection), "cannot close");
  wait_for(endpoint, STRACK_CLOSED);
  strack_destroy(endpoint);
}

static void client(const char* address) {
  strack_endpoint* endpoint = open_endpoint(NULL);
  static const char question[] = "is there anybody?";
  char why[256];
  char numeric[STRACK_ADDRESS_SIZE];
  char text[300] = "";
  strack_connection connection;

  if (strack_resolve(address, STRACK_DEFAULT_PORT, numeric, sizeof numeric, why, sizeof why) !=
      STRACK_OK) {
    die(address, why);
  }
  if (strack_connect(endpoint, numeric, 0, &connection, why, sizeof why) != STRACK_OK) {
    die("cannot connect", why);
  }
  /* No need to wait until the connection is up. */
  need(strack_post_receive(endpoint, connection, 7, STRACK_EXACT_TAG, text, sizeof text - 1, 0),
       "cannot post a receive");
  need(strack_send(endpoint, connection, 7, question, strlen(question), 0), "cannot send");

  wait_for(endpoint, STRACK_RECEIVED);
  printf("the server says: %s\n", text);
  need(strack_close(endpoint, connection), "cannot close");
  wait_for(endpoint, STRACK_CLOSED);
  strack_destroy(endpoint);
}

int main(int argc, char** argv) {
  const char* address = argc > 2 ? argv[2] : "127.0.0.1:4794";
  if (argc >= 2 && argc <= 3 && strcmp(argv[1], "server") == 0) {
    server(address);
  } else if (argc >= 2 && argc <= 3 && strcmp(argv[1], "client") == 0) {
    client(address);
  } else {
    fprintf(stderr, "usage: hello server [ADDRESS] | hello client [ADDRESS]\n");
    return 2;
  }
  return 0;
}
