/* A plug-in for tests: says at a dispatch's end, in one finding, what it was told. Its argument chooses what is
 * wrong with it; SAMPLE_VERSION and SAMPLE_WITHOUT_BEGIN make libraries that are no plug-ins of this version. */
#include <lockstep_plugin.h>
#include <stdio.h>
#include <string.h>

#ifndef SAMPLE_VERSION
#define SAMPLE_VERSION LOCKSTEP_PLUGIN_VERSION
#endif
const uint32_t lockstep_plugin_version = SAMPLE_VERSION;

#ifndef SAMPLE_WITHOUT_BEGIN

static const lockstep_plugin_host* host;
static struct Told {
  unsigned groups_begun, groups_ended, barriers, before, after, faulted, lanes_stored, refused;
  uint64_t pc;
  uint32_t item, group_register;
  char text[64], buffer[64];
} told;

static void group_begins(void* user, const lockstep_plugin_group* group) {
  told.groups_begun += group->waves == 2 && user == &told;
}
static void group_ends(void* user, const lockstep_plugin_group* group) {
  told.groups_ended += group->waves == 2 && user == &told;
}
static void barrier(void* user, const lockstep_plugin_group* group) {
  told.barriers += group->waves == 2 && user == &told;
}
static void before(void* user, const lockstep_plugin_event* event) {
  (void)user;
  ++told.before;
  if (strcmp(event->mnemonic, "global_store_b32") != 0) return;
  told.pc = event->pc;
  told.group_register = host->scalar(event, 2);
  told.item = host->vector(event, 0, 5);
  host->text(event, told.text, sizeof told.text);
}
static void after(void* user, const lockstep_plugin_event* event) {
  (void)user;
  ++told.after;
  lockstep_plugin_range range;
  for (uint32_t i = 0; i < event->access_count; ++i) {
    const lockstep_plugin_access* access = &event->accesses[i];
    if (access->space != LOCKSTEP_PLUGIN_GLOBAL || !access->writes || access->bytes != 4) continue;
    ++told.lanes_stored;
    if (host->range(host, event->dispatch, access->address, &range)) strncpy(told.buffer, range.name, 63);
  }
}
static void faulted(void* user, const lockstep_plugin_event* event) {
  (void)user;
  ++told.faulted;
  told.pc = event->pc;
  for (uint32_t i = 0; i < event->access_count; ++i)
    told.refused += event->accesses[i].reach == LOCKSTEP_PLUGIN_REFUSED;
}
static int wants(void* user, const char* mnemonic) {
  (void)user;
  return strcmp(mnemonic, "s_barrier") == 0 || strncmp(mnemonic, "global_", 7) == 0;
}
static void dispatch_ends(void* user, const lockstep_plugin_dispatch* dispatch) {
  (void)user;
  char detail[512];
  snprintf(detail, sizeof detail,
           "%u items; groups %u, %u; barriers %u; before %u, after %u, faulted %u; stored %u, refused %u; "
           "v0 of lane 5 %u, s2 %u; %s; %s",
           dispatch->grid[0], told.groups_begun, told.groups_ended, told.barriers, told.before, told.after,
           told.faulted, told.lanes_stored, told.refused, told.item, told.group_register, told.text, told.buffer);
  lockstep_plugin_finding finding = {0};
  finding.pc = told.pc;
  finding.count = 3;
  finding.rule = "what it was told";
  finding.detail = detail;
  finding.severity = LOCKSTEP_PLUGIN_WARNING;
  host->find(host, &finding);
}

const char* lockstep_plugin_begin(const lockstep_plugin_host* given, const char* arguments,
                                  lockstep_plugin* plugin) {
  if (strcmp(arguments, "fail") == 0) return "it was told to fail";
  host = given;
  memset(&told, 0, sizeof told);
  plugin->name = strcmp(arguments, "bad-name") == 0      ? "Sample!"
                 : strcmp(arguments, "checkers-name") == 0 ? "races"
                                                           : "sample";
  plugin->user = &told;
  plugin->wants = wants;
  plugin->group_begins = group_begins;
  plugin->group_ends = group_ends;
  plugin->barrier = barrier;
  plugin->before = before;
  plugin->after = after;
  plugin->faulted = faulted;
  plugin->dispatch_ends = dispatch_ends;
  return NULL;
}

#endif
