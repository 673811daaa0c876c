/**
 * Known bugs of other Raft implementations. Each has exactly one test that carries its name, in brackets at the end of its title, or a
 * reason why it cannot arise here. `mutant`: the planted bug (jepsen-lite/src/mutants/catalogue) that brings it about; `others`: other named
 * tests notice that, too. docs/named-cases.md is made of this.
 *
 * @typedef {{ name: string, source: string, impossible?: string, mutant?: string, others?: true }} NamedCase
 */

/** @type {readonly { readonly title: string, readonly cases: readonly NamedCase[] }[]} */
export const CASE_GROUPS = [
  {
    title: 'Elections and votes',
    cases: [
      {
        name: 'vote-granted-when-persist-failed',
        source: 'sofa-jraft#1241, #1243; PySyncObj#201/#202; nodedb#161',
        mutant: 'write-error-taken-for-success',
      },
      {
        name: 'candidate-sends-before-own-vote-durable',
        source: 'sofa-jraft#1245',
        mutant: 'vote-sent-before-durable',
      },
      { name: 'same-term-stepdown-clears-vote', source: 'CCF#5891', mutant: 'vote-forgotten-at-a-step-down' },
      { name: 'prevote-resets-vote', source: 'canonical/raft#196', mutant: 'pre-vote-raises-the-term', others: true },
      {
        name: 'prevote-reply-counted-as-vote',
        source: 'canonical/raft#196',
        mutant: 'pre-votes-counted-as-votes',
        others: true,
      },
      {
        name: 'prevote-lower-term-deadlock',
        source: 'etcd#8243, #8501; raft-rs#42; canonical/raft#279, #142',
        mutant: 'refused-pre-vote-without-the-own-term',
        others: true,
      },
      {
        name: 'prevote-long-log-vs-high-term-deadlock',
        source: 'openraft#1796',
        mutant: 'refused-pre-vote-teaches-nothing',
        others: true,
      },
      {
        name: 'prevote-from-current-leader-rejected',
        source: 'hashicorp/raft#606/#605',
        mutant: 'sticks-against-the-leader-itself',
      },
      {
        name: 'prevote-refreshes-leader-contact',
        source: 'hashicorp/raft#609',
        mutant: 'pre-vote-refreshes-the-timer',
        others: true,
      },
      {
        name: 'prevote-checkquorum-keeps-stale-leader-id',
        source: 'raft-rs#84, #83; etcd#10355',
        mutant: 'sticks-to-a-silent-leader',
      },
      {
        name: 'late-prevote-after-win-starts-campaign',
        source: 'openraft#1839',
        mutant: 'late-pre-vote-counted',
        others: true,
      },
      { name: 'double-elect-bumps-term', source: 'openraft 558e1b94', mutant: 'only-voter-stands-twice' },
      {
        name: 'log-id-compared-component-wise',
        source: 'openraft a48a3282; markwylde/liferaft#10',
        mutant: 'logs-compared-component-by-component',
      },
      {
        name: 'higher-vote-in-response-adopted-as-own',
        source: 'openraft b06cbb37, #1385',
        mutant: 'refusal-adopted-as-a-vote',
      },
      {
        name: 'reverted-leader-reelects-itself',
        source: 'openraft b06cbb37, #1385',
        mutant: 'vote-ban-ignored',
        others: true,
      },
      {
        name: 'rejoin-with-inflated-term',
        source: 'hashicorp/raft#524; canonical/raft#137; etcd#9241, #14893',
        mutant: 'stands-without-asking-first',
        others: true,
      },
      {
        name: 'removed-or-demoted-server-disrupts',
        source: 'hashicorp/raft#524; canonical/raft#137; etcd#9241, #14893',
        mutant: 'no-stickiness-to-a-leader-that-is-heard',
        others: true,
      },
      { name: 'promoted-learner-must-vote', source: 'etcd#10998; raft-rs#57', mutant: 'learner-votes-for-nobody' },
      { name: 'learner-most-up-to-date-blocks-election', source: 'etcd#12359', mutant: 'learners-are-asked-for-votes' },
      {
        name: 'term-not-restored-after-full-restart',
        source: 'PySyncObj#202',
        mutant: 'term-not-restored',
        others: true,
      },
      {
        name: 'two-leaders-one-term-must-crash',
        source: 'NuRaft#531; canonical/raft#386',
        mutant: 'second-leader-of-a-term-heard',
      },
      {
        name: 'transfer-to-nonvoter',
        source: 'hashicorp/raft#398, consul#7031; NuRaft#436',
        mutant: 'transfer-to-whoever-is-followed',
      },
      {
        name: 'zero-priority-becomes-leader',
        source: 'hashicorp/raft#398, consul#7031; NuRaft#436',
        impossible: 'No priorities: `RaftConfig` has none, so whoever may vote may lead.',
      },
      {
        name: 'candidate-refuses-snapshot-while-waiting',
        source: 'nebula#1769',
        mutant: 'snapshots-for-followers-only',
      },
    ],
  },
  {
    title: 'Replication and commit',
    cases: [
      {
        name: 'commit-old-term-entry',
        source: 'logcabin#44; CCF indirect_commit_stale_leader',
        mutant: 'figure-8',
        others: true,
      },
      { name: 'quorum-index-unsorted', source: 'openraft#1802', mutant: 'quorum-by-the-middle-voter', others: true },
      {
        name: 'joint-quorum-ignored',
        source: 'openraft 6c0ccaf3, #364',
        mutant: 'voters-that-go-decide-alone',
        others: true,
      },
      {
        name: 'stale-nack-rolls-back-committed',
        source: 'CCF#6016 rollback_safety; etcd#1207',
        mutant: 'overtaken-refusal-heard',
      },
      {
        name: 'ack-past-verified-suffix',
        source: 'CCF#6016; scylladb#9965',
        mutant: 'acknowledgement-of-the-whole-log',
      },
      {
        name: 'follower-commits-unverified-tail',
        source: 'CCF#6016; scylladb#9965',
        mutant: 'commit-beyond-what-was-compared',
      },
      { name: 'nack-carries-wrong-index', source: 'CCF#2835', mutant: 'refusal-of-the-own-end', others: true },
      { name: 'nack-term-field', source: 'CCF#5927', mutant: 'deposed-leader-refused-an-index' },
      {
        name: 'prev-entry-compacted-treated-as-conflict',
        source: 'openraft 44381b0c',
        mutant: 'compacted-taken-for-a-conflict',
      },
      {
        name: 'late-ack-after-log-reversion-false-quorum',
        source: 'openraft cecb5de8',
        mutant: 'banned-server-keeps-its-term',
        others: true,
      },
      { name: 'late-conflict-rewinds-progress', source: 'openraft fbbf37b1', mutant: 'overtaken-refusal-heard' },
      {
        name: 'heartbeat-conflict-read-as-reversion',
        source: 'openraft#1500',
        impossible: 'Type `Message`: a `heartbeat` and its answer name no place in the log that could conflict.',
      },
      { name: 'entries-durable-before-term', source: 'openraft io_ordering.md', mutant: 'entries-without-their-term' },
      {
        name: 'async-append-aba',
        source: 'etcd-io/raft, testdata async_storage_writes_append_aba_race',
        mutant: 'late-completion-counts-truncated',
        others: true,
      },
      { name: 'out-of-order-write-completions', source: 'openraft#1960', mutant: 'several-writes-under-way' },
      {
        name: 'completion-for-truncated-entries',
        source: 'cowsql 525aba2',
        mutant: 'late-completion-counts-truncated',
        others: true,
      },
      { name: 'reply-before-flush', source: 'openraft ee460f37', mutant: 'acknowledgement-before-durable-write' },
      {
        name: 'read-error-sends-prev-none-with-entries',
        source: 'openraft#1795',
        mutant: 'failed-read-fed-as-nothing',
      },
      {
        name: 'single-voter-acks-before-fsync',
        source: 'etcd#14370, #10508',
        mutant: 'leader-counts-itself-before-durable-write',
        others: true,
      },
      {
        name: 'leader-truncates-own-tail-on-stepdown',
        source: 'CCF#5674 QuorumLogInv; nebula#1303',
        mutant: 'deposed-leader-cuts-its-tail',
        others: true,
      },
      {
        name: 'heartbeat-commit-beyond-last-index',
        source: 'etcd#16220, #13066; openraft#898; braft#292',
        mutant: 'commit-beyond-the-own-log',
      },
      {
        name: 'restart-commit-beyond-log',
        source: 'etcd#5664, #8935; dragonboat#393',
        mutant: 'restart-commits-its-log',
        others: true,
      },
      {
        name: 'lost-empty-append-leaves-commit-behind',
        source: 'etcd#3111; etcd-io/raft#171',
        mutant: 'commit-sent-once',
      },
      {
        name: 'probe-stuck-after-unreachable',
        source: 'etcd-io/raft, testdata heartbeat_resp_recovers_from_probing',
        mutant: 'lost-probe-not-repeated',
      },
      {
        name: 'inflight-full-slow-follower-after-compaction',
        source: 'etcd-io/raft#31',
        mutant: 'compaction-forgotten-for-a-full-window',
      },
      {
        name: 'match-lt-next',
        source: 'etcd-io/raft#149',
        impossible:
          'Invariant `match-is-below-next` (`core/replication/progress.ts`), looked at with every change of progress.',
      },
      {
        name: 'conflict-search-on-compacted-index-panics',
        source: 'etcd-io/raft#36',
        mutant: 'refused-index-looked-up-before-the-base',
        others: true,
      },
      { name: 'long-divergence-O(terms)', source: 'etcd#11964', mutant: 'refusal-skips-one-entry' },
      {
        name: 'backoff-not-cleared-after-success',
        source: 'openraft#1723',
        impossible: 'No back-off: `Progress` has none. A peer is asked again when it answers a heartbeat.',
      },
    ],
  },
  {
    title: 'Snapshots and compaction',
    cases: [
      {
        name: 'conflicting-entry-at-snapshot-index-kept',
        source: 'hashicorp/raft#697/#704',
        mutant: 'snapshot-installed-beside-a-conflicting-log',
      },
      {
        name: 'stale-effective-config-survives-snapshot',
        source: 'openraft#1808',
        mutant: 'old-configuration-survives-a-snapshot',
      },
      {
        name: 'crash-between-install-and-truncate',
        source: 'openraft 21684bbd',
        mutant: 'interrupted-installation-not-completed',
      },
      {
        name: 'snapshot-crash-gap-in-wal',
        source: 'hashicorp/raft 1.4.0; canonical/raft#372, #450; dqlite#309 disk full',
        mutant: 'compaction-beyond-the-snapshot',
      },
      {
        name: 'install-races-apply',
        source: 'NuRaft#407; openraft eed681d5',
        mutant: 'entries-applied-during-an-installation',
      },
      {
        name: 'older-or-conflicting-snapshot-at-committed-index',
        source: 'openraft#1892',
        mutant: 'older-snapshot-installed',
      },
      {
        name: 'leader-ignores-usable-lower-snapshot-ack',
        source: 'etcd-io/raft#110; etcd#10308',
        mutant: 'peer-kept-waiting-for-a-snapshot',
      },
      {
        name: 'snapshot-at-last-index-stays-probing',
        source: 'etcd-io/raft#110; etcd#10308',
        mutant: 'sent-snapshot-not-followed-up',
      },
      { name: 'pending-client-purged-by-snapshot', source: 'openraft#1761', mutant: 'skipped-answers-not-asked-for' },
      {
        name: 'snapshot-blindly-applies-config',
        source: 'NuRaft#566; matrixone#23281; ClickHouse#105784',
        mutant: 'configuration-of-any-snapshot-taken',
      },
      {
        name: 'snapshot-misses-config-just-applied',
        source: 'NuRaft#566; matrixone#23281; ClickHouse#105784',
        mutant: 'snapshot-with-an-older-configuration',
      },
      {
        name: 'snapshot-persists-uncommitted-config',
        source: 'NuRaft#566; matrixone#23281; ClickHouse#105784',
        mutant: 'snapshot-with-the-latest-configuration',
      },
      {
        name: 'config-change-id-from-snapshot-index',
        source: 'matrixone#24966',
        impossible: 'Changes have no id in the log: a `ticket` names one within the process that was asked.',
      },
      {
        name: 'voter-becomes-learner-via-snapshot',
        source: 'etcd#10864; raft-rs#269',
        impossible: 'No demotion: type `MembershipChange` can add, promote and remove.',
      },
      {
        name: 'heartbeat-aborts-incoming-snapshot',
        source: 'camunda#46345',
        mutant: 'snapshot-dropped-by-any-message',
      },
      { name: 'superseded-snapshot-persist-ack', source: 'raft-rs#417', mutant: 'outgrown-snapshot-installed' },
      {
        name: 'snapshot-trigger-lost-while-building',
        source: 'openraft#1829',
        mutant: 'trigger-lost-while-a-snapshot-is-written',
      },
      {
        name: 'fully-purged-leader-log',
        source: 'openraft afd6508b',
        mutant: 'term-of-the-base-unknown',
        others: true,
      },
    ],
  },
  {
    title: 'Membership',
    cases: [
      {
        name: 'single-server-change-before-own-term-commit',
        source: 'raft-dev t4xj6dJTP6E; copycat#23; braft#182; AxonServer#120; openraft#2051',
        mutant: 'change-begun-before-an-entry-of-the-own-term',
      },
      {
        name: 'new-leader-ignores-uncommitted-config',
        source: 'NuRaft#67, #107',
        mutant: 'joint-configuration-of-a-predecessor-left',
      },
      {
        name: 'config-lost-on-leader-restart',
        source: 'andy-yx-chen/jraft#1',
        mutant: 'configurations-of-the-log-not-read',
      },
      {
        name: 'add-voter-before-catchup-freezes-quorum',
        source: 'EastGuard#150; async-raft#113',
        mutant: 'learner-promoted-however-late',
      },
      {
        name: 'change-silently-became-noop',
        source: 'etcd-io/raft#354/#355',
        mutant: 'refused-change-not-answered',
        others: true,
      },
      {
        name: 'removed-leader-keeps-leading',
        source: 'etcd-io/raft#83/#79',
        mutant: 'removed-leader-goes-on',
        others: true,
      },
      {
        name: 'two-voter-remove-deadlock',
        source: 'etcd README',
        mutant: 'last-configuration-needs-the-leaver',
        others: true,
      },
      {
        name: 'learner-promoted-replication-restarts',
        source: 'openraft t99_issue_584',
        mutant: 'progress-lost-at-a-promotion',
      },
      { name: 'same-id-readded', source: 'etcd#2676, etcd README', mutant: 'retired-id-used-again' },
      { name: 'join-two-clusters', source: 'NuRaft#504, #629', mutant: 'peer-of-another-cluster-heard' },
      {
        name: 'hung-removed-peer-blocks-core',
        source: 'openraft#1810',
        impossible: '`step` is synchronous and pure: it hands out effects and waits for no peer.',
      },
      {
        name: 'leader-steps-down-before-removal-commits',
        source: 'Ongaro, thesis 4.2.2',
        mutant: 'removed-leader-may-not-stand',
      },
    ],
  },
  {
    title: 'Reads, leases, transfer, clients',
    cases: [
      {
        name: 'readindex-before-own-term-commit',
        source: 'etcd#7331; tikv#6340, #9239; redisraft#22',
        mutant: 'read-before-an-entry-of-the-own-term',
      },
      { name: 'readindex-retry-same-context', source: 'etcd-io/raft#397', mutant: 'read-confirmed-by-any-answer' },
      {
        name: 'readindex-silently-dropped',
        source: 'raft-rs#169; etcd#11483',
        mutant: 'reads-dropped-with-the-leadership',
        others: true,
      },
      {
        name: 'lease-check-timer-granularity',
        source: 'sofa-jraft#34, #25; tikv#964; consul#54',
        impossible: 'No lease reads ([decision 1](decisions/0001-no-lease-reads.md)): each read takes a quorum round.',
      },
      {
        name: 'lease-after-gc-pause',
        source: 'sofa-jraft#34, #25; tikv#964; consul#54',
        mutant: 'lease-known-by-its-timer-alone',
      },
      { name: 'read-during-transfer', source: 'openraft#1747', mutant: 'reads-refused-during-a-transfer' },
      { name: 'write-during-transfer', source: 'hashicorp/raft#581', mutant: 'log-grows-during-a-transfer' },
      {
        name: 'transfer-reverts-on-heartbeat-with-prevote',
        source: 'canonical/raft#203',
        mutant: 'candidate-gives-up-for-an-old-leader',
      },
      {
        name: 'transfer-target-log-not-flushed',
        source: 'openraft#1805',
        mutant: 'target-asked-before-it-has-everything',
      },
      { name: 'disk-stalled-leader-never-steps-down', source: 'etcd#13527, #15247', mutant: 'stalled-leader-leads-on' },
      { name: 'lost-proposal-hangs-client', source: 'etcd#8975, #5214', mutant: 'lost-requests-not-asked-for' },
    ],
  },
  {
    title: 'Storage',
    cases: [
      { name: 'fsync-failed-then-succeeds', source: 'rostam#94', mutant: 'failed-write-forgotten' },
      { name: 'rename-append-reordered', source: 'etcd#6378', mutant: 'new-segment-without-its-name', others: true },
      { name: 'lost-unsynced-suffix', source: 'etcd#14143', mutant: 'log-written-without-sync', others: true },
      { name: 'flush-before-fsync', source: 'sofa-jraft#480', mutant: 'snapshot-synced-before-its-end', others: true },
      {
        name: 'node-with-truncated-committed-log-votes',
        source: 'NuRaft#185; Protocol-Aware Recovery (FAST 2018)',
        mutant: 'vote-ban-ignored',
        others: true,
      },
    ],
  },
];
