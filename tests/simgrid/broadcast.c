// Vicinal's broadcasts in MPI: the same messages along the same trees, written anew from src/comm/deliveries.hpp. smpirun runs
// one process on each host, in simulated time; rank 0 prints, a line for each broadcast, when the content has come to ranks 1, 2, ...:
// "came 1405.2 2810.1", in ns since rank 0 has begun.
//
//   broadcast <file>
//
// The file holds the numbers of Rules in their order, then broadcasts: "broadcast <bytes> <bytes of a segment> <edges>", and for
// each edge "<from> <to> <recipients below>", those of one rank in the order in which it announces to them.
//
// Linked with nothing: the program that loads it is SimGrid's. All processes share one address space, and `content`.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

// Bytes that MPI adds to each message in SimGrid.
enum { kEnvelope = 16 };

enum { kAnnouncedTag, kCreditTag, kAcceptedTag, kFirstSegmentTag };

typedef struct {
  long header, tree, recipient, channel;  // bytes of messages
  long most_in_message;                   // content up to here comes with the announcement
  long most_sends,
      most_sent_at_once;  // segments on their way from a rank; their bytes, but for two
  long send_overhead, receive_overhead;  // ns of a rank for each message
} Rules;

typedef struct {
  int rank, below;
  bool is_credited;
  int turn;         // among the credits
  bool* is_posted;  // by segment
} Child;

typedef struct {
  enum { kControlSent, kControlCame, kSegmentSent, kSegmentCame } what;
  int tag, child, segment;
} About;

// What costs the rank an overhead: a message that it is to send, or one that has come.
typedef struct {
  bool is_send;
  int to, tag;
  long bytes;
  About about;
} Work;

// A rank, in one broadcast.
typedef struct {
  int rank, ranks;
  const Rules* rules;
  long bytes, segment;
  int segments;
  int parent, children;
  Child* child;

  bool* has_come;  // by segment
  int come, credits, sends;
  long sent_at_once;
  double came_at;

  int requests;
  MPI_Request* request;
  About* about;  // of each
  int works, worked;
  Work* work;
} Node;

static char* content;  // of all messages: nobody looks at it

static void add_work(Node* node, Work work) {
  node->work = realloc(node->work, (node->works + 1) * sizeof *node->work);
  node->work[node->works++] = work;
}
static void post_send(Node* node, int to, int tag, long bytes, About about) {
  add_work(node, (Work){true, to, tag, bytes, about});
}

static MPI_Request* new_request(Node* node, About about) {
  node->request = realloc(node->request, (node->requests + 1) * sizeof *node->request);
  node->about = realloc(node->about, (node->requests + 1) * sizeof *node->about);
  node->about[node->requests] = about;
  return &node->request[node->requests++];
}
static void send_now(Node* node, const Work* work) {
  MPI_Isend(content, (int)(work->bytes - kEnvelope), MPI_BYTE, work->to, work->tag, MPI_COMM_WORLD,
            new_request(node, work->about));
}
static void post_receive(Node* node, int from, int tag, long bytes, About about) {
  MPI_Irecv(content, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, new_request(node, about));
}

static bool is_small(const Node* node) {
  return node->bytes <= node->rules->most_in_message;
}
static long bytes_of(const Node* node, int segment) {
  return segment + 1 < node->segments ? node->segment : node->bytes - segment * node->segment;
}

// --- what a rank does

// The version, or with it the content.
static void announce(Node* node) {
  const Rules* rules = node->rules;
  for (int c = 0; c < node->children; ++c) {
    const long bytes = rules->header + rules->tree + node->child[c].below * rules->recipient +
                       (is_small(node) ? node->bytes : 0);
    post_send(node, node->child[c].rank, kAnnouncedTag, bytes, (About){kControlSent});
  }
}

// Of the child with the earliest credit the first that is here.
static bool next_segment(const Node* node, int* child, int* segment) {
  bool any = false;
  for (int c = 0; c < node->children; ++c) {
    const Child* one = &node->child[c];
    if (!one->is_credited || (any && one->turn > node->child[*child].turn)) continue;
    for (int s = 0; s < node->segments; ++s) {
      if (one->is_posted[s] || !node->has_come[s]) continue;
      any = true;
      *child = c;
      *segment = s;
      break;
    }
  }
  return any;
}

static void send_more(Node* node) {
  const Rules* rules = node->rules;
  int c = 0;
  int s = 0;
  while (node->sends < rules->most_sends &&
         (node->sends < 2 || node->sent_at_once < rules->most_sent_at_once) &&
         next_segment(node, &c, &s)) {
    node->child[c].is_posted[s] = true;
    ++node->sends;
    node->sent_at_once += bytes_of(node, s);
    post_send(node, node->child[c].rank, kFirstSegmentTag + s, bytes_of(node, s),
              (About){kSegmentSent, .child = c, .segment = s});
  }
}

static void announced(Node* node) {
  const Rules* rules = node->rules;
  if (is_small(node)) {
    node->came_at = MPI_Wtime();
    announce(node);
    return;
  }
  for (int s = 0; s < node->segments; ++s) {
    post_receive(node, node->parent, kFirstSegmentTag + s, bytes_of(node, s),
                 (About){kSegmentCame, .segment = s});
  }
  post_send(node, node->parent, kCreditTag,
            rules->header + rules->tree + (node->segments - 1) * rules->channel,
            (About){kControlSent});
  if (node->parent != 0) post_send(node, 0, kAcceptedTag, rules->header, (About){kControlSent});
  announce(node);
}

static void happened(Node* node, About about) {
  switch (about.what) {
    case kControlSent:
      return;
    case kControlCame:
      if (about.tag == kAnnouncedTag) announced(node);
      if (about.tag != kCreditTag) return;
      node->child[about.child].is_credited = true;
      node->child[about.child].turn = node->credits++;
      break;
    case kSegmentSent:
      --node->sends;
      node->sent_at_once -= bytes_of(node, about.segment);
      break;
    case kSegmentCame:
      node->has_come[about.segment] = true;
      if (++node->come == node->segments) node->came_at = MPI_Wtime();
      break;
  }
  send_more(node);
}

// --- one thread for all messages

static bool costs_overhead(About about) {
  return about.what == kControlCame || about.what == kSegmentCame;
}

// What has ended; if `waits`, at least one. False: nothing is open. Ends of sends are taken before what has come at the same time, as
// Vicinal's HostNetwork tells of them first. Such times are common: content is sent on in step with more that comes.
static bool look(Node* node, bool waits) {
  const int most = node->requests;
  int count;
  int* const ended = malloc((most + 1) * sizeof *ended);
  (waits ? MPI_Waitsome : MPI_Testsome)(most, node->request, &count, ended, MPI_STATUSES_IGNORE);
  const bool any = count != MPI_UNDEFINED;
  for (int i = 0; any && i < count; ++i)
    if (!costs_overhead(node->about[ended[i]])) happened(node, node->about[ended[i]]);
  for (int i = 0; any && i < count; ++i)
    if (costs_overhead(node->about[ended[i]]))
      add_work(node, (Work){.about = node->about[ended[i]]});
  free(ended);
  return any;
}

static void communicate(Node* node) {
  for (;;) {
    if (node->worked == node->works) {
      if (!look(node, true)) return;
      continue;
    }
    const Work work = node->work[node->worked++];
    const long overhead = work.is_send ? node->rules->send_overhead : node->rules->receive_overhead;
    if (overhead > 0) {
      nanosleep(&(struct timespec){.tv_nsec = overhead}, NULL);
      // What has come meanwhile is before what this message leads to.
      look(node, false);
    }
    if (work.is_send) {
      send_now(node, &work);
    } else {
      happened(node, work.about);
    }
  }
}

// --- a broadcast

// What this rank will be told, whenever it comes.
static void expect_messages(Node* node) {
  const long most = 1 << 16;
  if (node->rank != 0)
    post_receive(node, node->parent, kAnnouncedTag, most, (About){kControlCame, kAnnouncedTag});
  if (is_small(node)) return;
  for (int c = 0; c < node->children; ++c) {
    post_receive(node, node->child[c].rank, kCreditTag, most,
                 (About){kControlCame, kCreditTag, .child = c});
  }
  for (int r = 1; node->rank == 0 && r < node->ranks; ++r) {
    bool is_child = false;
    for (int c = 0; c < node->children; ++c) is_child |= node->child[c].rank == r;
    if (!is_child) post_receive(node, r, kAcceptedTag, most, (About){kControlCame, kAcceptedTag});
  }
}

static void broadcast(Node* node) {
  expect_messages(node);
  // The root begins when no message of the barrier is on its way.
  MPI_Barrier(MPI_COMM_WORLD);
  sleep(1);
  const double begin = MPI_Wtime();
  if (node->rank == 0) {
    for (int s = 0; s < node->segments; ++s) node->has_come[s] = true;
    announce(node);
  }
  communicate(node);
  double* const came = malloc(node->ranks * sizeof *came);
  MPI_Gather(&node->came_at, 1, MPI_DOUBLE, came, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (node->rank == 0) {
    printf("came");
    for (int r = 1; r < node->ranks; ++r) printf(" %.3f", (came[r] - begin) * 1e9);
    printf("\n");
  }
  free(came);
}

// False: there is no other.
static bool read_broadcast(FILE* file, Node* node) {
  int edges;
  if (fscanf(file, " broadcast %ld %ld %d", &node->bytes, &node->segment, &edges) != 3)
    return false;
  node->segments = (int)((node->bytes + node->segment - 1) / node->segment);
  node->has_come = calloc(node->segments, sizeof *node->has_come);
  node->child = malloc(edges * sizeof *node->child);
  for (int e = 0; e < edges; ++e) {
    int from, to, below;
    if (fscanf(file, "%d %d %d", &from, &to, &below) != 3) exit(2);
    if (to == node->rank) node->parent = from;
    if (from != node->rank) continue;
    node->child[node->children++] =
        (Child){.rank = to, .below = below, .is_posted = calloc(node->segments, sizeof(bool))};
  }
  return true;
}

static void forget(Node* node) {
  for (int c = 0; c < node->children; ++c) free(node->child[c].is_posted);
  free(node->child);
  free(node->has_come);
  free(node->request);
  free(node->about);
  free(node->work);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  FILE* const file = fopen(argv[argc - 1], "r");
  Rules rules;
  if (file == NULL ||
      fscanf(file, "%ld %ld %ld %ld %ld %ld %ld %ld %ld", &rules.header, &rules.tree,
             &rules.recipient, &rules.channel, &rules.most_in_message, &rules.most_sends,
             &rules.most_sent_at_once, &rules.send_overhead, &rules.receive_overhead) != 9) {
    exit(2);
  }
  if (content == NULL) content = malloc(16 << 20);
  for (;;) {
    Node node = {.rank = rank, .ranks = ranks, .rules = &rules};
    if (!read_broadcast(file, &node)) break;
    broadcast(&node);
    forget(&node);
  }
  fclose(file);
  MPI_Finalize();
  return 0;
}
