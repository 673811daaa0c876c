/** Of configurations, and of servers that come and go. */

import type { CaseMutant } from './case-mutant.ts';

export const membershipCases: readonly CaseMutant[] = [
  {
    name: 'old-configuration-survives-a-snapshot',
    breaks: 'a snapshot that replaces the log replaces its configurations',
    file: 'core/membership/active-membership.js',
    edits: [
      { find: 'this.configurations.reset(this.#configurationOf(snapshot));', replace: 'void this.configurations;' },
    ],
  },
  {
    name: 'joint-configuration-of-a-predecessor-left',
    breaks: 'a new leader ends the change that its predecessor began',
    file: 'core/membership/membership.js',
    edits: [
      {
        find: 'if (leader.transfer?.timeoutNowSent !== true) {',
        replace: 'if (leader.transfer?.timeoutNowSent !== true && leader.changeTicket !== undefined) {',
      },
    ],
  },
  {
    name: 'configurations-of-the-log-not-read',
    breaks: 'a configuration in the log counts after a restart, committed or not',
    file: 'core/core-state.js',
    edits: [
      {
        find: 'if (index > begin.index) this.membership.append',
        replace: 'if (index < begin.index) this.membership.append',
      },
    ],
  },
  {
    name: 'learner-promoted-however-late',
    breaks: 'a learner is promoted when a round of catching up took at most an election timeout',
    file: 'core/membership/membership.js',
    edits: [
      {
        find: 'if (catchUp.elapsedMs <= electionTimeoutMs && catchUp.round <= CATCH_UP_ROUNDS) {',
        replace: 'if (CATCH_UP_ROUNDS > 0) {',
      },
    ],
  },
  {
    name: 'refused-change-not-answered',
    breaks: 'a change that is refused is answered with the reason',
    file: 'core/membership/membership.js',
    edits: [
      {
        find: 'if (refusal !== undefined) { endChange(core, ticket, refusal); return; }',
        replace: 'if (refusal !== undefined) return;',
      },
    ],
  },
  {
    name: 'last-configuration-needs-the-leaver',
    breaks: 'the last configuration is committed by those that are left',
    file: 'core/quorum/active-quorums.js',
    edits: [
      {
        find: 'reached = Math.min(reached, quorumValue(sets[at] ?? [], valueOf));',
        replace:
          'reached = Math.min(reached, sets[at].length === 1 ? Infinity : quorumValue(sets[at] ?? [], valueOf));',
      },
    ],
  },
  {
    name: 'progress-lost-at-a-promotion',
    breaks: 'a learner that is promoted goes on where it was',
    file: 'core/core-state.js',
    edits: [
      {
        find: "if (this.role.type === 'leader') this.role.follow(",
        replace:
          "if (this.role.type === 'leader' && this.membership.voterSets.length > 1) this.role.progress = new Map(); if (this.role.type === 'leader') this.role.follow(",
      },
    ],
  },
  {
    name: 'retired-id-used-again',
    breaks: 'an id is used once',
    file: 'core/membership/membership.js',
    edits: [
      {
        find: "if (member !== undefined || configuration.retired.includes(change.id)) return 'id-used';",
        replace: "if (member !== undefined) return 'id-used';",
      },
    ],
  },
  {
    name: 'removed-leader-may-not-stand',
    breaks: 'a leader that is removed may stand while that is not committed',
    file: 'core/membership/active-membership.js',
    edits: [
      {
        find: 'return this.configurations.since(commit).some(',
        replace: 'return this.configurations.since(this.latest.index).some(',
      },
    ],
  },
  {
    name: 'voters-that-go-decide-alone',
    breaks: 'a joint configuration takes a majority of the voters that come, too',
    file: 'core/quorum/active-quorums.js',
    edits: [
      {
        find: 'let reached = Infinity; for (let at = 0;',
        replace: 'let reached = Infinity; for (let at = sets.length - 1;',
      },
    ],
  },
];
