import { EntryType, logIndex, serverId, term, type Entry } from '@holdfast/raft/core';
import { describe, expect, it } from 'vitest';

import type { History } from '../../src/explore/history.ts';
import { Laws, type Facts } from '../../src/explore/laws.ts';
import type { Known, Step } from '../../src/explore/server/server-table.ts';

const NOTHING: History = { leaders: [], committed: [], committedIn: [], reads: [] };
const VOTERS = [{ index: 0, voterSets: [[0, 1, 2]], members: [0, 1, 2] }];

interface Given extends Partial<Omit<Known, 'log' | 'durable'>> {
  /** Terms of the entries. */
  readonly log?: readonly number[];
  readonly durable?: readonly number[];
}

/** Three servers, and what becomes of the first one. */
class Scene {
  readonly #known: Known[] = [];
  readonly #logs: number[][] = [];
  readonly #entries: Entry[] = [];
  readonly #laws: Laws;
  readonly #servers: number[];

  constructor(...servers: readonly Given[]) {
    const facts: Facts = {
      known: (server) => this.#known[server] as Known,
      log: (number) => this.#logs[number] as number[],
      entry: (number) => this.#entries[number] as Entry,
    };
    this.#laws = new Laws(facts, { durable: true });
    this.#servers = servers.map((given, position) => this.#add(given, position));
  }

  /** The law that is broken when the first server becomes another. */
  judge(given: Given, history: Partial<History> = {}, step: Partial<Step> = {}, ticket?: number): string | undefined {
    const next = this.#add(given, 0);
    const judged = {
      servers: this.#servers,
      position: 0,
      step: { next, sent: [], applied: [], answered: [], broken: undefined, ...step },
      ticket,
    };
    return this.#laws.judge(judged, { ...NOTHING, ...history }).broken?.law;
  }

  entry(index: number, inTerm: number, value = 0): number {
    const same = (entry: Entry): boolean => entry.index === index && entry.term === inTerm && entry.data[0] === value;
    const known = this.#entries.findIndex(same);
    if (known >= 0) return known;
    const data = Uint8Array.of(value);
    this.#entries.push({ index: logIndex(index), term: term(inTerm), type: EntryType.command, data });
    return this.#entries.length - 1;
  }

  #add({ log = [], durable = log, ...given }: Given, position: number): number {
    this.#known.push({
      position,
      id: serverId(position + 1),
      role: 'follower',
      votedFor: serverId(0),
      leads: 0,
      term: term(1),
      commit: logIndex(0),
      applied: 0,
      durableTerm: term(1),
      durableVote: serverId(0),
      electorates: VOTERS,
      writing: false,
      voteBan: undefined,
      entriesOnDisk: 0,
      maySnapshot: false,
      ...given,
      log: this.#log(log),
      durable: this.#log(durable),
    });
    return this.#known.length - 1;
  }

  #log(terms: readonly number[]): number {
    this.#logs.push(terms.map((each, place) => this.entry(place + 1, each)));
    return this.#logs.length - 1;
  }
}

const LEADS = { role: 'leader', leads: 1, durableVote: serverId(1) } as const;
const LED = { leaders: [-1, 0] };
const VOTED = { durableVote: serverId(1) } as const;

describe('the law that', () => {
  it('leaders are elected by majorities counts durable votes, and voters that have gone on to later terms', () => {
    const law = 'leaders-are-elected-by-majorities';
    expect(new Scene({}, {}, {}).judge(LEADS)).toBe(law);
    expect(new Scene({}, VOTED, {}).judge(LEADS)).toBeUndefined();
    expect(new Scene({}, {}, { durableTerm: term(2) }).judge(LEADS)).toBeUndefined();
    expect(new Scene({}, VOTED, {}).judge({ ...LEADS, durableVote: serverId(0) })).toBe(law);
    const joint = [{ index: 0, voterSets: [[0, 1], [0, 2]], members: [0, 1, 2] }]; // prettier-ignore
    expect(new Scene({ electorates: joint }, VOTED, {}).judge({ ...LEADS, electorates: joint })).toBe(law);
    expect(new Scene({ electorates: joint }, VOTED, VOTED).judge({ ...LEADS, electorates: joint })).toBeUndefined();
  });

  it('a term has one leader remembers those who lead no longer', () => {
    const scene = new Scene({}, VOTED, {});
    expect(scene.judge(LEADS, { leaders: [-1, 2] })).toBe('election-safety');
    expect(scene.judge(LEADS, { leaders: [-1, 0] })).toBeUndefined();
  });

  it('leaders have what was committed in earlier terms', () => {
    const later = { ...LEADS, leads: 2, durableTerm: term(2) };
    const voted = { ...VOTED, durableTerm: term(2) };
    const scene = new Scene({}, voted, {});
    const committed = [scene.entry(1, 1)];
    expect(scene.judge(later, { committed, committedIn: [1] })).toBe('leader-completeness');
    expect(scene.judge(later, { committed, committedIn: [2] })).toBeUndefined();
    expect(scene.judge({ ...later, log: [1] }, { committed, committedIn: [1] })).toBeUndefined();
  });

  it('leaders have what was committed holds for those who lead already when it is applied', () => {
    const scene = new Scene({ log: [1] }, { role: 'leader', leads: 2, log: [] }, {});
    const applied = { applied: [scene.entry(1, 1)] };
    expect(scene.judge({ log: [1] }, { leaders: [-1, -1, 1] }, applied)).toBe('leader-completeness');
    expect(scene.judge({ log: [1], term: term(2) }, { leaders: [-1, -1, 1] }, applied)).toBeUndefined();
  });

  it('logs match looks at all before a common entry', () => {
    const scene = new Scene({}, { log: [1, 2, 3] }, {});
    expect(scene.judge({ log: [1, 2, 3] })).toBeUndefined();
    expect(scene.judge({ log: [1, 1] })).toBeUndefined();
    expect(scene.judge({ log: [2, 2] })).toBe('log-matching');
    expect(scene.judge({ log: [1, 1, 3] })).toBe('log-matching');
  });

  it('all apply the same compares entries whole', () => {
    const scene = new Scene({}, {}, {});
    const [one, other] = [scene.entry(1, 1, 1), scene.entry(1, 1, 2)];
    expect(scene.judge({}, { committed: [one], committedIn: [1] }, { applied: [one] })).toBeUndefined();
    expect(scene.judge({}, { committed: [one], committedIn: [1] }, { applied: [other] })).toBe('state-machine-safety');
  });

  it('what is committed is durable counts disks in every set of voters', () => {
    const law = 'committed-is-durable-on-a-majority';
    const leader = { ...LEADS, log: [1, 1] };
    const commits = { ...leader, commit: logIndex(2) };
    expect(new Scene(leader, { log: [1] }, {}).judge(commits, LED)).toBe(law);
    expect(new Scene(leader, { log: [1, 1], durable: [1] }, {}).judge(commits, LED)).toBe(law);
    expect(new Scene(leader, { log: [1, 1] }, {}).judge(commits, LED)).toBeUndefined();
    expect(new Scene(leader, { log: [1, 1] }, {}).judge({ ...commits, durable: [1] }, LED)).toBe(law);
  });

  it('what is committed is durable holds a configuration to its own voters, and other entries to those or later ones', () => {
    const law = 'committed-is-durable-on-a-majority';
    const electorates = [...VOTERS, { index: 2, voterSets: [[0], [0, 1]], members: [0, 1] }, { index: 3, voterSets: [[0]], members: [0] }]; // prettier-ignore
    const leader = { ...LEADS, log: [1, 1, 1, 1], electorates };
    const judge = (commit: number, ...others: readonly Given[]): string | undefined =>
      new Scene({ ...leader, commit: logIndex(commit - 1) }, ...others).judge(
        { ...leader, commit: logIndex(commit) },
        LED,
      );
    expect(judge(2, {}, { log: [1, 1] })).toBe(law);
    expect(judge(2, { log: [1, 1] }, {})).toBeUndefined();
    expect(judge(3, {}, {})).toBeUndefined();
    expect(judge(4, {}, {})).toBeUndefined();
    expect(judge(1, {}, {})).toBeUndefined();
  });

  it('removed servers lead nobody counts from when the configuration without them is committed', () => {
    const electorates = [...VOTERS, { index: 2, voterSets: [[1, 2]], members: [1, 2] }];
    const leader = { ...LEADS, log: [1, 1], electorates };
    const others = [{ log: [1, 1] }, { log: [1, 1] }];
    const scene = new Scene({ ...leader, commit: logIndex(1) }, ...others);
    expect(scene.judge({ ...leader, commit: logIndex(2) }, LED)).toBe('removed-servers-lead-nobody');
    expect(scene.judge({ ...leader, commit: logIndex(2), leads: 0 }, LED)).toBeUndefined();
    expect(new Scene(leader, ...others).judge({ ...leader, commit: logIndex(1) }, LED)).toBeUndefined();
  });

  it('reads are not stale counts from when they were asked', () => {
    const scene = new Scene({}, {}, {});
    const committed = [scene.entry(1, 1), scene.entry(2, 1)];
    const history = { committed, committedIn: [1, 1], reads: [1] };
    const answered = (index: number): Partial<Step> => ({ answered: [{ ticket: 0, index: logIndex(index) }] });
    expect(scene.judge({}, history, answered(0))).toBe('no-stale-read');
    expect(scene.judge({}, history, answered(1))).toBeUndefined();
    expect(scene.judge({}, { ...history, reads: [] }, answered(1), 0)).toBe('no-stale-read');
    expect(scene.judge({}, { ...history, reads: [] }, answered(2), 0)).toBeUndefined();
  });

  it('is the invariant with which a core stops itself', () => {
    const broken = { law: 'time-never-goes-back', message: '' };
    expect(new Scene({}, {}, {}).judge({}, {}, { broken })).toBe('time-never-goes-back');
  });
});
