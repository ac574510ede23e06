/* A plug-in that counts what a dispatch does to each of its buffers, to LDS and to scratch: reads, writes and
 * atomics of lanes, and their bytes; on request also how often each instruction was executed.
 *
 *   lockstep run --plugin ./libaccess_histogram.so kernel.cl ...
 *   lockstep run --plugin ./libaccess_histogram.so:mix,out=histogram.txt kernel.cl ...
 *
 * The table goes to standard error, or to the file of `out=`. Each buffer is a note as well, so that reports
 * as JSON and SARIF have it.
 */
#include <lockstep_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row {
  char name[160];
  uint64_t begin, end; /* of a buffer */
  int space;           /* of what has no buffer: LDS, scratch, GDS */
  uint64_t reads, writes, atomics, bytes_read, bytes_written;
  lockstep_plugin_event first; /* who touched it first; its pointers are not used */
} Row;

typedef struct Executed {
  const char* mnemonic;
  uint64_t count;
} Executed;

/* Calls come one at a time, and groups one after the other: no locks. */
typedef struct Histogram {
  const lockstep_plugin_host* host;
  FILE* out;
  int counts_instructions;
  Row* rows;
  size_t row_count;
  Executed* mix;
  size_t mix_count;
} Histogram;

static void* grown(void* list, size_t count, size_t size) {
  void* const larger = realloc(list, (count + 1) * size);
  if (!larger) abort();
  memset((char*)larger + count * size, 0, size);
  return larger;
}

static int is_memory(void* user, const char* mnemonic) {
  static const char* const beginnings[] = {"global_",  "flat_",   "scratch_",       "buffer_",
                                           "tbuffer_", "s_load_", "s_buffer_load_", "ds_"};
  if (((Histogram*)user)->counts_instructions) return 1;
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; ++i)
    if (strncmp(mnemonic, beginnings[i], strlen(beginnings[i])) == 0) return 1;
  return 0;
}

static Row* row_of(Histogram* self, const lockstep_plugin_event* event,
                   const lockstep_plugin_access* access) {
  const int is_buffer = access->space == LOCKSTEP_PLUGIN_GLOBAL || access->space == LOCKSTEP_PLUGIN_SCALAR;
  for (size_t i = 0; i < self->row_count; ++i) {
    Row* const row = &self->rows[i];
    if (is_buffer ? row->begin <= access->address && access->address < row->end
                  : row->end == 0 && row->space == access->space)
      return row;
  }
  self->rows = grown(self->rows, self->row_count, sizeof *self->rows);
  Row* const row = &self->rows[self->row_count++];
  row->space = access->space;
  row->first = *event;
  lockstep_plugin_range range;
  if (!is_buffer) {
    strcpy(row->name, access->space == LOCKSTEP_PLUGIN_LDS   ? "LDS"
                      : access->space == LOCKSTEP_PLUGIN_GDS ? "GDS"
                                                             : "scratch");
  } else if (self->host->range(self->host, event->dispatch, access->address, &range)) {
    snprintf(row->name, sizeof row->name, "%s of %llu bytes", range.name, (unsigned long long)range.bytes);
    row->begin = range.begin;
    row->end = range.begin + range.bytes;
  } else {
    /* Behind all buffers: the next address is looked up again. */
    snprintf(row->name, sizeof row->name, "address 0x%llx", (unsigned long long)access->address);
    row->begin = access->address;
    row->end = access->address + 1;
  }
  return row;
}

static void after(void* user, const lockstep_plugin_event* event) {
  Histogram* const self = user;
  for (uint32_t i = 0; i < event->access_count; ++i) {
    const lockstep_plugin_access* const access = &event->accesses[i];
    Row* const row = row_of(self, event, access);
    if (access->reads) row->bytes_read += access->bytes;
    if (access->writes) row->bytes_written += access->bytes;
    ++*(access->reads && access->writes ? &row->atomics : access->writes ? &row->writes : &row->reads);
  }
  if (!self->counts_instructions) return;
  /* Mnemonics live for ever, one text for each. */
  size_t at = 0;
  while (at < self->mix_count && self->mix[at].mnemonic != event->mnemonic) ++at;
  if (at == self->mix_count) {
    self->mix = grown(self->mix, self->mix_count, sizeof *self->mix);
    self->mix[self->mix_count++].mnemonic = event->mnemonic;
  }
  ++self->mix[at].count;
}

static void dispatch_ends(void* user, const lockstep_plugin_dispatch* dispatch) {
  Histogram* const self = user;
  fprintf(self->out, "dispatch of %u x %u x %u work-items\n", dispatch->grid[0], dispatch->grid[1],
          dispatch->grid[2]);
  fprintf(self->out, "%12s %12s %12s %14s %14s\n", "reads", "writes", "atomics", "bytes read",
          "bytes written");
  for (size_t i = 0; i < self->row_count; ++i) {
    const Row* const row = &self->rows[i];
    fprintf(self->out, "%12llu %12llu %12llu %14llu %14llu  %s\n", (unsigned long long)row->reads,
            (unsigned long long)row->writes, (unsigned long long)row->atomics,
            (unsigned long long)row->bytes_read, (unsigned long long)row->bytes_written, row->name);
    char rule[200], detail[200];
    snprintf(rule, sizeof rule, "what the dispatch does to %s", row->name);
    snprintf(detail, sizeof detail, "%llu reads, %llu writes, %llu atomics; %llu bytes read, %llu written",
             (unsigned long long)row->reads, (unsigned long long)row->writes,
             (unsigned long long)row->atomics, (unsigned long long)row->bytes_read,
             (unsigned long long)row->bytes_written);
    lockstep_plugin_finding finding = {0};
    finding.pc = row->first.pc;
    memcpy(finding.work_group, row->first.work_group, sizeof finding.work_group);
    finding.wave = row->first.wave;
    finding.count = 1;
    finding.rule = rule;
    finding.severity = LOCKSTEP_PLUGIN_NOTE;
    finding.detail = detail;
    self->host->find(self->host, &finding);
  }
  for (size_t i = 0; i < self->mix_count; ++i)
    fprintf(self->out, "%12llu  %s\n", (unsigned long long)self->mix[i].count, self->mix[i].mnemonic);
  fflush(self->out);
  self->row_count = self->mix_count = 0;
}

static void end(void* user) {
  Histogram* const self = user;
  if (self->out != stderr) fclose(self->out);
  free(self->rows);
  free(self->mix);
  free(self);
}

const uint32_t lockstep_plugin_version = LOCKSTEP_PLUGIN_VERSION;

const char* lockstep_plugin_begin(const lockstep_plugin_host* host, const char* arguments,
                                  lockstep_plugin* plugin) {
  Histogram* const self = calloc(1, sizeof *self);
  if (!self) return "out of memory";
  self->host = host;
  self->out = stderr;
  const char* problem = NULL;
  for (const char* at = arguments; *at && !problem;) {
    const size_t length = strcspn(at, ",");
    if (length == 3 && memcmp(at, "mix", 3) == 0) {
      self->counts_instructions = 1;
    } else if (length > 4 && length < 4096 && memcmp(at, "out=", 4) == 0 && self->out == stderr) {
      char path[4096] = {0};
      memcpy(path, at + 4, length - 4);
      self->out = fopen(path, "w");
      if (!self->out) problem = "its file for out= cannot be written to";
    } else {
      problem = "its arguments are 'mix' and 'out=FILE', with a comma between them";
    }
    at += length + (at[length] == ',');
  }
  if (problem) {
    if (self->out && self->out != stderr) fclose(self->out);
    free(self);
    return problem;
  }
  plugin->name = "access-histogram";
  plugin->user = self;
  plugin->wants = is_memory;
  plugin->after = after;
  plugin->dispatch_ends = dispatch_ends;
  plugin->end = end;
  return NULL;
}
