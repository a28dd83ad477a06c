/* Set-up and resets of docs/protocol.md as a model for spin. spec/model/check.py checks it, and that each rule that
 * is taken out of it is missed.
 *
 * One host asks (the initiator, I, at address A), one answers (the responder, R), somebody hostile is at address M.
 * Each of the two may be restarted once, at any moment. Nonces name attempts: 1 is I's first, 2 its next after a
 * restart, 3 the stranger's own. Numbers 1 to 3 name what R makes of them: its connection ids, in the order in which
 * they are drawn, and with the nonce the session's keys.
 *
 * The network is a set: what was once sent can arrive at any later moment, any number of times, in any order, or
 * never in time. That is loss, delay, duplication, reordering and replay in one. A step is taken only if it changes
 * something, so every run ends, in a state where all that was sent has arrived; what must hold there is judged then
 * ("timeout" is Promela's word for: nothing else can happen). Time-outs are steps that can be taken at any moment.
 *
 * What the hostile one can do depends on the mode:
 *   OPEN    no key. He sees what is sent to M, sends from any address, and makes up what he likes.
 *   SHARED  a shared key. He sees all, keeps all and sends it again from any address, and makes up what has no MAC.
 *   HOSTS   keys of hosts: the same, and a hello is answered with an accept, or under load with a challenge.
 * In every mode he has a reset for every id from the start: R makes them for whoever asks, before the id is in use.
 */
#define OPEN   0
#define SHARED 1
#define HOSTS  2
byte mode;

/* Rules taken out, one at a time. */
#define NO_COOKIE              1  /* R does not look at cookies */
#define COOKIE_WITHOUT_ADDRESS 2  /* they are good for any address */
#define COOKIE_OF_ANOTHER_LIFE 3  /* they are good after a restart */
#define ACCEPT_OF_ANOTHER      4  /* an accept's MAC does not cover the initiator's terms */
#define TOLD_AT_ONCE           5  /* R tells its application when it accepts, not when it hears the first sealed packet */
#define RESETS_BELIEVED        6  /* a reset is believed without a ping that asks */
#define NO_RESETS              7  /* who does not know an id says nothing */
#define HALF_OPEN_FOR_EVER     8  /* R does not forget what nobody went on with */
byte left_out;
/* Instead: is it reachable at all? */
#define BOTH_OPEN         1
#define RESTART_NOTICED   2
#define OPEN_AFTER_REPLAY 3
byte goal;

#define A 0
#define M 1
byte ids;       /* how many R draws at most, 1 to 3 */
bool elsewhere; /* copies of what I has sent come from M, too */

/* I */
#define HELLO_SENT   0
#define CONNECT_SENT 1
#define I_OPEN       2
#define I_ENDED      3
byte i_state;
byte i_nonce = 1;
byte i_peer;    /* R's id, once open */
bool i_asked;   /* its ping after a reset is under way */
bool i_again;   /* it was restarted */
bool i_noticed; /* it has ended since R was restarted */

/* R, by id */
#define NONE   0
#define HALF   1
#define R_OPEN 2
#define GONE   3
byte r_state[4];
byte r_nonce[4];
byte r_from[4];
bool r_asked[4];
byte r_made; /* ids drawn so far */
bit r_life;  /* 1: restarted. Its cookies' secret is another one then */

/* What has been sent, and what was true once. Bits, by these places. */
#define HAS(set, place) ((set >> (place)) & 1)
#define PUT(set, place) set = set | (1 << (place))
#define COOKIE(nonce, from, life) ((nonce) * 4 + (from) * 2 + (life))
#define PAIR(nonce, id) ((nonce) * 4 + (id))
byte hellos = 2;     /* by nonce; I begins with one */
short challenges;    /* by the cookie that they carry: for whom it was made */
short connects;      /* by the cookie that they carry */
short accepts;       /* by nonce and id */
short pings;         /* I's, by nonce and id */
short pings_asking;  /* the same, with a counter drawn after a reset */
short resets_asked;  /* R's, in answer to those */
short r_pings_asking;
short i_resets_asked;
short i_opened;      /* I has been open with this nonce and id */

/* Whether a packet of an attempt can come from an address. */
#define CAN_COME(nonce, from) ((nonce) == 3 || (from) == A || (mode != OPEN && elsewhere))
/* In OPEN the stranger sees only what is sent to M. */
#define CAN_BE_SEEN(from) (mode != OPEN || (from) == M)

#define IS(id, nonce, from) (r_state[id] >= HALF && r_state[id] <= R_OPEN && r_nonce[id] == (nonce) && r_from[id] == (from))
#define KNOWN(nonce, from) (IS(1, nonce, from) || IS(2, nonce, from) || IS(3, nonce, from))

/* R makes a half-open connection, and accepts. */
inline admit(nonce, from, proved) {
  r_made++;
  r_state[r_made] = HALF;
  r_nonce[r_made] = nonce;
  r_from[r_made] = from;
  /* Who cannot receive at A has nothing in A's name, not even half of a connection. Only hosts with keys of their own
   * go further without a cookie: for a trusted host's message, which may be a copy. */
  assert(mode == HOSTS || !(from == A && nonce == 3));
  assert(!(proved) || HAS(challenges, COOKIE(nonce, from, r_life)));
  PUT(accepts, PAIR(nonce, r_made));
  if
  :: left_out == TOLD_AT_ONCE -> r_opens(nonce, r_made)
  :: else
  fi
}

/* R's application is told of a connection. */
inline r_opens(nonce, id) {
  r_state[id] = R_OPEN;
  /* Its peer has the same one: no message of another time, or of another attempt, has established it. */
  assert(nonce == 3 || HAS(i_opened, PAIR(nonce, id)));
  /* And the stranger could receive where he said that he is. */
  assert(nonce != 3 || (mode == OPEN && r_from[id] == M));
}

#define HELLO_TO_R(nonce, from) \
  :: atomic { HAS(hellos, nonce) && CAN_COME(nonce, from) && !KNOWN(nonce, from) && !HAS(challenges, COOKIE(nonce, from, r_life)) -> \
       PUT(challenges, COOKIE(nonce, from, r_life)) } \
  :: atomic { mode == HOSTS && HAS(hellos, nonce) && CAN_COME(nonce, from) && !KNOWN(nonce, from) && r_made < ids -> admit(nonce, from, false) }

#define COOKIE_IS_GOOD(from, made_for, life) \
  (left_out == NO_COOKIE || (((made_for) == (from) || left_out == COOKIE_WITHOUT_ADDRESS) && ((life) == r_life || left_out == COOKIE_OF_ANOTHER_LIFE)))

#define CONNECT_TO_R(nonce, from, made_for, life) \
  :: atomic { HAS(connects, COOKIE(nonce, made_for, life)) && CAN_COME(nonce, from) && !KNOWN(nonce, from) && \
       COOKIE_IS_GOOD(from, made_for, life) && r_made < ids -> admit(nonce, from, true) } \
  :: atomic { HAS(connects, COOKIE(nonce, made_for, life)) && CAN_COME(nonce, from) && !KNOWN(nonce, from) && \
       !COOKIE_IS_GOOD(from, made_for, life) && !HAS(challenges, COOKIE(nonce, from, r_life)) -> PUT(challenges, COOKIE(nonce, from, r_life)) }

/* A sealed packet: it opens with the keys of its nonce and id, or R does not know the id. */
#define PING_TO_R(nonce, id) \
  :: atomic { (HAS(pings, PAIR(nonce, id)) || HAS(pings_asking, PAIR(nonce, id))) && r_state[id] == HALF && r_nonce[id] == (nonce) && \
       CAN_COME(nonce, r_from[id]) -> r_opens(nonce, id) } \
  :: atomic { HAS(pings_asking, PAIR(nonce, id)) && r_state[id] == GONE && left_out != NO_RESETS && !HAS(resets_asked, PAIR(nonce, id)) -> \
       PUT(resets_asked, PAIR(nonce, id)) }

/* A connection of R's, after it is there. */
#define LIFE_AT_R(id) \
  :: atomic { r_state[id] == HALF && left_out != HALF_OPEN_FOR_EVER -> r_state[id] = GONE }   /* 3 s */ \
  :: atomic { r_state[id] == R_OPEN && r_nonce[id] != 3 && !r_asked[id] && left_out != RESETS_BELIEVED -> /* a reset that anybody can have */ \
       r_asked[id] = true; PUT(r_pings_asking, PAIR(r_nonce[id], id)) } \
  :: atomic { r_state[id] == R_OPEN && r_nonce[id] != 3 && (HAS(i_resets_asked, PAIR(r_nonce[id], id)) || left_out == RESETS_BELIEVED) -> \
       r_state[id] = GONE; \
       assert(!(i_state == I_OPEN && i_nonce == r_nonce[id] && i_peer == id)) }

proctype Responder() {
end:
  do
  HELLO_TO_R(1, A)
  HELLO_TO_R(1, M)
  HELLO_TO_R(2, A)
  HELLO_TO_R(2, M)
  HELLO_TO_R(3, A)
  HELLO_TO_R(3, M)
  CONNECT_TO_R(1, A, A, 0)
  CONNECT_TO_R(1, A, A, 1)
  CONNECT_TO_R(1, A, M, 0)
  CONNECT_TO_R(1, A, M, 1)
  CONNECT_TO_R(1, M, A, 0)
  CONNECT_TO_R(1, M, A, 1)
  CONNECT_TO_R(1, M, M, 0)
  CONNECT_TO_R(1, M, M, 1)
  CONNECT_TO_R(2, A, A, 0)
  CONNECT_TO_R(2, A, A, 1)
  CONNECT_TO_R(2, A, M, 0)
  CONNECT_TO_R(2, A, M, 1)
  CONNECT_TO_R(2, M, A, 0)
  CONNECT_TO_R(2, M, A, 1)
  CONNECT_TO_R(2, M, M, 0)
  CONNECT_TO_R(2, M, M, 1)
  CONNECT_TO_R(3, A, M, 0)
  CONNECT_TO_R(3, A, M, 1)
  CONNECT_TO_R(3, M, M, 0)
  CONNECT_TO_R(3, M, M, 1)
  PING_TO_R(1, 1)
  PING_TO_R(1, 2)
  PING_TO_R(1, 3)
  PING_TO_R(2, 1)
  PING_TO_R(2, 2)
  PING_TO_R(2, 3)
  PING_TO_R(3, 1)
  PING_TO_R(3, 2)
  PING_TO_R(3, 3)
  LIFE_AT_R(1)
  LIFE_AT_R(2)
  LIFE_AT_R(3)
  :: atomic { r_life == 0 -> /* restarted: it knows nothing any more */
       r_life = 1;
       if :: r_state[1] != NONE -> r_state[1] = GONE :: else fi;
       if :: r_state[2] != NONE -> r_state[2] = GONE :: else fi;
       if :: r_state[3] != NONE -> r_state[3] = GONE :: else fi }
  od
}

/* A challenge needs no key: whoever knows a cookie can bring it. */
#define CHALLENGE_TO_I(nonce, made_for, life) \
  :: atomic { i_nonce == (nonce) && i_state <= CONNECT_SENT && HAS(challenges, COOKIE(nonce, made_for, life)) && \
       ((made_for) == A || CAN_BE_SEEN(A)) && !HAS(connects, COOKIE(nonce, made_for, life)) -> \
       i_state = CONNECT_SENT; PUT(connects, COOKIE(nonce, made_for, life)) }

/* In HOSTS a hello's answer, too. Its MAC, or Noise's handshake, covers both sides' terms. */
#define ACCEPT_TO_I(nonce, id) \
  :: atomic { (i_nonce == (nonce) || left_out == ACCEPT_OF_ANOTHER) && (i_state == CONNECT_SENT || (mode == HOSTS && i_state == HELLO_SENT)) && \
       HAS(accepts, PAIR(nonce, id)) && (r_from[id] == A || CAN_BE_SEEN(A)) -> \
       i_state = I_OPEN; i_peer = id; \
       assert(r_nonce[id] == i_nonce);  /* R made it for this attempt */ \
       PUT(i_opened, PAIR(i_nonce, id)); PUT(pings, PAIR(i_nonce, id)) }

#define PING_TO_I(nonce, id) \
  :: atomic { HAS(r_pings_asking, PAIR(nonce, id)) && !(i_nonce == (nonce) && i_state != I_ENDED) && left_out != NO_RESETS && \
       !HAS(i_resets_asked, PAIR(nonce, id)) -> PUT(i_resets_asked, PAIR(nonce, id)) }

proctype Initiator() {
end:
  do
  CHALLENGE_TO_I(1, A, 0)
  CHALLENGE_TO_I(1, A, 1)
  CHALLENGE_TO_I(1, M, 0)
  CHALLENGE_TO_I(1, M, 1)
  CHALLENGE_TO_I(2, A, 0)
  CHALLENGE_TO_I(2, A, 1)
  CHALLENGE_TO_I(2, M, 0)
  CHALLENGE_TO_I(2, M, 1)
  ACCEPT_TO_I(1, 1)
  ACCEPT_TO_I(1, 2)
  ACCEPT_TO_I(1, 3)
  ACCEPT_TO_I(2, 1)
  ACCEPT_TO_I(2, 2)
  ACCEPT_TO_I(2, 3)
  PING_TO_I(1, 1)
  PING_TO_I(1, 2)
  PING_TO_I(1, 3)
  PING_TO_I(2, 1)
  PING_TO_I(2, 2)
  PING_TO_I(2, 3)
  :: atomic { i_state <= CONNECT_SENT -> i_state = I_ENDED }  /* nobody answered in time */
  :: atomic { i_state == I_OPEN && !i_asked && left_out != RESETS_BELIEVED -> /* a reset that anybody can have */
       i_asked = true; PUT(pings_asking, PAIR(i_nonce, i_peer)) }
  :: atomic { i_state == I_OPEN && (HAS(resets_asked, PAIR(i_nonce, i_peer)) || left_out == RESETS_BELIEVED) ->
       i_state = I_ENDED; i_noticed = true;
       assert(r_state[i_peer] == GONE) }                      /* it is true */
  :: atomic { !i_again -> /* restarted, and it connects anew */
       i_again = true; i_noticed = false; i_nonce = 2; i_peer = 0; i_asked = false; i_state = HELLO_SENT; PUT(hellos, 2) }
  od
}

/* Without a key a stranger is one more initiator, who says that he is where he likes. */
#define STRANGERS_CONNECT(made_for, life) \
  :: atomic { mode == OPEN && HAS(challenges, COOKIE(3, made_for, life)) && CAN_BE_SEEN(made_for) && !HAS(connects, COOKIE(3, made_for, life)) -> \
       PUT(connects, COOKIE(3, made_for, life)) }
#define STRANGERS_PING(id) \
  :: atomic { mode == OPEN && HAS(accepts, PAIR(3, id)) && CAN_BE_SEEN(r_from[id]) && !HAS(pings, PAIR(3, id)) -> PUT(pings, PAIR(3, id)) }

proctype Stranger() {
end:
  do
  :: atomic { mode == OPEN && !HAS(hellos, 3) -> PUT(hellos, 3) }
  STRANGERS_CONNECT(A, 0)
  STRANGERS_CONNECT(A, 1)
  STRANGERS_CONNECT(M, 0)
  STRANGERS_CONNECT(M, 1)
  STRANGERS_PING(1)
  STRANGERS_PING(2)
  STRANGERS_PING(3)
  od
}

#define FITS(id) (r_state[id] != HALF && (r_state[id] != R_OPEN || r_nonce[id] == 3 || (i_state == I_OPEN && i_peer == (id) && i_nonce == r_nonce[id])))

/* Nothing more can happen: both sides have the same connection, or neither has one. */
proctype Judge() {
end:
  timeout ->
  assert(FITS(1) && FITS(2) && FITS(3));
  assert(i_state != I_OPEN || r_state[i_peer] == R_OPEN);
  assert(i_state >= I_OPEN);
  assert(!(goal == BOTH_OPEN && i_state == I_OPEN));
  assert(!(goal == RESTART_NOTICED && i_noticed && r_life == 1));
  assert(!(goal == OPEN_AFTER_REPLAY && i_state == I_OPEN && i_nonce == 2 && r_made == ids && r_nonce[1] == 1))
}

/* What check.py asks for. */
init {
  c_code {
    now.mode = atoi(getenv("MODE"));
    now.ids = atoi(getenv("IDS"));
    now.elsewhere = atoi(getenv("ELSEWHERE"));
    now.left_out = atoi(getenv("LEFT_OUT"));
    now.goal = atoi(getenv("GOAL"));
  };
  atomic { run Responder(); run Initiator(); run Stranger(); run Judge() }
}
