// Vicinal's broadcasts in MPI: the same messages along the same trees (src/comm/deliveries.hpp says which), written anew. Run by
// smpirun, one process on each host; prints when all content has come to each rank.
//
//   broadcast <file>   of the file: sizes of messages, then broadcasts, each a tree and how content goes along it
//
// Compiled by smpicc and linked with nothing: the program that loads it is SimGrid's.
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// What MPI adds to each message in SimGrid.
enum { kEnvelope = 16 };
enum { kAnnounced, kCredit, kAccepted, kFirstSegment };  // tags

// Bytes of messages, and what a rank may do at once.
typedef struct {
  long header, tree, recipient, channel;
  long most_in_message;
  long most_sends, most_sent_at_once;
} Rules;

typedef struct {
  int rank;
  int below;  // recipients that it is told to serve
  bool is_credited;
  int turn;     // of credits
  bool* is_posted;  // by segment
} Child;

typedef struct {
  int rank, ranks;
  Rules rules;
  // The broadcast.
  long bytes, segment;
  int parent;
  int children;
  Child* child;
  // Of this rank.
  int segments;
  bool* has_come;
  int come;
  int turns;
  int sends;
  long sent_at_once;
  double came_at;
  // Open requests, and what each is about.
  int requests, open;
  MPI_Request* request;
  struct About {
    enum { kControlSent, kControlCame, kSegmentSent, kSegmentCame } what;
    int tag, child, segment;
  }* about;
} Node;

static char* content;  // of all messages: nobody looks at it

static void add(Node* node, MPI_Request request, struct About about) {
  node->request = realloc(node->request, (node->requests + 1) * sizeof *node->request);
  node->about = realloc(node->about, (node->requests + 1) * sizeof *node->about);
  node->request[node->requests] = request;
  node->about[node->requests++] = about;
}

static void post_send(Node* node, int to, int tag, long bytes, struct About about) {
  MPI_Request request;
  MPI_Isend(content, (int)(bytes - kEnvelope), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  add(node, request, about);
}
static void post_receive(Node* node, int from, int tag, long bytes, struct About about) {
  MPI_Request request;
  MPI_Irecv(content, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
  add(node, request, about);
}

static bool is_small(const Node* node) {
  return node->bytes <= node->rules.most_in_message;
}
static long piece(const Node* node, int segment) {
  return segment + 1 < node->segments ? node->segment : node->bytes - segment * node->segment;
}

// The version, or the content itself; with the recipients that each child serves.
static void announce(Node* node) {
  const Rules* rules = &node->rules;
  for (int c = 0; c < node->children; ++c) {
    const long bytes = rules->header + rules->tree + node->child[c].below * rules->recipient +
                       (is_small(node) ? node->bytes : 0);
    post_send(node, node->child[c].rank, kAnnounced, bytes, (struct About){kControlSent});
  }
}

// The segment that is sent next: of the child with the earliest credit the first that is here.
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
  const Rules* rules = &node->rules;
  int child, segment;
  while (node->sends < rules->most_sends &&
         (node->sends < 2 || node->sent_at_once < rules->most_sent_at_once) &&
         next_segment(node, &child, &segment)) {
    const long bytes = piece(node, segment);
    node->child[child].is_posted[segment] = true;
    ++node->sends;
    node->sent_at_once += bytes;
    post_send(node, node->child[child].rank, kFirstSegment + segment, bytes,
              (struct About){kSegmentSent, 0, child, segment});
  }
}

static void announced(Node* node) {
  const Rules* rules = &node->rules;
  if (is_small(node)) {
    node->came_at = MPI_Wtime();
    announce(node);
    return;
  }
  for (int s = 0; s < node->segments; ++s) {
    post_receive(node, node->parent, kFirstSegment + s, piece(node, s),
                 (struct About){kSegmentCame, 0, 0, s});
  }
  post_send(node, node->parent, kCredit,
            rules->header + rules->tree + (node->segments - 1) * rules->channel,
            (struct About){kControlSent});
  if (node->parent != 0) post_send(node, 0, kAccepted, rules->header, (struct About){kControlSent});
  announce(node);
}

static void ended(Node* node, struct About about) {
  switch (about.what) {
    case kControlSent:
      break;
    case kControlCame:
      if (about.tag == kAnnounced) announced(node);
      if (about.tag == kCredit) {
        node->child[about.child].is_credited = true;
        node->child[about.child].turn = node->turns++;
        send_more(node);
      }
      break;
    case kSegmentSent:
      --node->sends;
      node->sent_at_once -= piece(node, about.segment);
      send_more(node);
      break;
    case kSegmentCame:
      node->has_come[about.segment] = true;
      if (++node->come == node->segments) node->came_at = MPI_Wtime();
      send_more(node);
      break;
  }
}

// What this rank will be told, whenever it comes.
static void expect_messages(Node* node) {
  const long most = 1 << 16;
  if (node->rank != 0)
    post_receive(node, node->parent, kAnnounced, most, (struct About){kControlCame, kAnnounced});
  if (is_small(node)) return;
  for (int c = 0; c < node->children; ++c) {
    post_receive(node, node->child[c].rank, kCredit, most, (struct About){kControlCame, kCredit, c});
  }
  for (int r = 1; node->rank == 0 && r < node->ranks; ++r) {
    bool is_child = false;
    for (int c = 0; c < node->children; ++c) is_child |= node->child[c].rank == r;
    if (!is_child) post_receive(node, r, kAccepted, most, (struct About){kControlCame, kAccepted});
  }
}

static void run(Node* node) {
  expect_messages(node);
  // The root begins when no message of the barrier is on its way.
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(1000000);
  const double begin = MPI_Wtime();
  if (node->rank == 0) {
    for (int s = 0; s < node->segments; ++s) node->has_come[s] = true;
    announce(node);
  }
  for (int done; (void)MPI_Waitany(node->requests, node->request, &done, MPI_STATUS_IGNORE),
                 done != MPI_UNDEFINED;) {
    ended(node, node->about[done]);
  }
  double* const came = malloc(node->ranks * sizeof *came);
  MPI_Gather(&node->came_at, 1, MPI_DOUBLE, came, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (node->rank == 0) {
    printf("came");
    for (int r = 1; r < node->ranks; ++r) printf(" %.3f", (came[r] - begin) * 1e9);
    printf("\n");
  }
  free(came);
  free(node->request);
  free(node->about);
}

// False: there is no other.
static bool read_broadcast(FILE* file, Node* node) {
  int edges;
  if (fscanf(file, " broadcast %ld %ld %d", &node->bytes, &node->segment, &edges) != 3) return false;
  node->child = malloc(edges * sizeof *node->child);
  for (int e = 0; e < edges; ++e) {
    int from, to, below;
    if (fscanf(file, "%d %d %d", &from, &to, &below) != 3) exit(2);
    if (to == node->rank) node->parent = from;
    if (from == node->rank) node->child[node->children++] = (Child){.rank = to, .below = below};
  }
  node->segments = (int)((node->bytes + node->segment - 1) / node->segment);
  node->has_come = calloc(node->segments, sizeof *node->has_come);
  for (int c = 0; c < node->children; ++c)
    node->child[c].is_posted = calloc(node->segments, sizeof *node->child[c].is_posted);
  return true;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Node about;
  MPI_Comm_rank(MPI_COMM_WORLD, &about.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &about.ranks);
  FILE* const file = fopen(argv[1], "r");
  if (file == NULL) exit(2);
  Rules rules;
  if (fscanf(file, "%ld %ld %ld %ld %ld %ld %ld", &rules.header, &rules.tree, &rules.recipient,
             &rules.channel, &rules.most_in_message, &rules.most_sends,
             &rules.most_sent_at_once) != 7) {
    exit(2);
  }
  if (content == NULL) content = malloc(64 << 20);
  for (;;) {
    Node node = {.rank = about.rank, .ranks = about.ranks, .rules = rules};
    if (!read_broadcast(file, &node)) break;
    run(&node);
    for (int c = 0; c < node.children; ++c) free(node.child[c].is_posted);
    free(node.child);
    free(node.has_come);
  }
  fclose(file);
  MPI_Finalize();
  return 0;
}
