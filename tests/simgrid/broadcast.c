// Vicinal's broadcasts in MPI: the same messages along the same trees, written anew from src/comm/deliveries.hpp. smpirun runs
// the processes, in simulated time; rank 0 prints, a line for each broadcast, when the content has come to ranks 1, 2, ...:
// "came 1405.2 2810.1", in ns since rank 0 has begun.
//
//   broadcast <file>
//
// The file holds the numbers of Rules in their order, then broadcasts: "broadcast <bytes> <bytes of a segment> <edges>", and for
// each edge "<from> <to> <recipients below>", those of one rank in the order in which it announces to them.
//
// In SMPI all that is on its way between two processes shares the bandwidth. Segments between two ranks go one after the other, as
// MPI sends them over a connection, while the latency of one passes beside those before it. So the links have no latency here: it is
// waited for before a message is sent, and a segment is then sent when that before it has left.
//
// Of 3 n processes the first n are ranks; process n + r spends the overheads of rank r, one at a time, and process 2 n + r
// waits for latencies. All three are on one host, where messages take no time.
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

enum { kAnnouncedTag, kCreditTag, kAcceptedTag, kOrderTag, kDoneTag, kFirstSegmentTag };

typedef struct {
  long header, tree, recipient, channel;  // bytes of messages
  long most_in_message;                   // content up to here comes with the announcement
  long most_sends,
      most_sent_at_once;  // segments on their way from a rank; their bytes, but for one
  long send_overhead, receive_overhead;  // ns of a rank for each message
  long latency;                          // ns of each message
} Rules;

typedef struct {
  int rank, below;
  bool is_credited;
  int turn;         // among the credits
  bool* is_posted;  // by segment
  int *line, first,
      last;  // works: segments whose latency has passed, in a row; the first is on its way
} Child;

typedef struct {
  enum { kOrdered, kControlSent, kControlCame, kSegmentSent, kSegmentCame, kSpent, kPassed } what;
  int tag, child, segment;
  int work;  // for which an overhead was spent, or a latency has passed
} About;

// A message that the rank is to send, or one that has come.
typedef struct {
  bool is_send;
  int to, tag;
  long bytes;
  About about;
} Work;

// To a process that waits: it answers so many ns after `at`, or after it has got the order.
typedef struct {
  double at;  // seconds; 0: when the order has come
  long ns;    // -1: ends
} Order;

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
  int works;
  Work* work;
} Node;

static char* content;  // of all messages but orders: nobody looks at it

static MPI_Request* new_request(Node* node, About about) {
  node->request = realloc(node->request, (node->requests + 1) * sizeof *node->request);
  node->about = realloc(node->about, (node->requests + 1) * sizeof *node->about);
  node->about[node->requests] = about;
  return &node->request[node->requests++];
}
static void post_receive(Node* node, int from, int tag, long bytes, About about) {
  MPI_Irecv(content, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, new_request(node, about));
}

// --- what takes time

// `then` comes when the process has waited.
static void order(Node* node, int process, double at, long ns, About then) {
  Order* const one = malloc(sizeof *one);  // until the program ends
  *one = (Order){at, ns};
  post_receive(node, process, kDoneTag, 0, then);
  MPI_Isend(one, sizeof *one, MPI_BYTE, process, kOrderTag, MPI_COMM_WORLD,
            new_request(node, (About){kOrdered}));
}

static void wait_as_ordered(int rank) {
  for (Order one;;) {
    MPI_Recv(&one, sizeof one, MPI_BYTE, rank, kOrderTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (one.ns < 0) return;
    const double end = (one.at > 0 ? one.at : MPI_Wtime()) + (double)one.ns * 1e-9;
    // Rounded up, but for what doubles lose.
    const long left = (long)((end - MPI_Wtime()) * 1e9 + 0.999);
    if (left > 0) nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
    MPI_Send(content, 0, MPI_BYTE, rank, kDoneTag, MPI_COMM_WORLD);
  }
}

static void pass_latency(Node* node, int work) {
  order(node, 2 * node->ranks + node->rank, MPI_Wtime(), node->rules->latency,
        (About){kPassed, .work = work});
}
static void spend_overhead(Node* node, long ns, int work) {
  order(node, node->ranks + node->rank, 0, ns, (About){kSpent, .work = work});
}

static int add_work(Node* node, Work work) {
  node->work = realloc(node->work, (node->works + 1) * sizeof *node->work);
  node->work[node->works] = work;
  return node->works++;
}

static void post_send(Node* node, int to, int tag, long bytes, About about) {
  const int work = add_work(node, (Work){true, to, tag, bytes, about});
  if (node->rules->send_overhead > 0) {
    spend_overhead(node, node->rules->send_overhead, work);
  } else {
    pass_latency(node, work);
  }
}

static void send_now(Node* node, const Work* work) {
  MPI_Isend(content, (int)(work->bytes - kEnvelope), MPI_BYTE, work->to, work->tag, MPI_COMM_WORLD,
            new_request(node, work->about));
}

static void passed(Node* node, int number) {
  const Work* const work = &node->work[number];
  if (work->about.what == kSegmentSent) {
    Child* const child = &node->child[work->about.child];
    child->line[child->last++] = number;
    if (child->last - child->first > 1) return;
  }
  send_now(node, work);
}

static void segment_left(Node* node, Child* child) {
  if (++child->first < child->last) send_now(node, &node->work[child->line[child->first]]);
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
         (node->sends < 1 || node->sent_at_once < rules->most_sent_at_once) &&
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
    case kOrdered:
    case kControlSent:
      return;
    case kSpent:
      if (node->work[about.work].is_send) return pass_latency(node, about.work);
      return happened(node, node->work[about.work].about);
    case kPassed:
      return passed(node, about.work);
    case kControlCame:
      if (about.tag == kAnnouncedTag) announced(node);
      if (about.tag != kCreditTag) return;
      node->child[about.child].is_credited = true;
      node->child[about.child].turn = node->credits++;
      break;
    case kSegmentSent:
      --node->sends;
      node->sent_at_once -= bytes_of(node, about.segment);
      segment_left(node, &node->child[about.child]);
      break;
    case kSegmentCame:
      node->has_come[about.segment] = true;
      if (++node->come == node->segments) node->came_at = MPI_Wtime();
      break;
  }
  send_more(node);
}

// --- one thread for all messages

static bool has_come(About about) {
  return about.what == kControlCame || about.what == kSegmentCame;
}

static void came(Node* node, About about) {
  const long overhead = node->rules->receive_overhead;
  if (overhead == 0) return happened(node, about);
  spend_overhead(node, overhead, add_work(node, (Work){.about = about}));
}

// Those that have ended go.
static void forget_ended(Node* node) {
  int left = 0;
  for (int r = 0; r < node->requests; ++r) {
    if (node->request[r] == MPI_REQUEST_NULL) continue;
    node->request[left] = node->request[r];
    node->about[left++] = node->about[r];
  }
  node->requests = left;
}

// Ends of sends are taken before what has come at the same time, as Vicinal's HostNetwork tells of them first. Such times are common:
// content is sent on in step with more that comes.
static void communicate(Node* node) {
  for (;;) {
    int count;
    int* const ended = malloc((node->requests + 1) * sizeof *ended);
    About* const about = malloc((node->requests + 1) * sizeof *about);
    MPI_Waitsome(node->requests, node->request, &count, ended, MPI_STATUSES_IGNORE);
    const bool any = count != MPI_UNDEFINED;
    for (int i = 0; any && i < count; ++i) about[i] = node->about[ended[i]];
    free(ended);
    if (any) forget_ended(node);
    for (int i = 0; any && i < count; ++i)
      if (!has_come(about[i])) happened(node, about[i]);
    for (int i = 0; any && i < count; ++i)
      if (has_come(about[i])) came(node, about[i]);
    free(about);
    if (!any) return;
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

static void broadcast(Node* node, MPI_Comm of_ranks) {
  expect_messages(node);
  // The root begins when no message of the barrier is on its way.
  MPI_Barrier(of_ranks);
  sleep(1);
  const double begin = MPI_Wtime();
  if (node->rank == 0) {
    for (int s = 0; s < node->segments; ++s) node->has_come[s] = true;
    announce(node);
  }
  communicate(node);
  double* const came = malloc(node->ranks * sizeof *came);
  MPI_Gather(&node->came_at, 1, MPI_DOUBLE, came, 1, MPI_DOUBLE, 0, of_ranks);
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
    node->child[node->children++] = (Child){.rank = to,
                                            .below = below,
                                            .is_posted = calloc(node->segments, sizeof(bool)),
                                            .line = malloc(node->segments * sizeof(int))};
  }
  return true;
}

static void forget(Node* node) {
  for (int c = 0; c < node->children; ++c) {
    free(node->child[c].is_posted);
    free(node->child[c].line);
  }
  free(node->child);
  free(node->has_come);
  free(node->request);
  free(node->about);
  free(node->work);
}

static bool read_rules(FILE* file, Rules* rules) {
  return fscanf(file, "%ld %ld %ld %ld %ld %ld %ld %ld %ld %ld", &rules->header, &rules->tree,
                &rules->recipient, &rules->channel, &rules->most_in_message, &rules->most_sends,
                &rules->most_sent_at_once, &rules->send_overhead, &rules->receive_overhead,
                &rules->latency) == 10;
}

static void end_waiting(int process) {
  const Order end = {.ns = -1};
  MPI_Send(&end, sizeof end, MPI_BYTE, process, kOrderTag, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, processes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const int ranks = processes / 3;
  MPI_Comm of_ranks;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : 1, rank, &of_ranks);
  if (content == NULL) content = malloc(16 << 20);
  if (rank >= ranks) {
    wait_as_ordered(rank % ranks);
    MPI_Finalize();
    return 0;
  }
  FILE* const file = fopen(argv[argc - 1], "r");
  Rules rules;
  if (file == NULL || !read_rules(file, &rules)) exit(2);
  for (;;) {
    Node node = {.rank = rank, .ranks = ranks, .rules = &rules};
    if (!read_broadcast(file, &node)) break;
    broadcast(&node, of_ranks);
    forget(&node);
  }
  fclose(file);
  end_waiting(ranks + rank);
  end_waiting(2 * ranks + rank);
  MPI_Finalize();
  return 0;
}
