/**
 * Judges the demo by what its processes recorded: each claim holds or not, by the events alone. Nothing here knows what was meant to
 * happen at which time.
 */

import type { BucketName, StoryEvent, StoryFact } from './event.ts';

export interface Claim {
  readonly claim: string;
  readonly holds: boolean;
  /** What the recorded events say about it. */
  readonly evidence: string;
}

type FactOf<T extends StoryFact['type']> = Extract<StoryFact, { type: T }>;

interface Found<T extends StoryFact['type']> {
  readonly at: number;
  readonly fact: FactOf<T>;
}

export function judge(events: readonly StoryEvent[]): Claim[] {
  const story = new Story(events);
  const grantA = story.first('A', 'granted');
  const grantB = story.first('B', 'granted');
  const sessionsOfA = story.first('A', 'sessions');
  const sessionsOfB = story.first('B', 'sessions');
  const stopped = story.first('demo', 'stopped');
  const resumed = story.first('demo', 'resumed');
  const underWay = story.first('A', 'writing');
  const lastOfB = story.wrote('B', 'unfenced');
  const lateFenced = story.after('A', 'refused', resumed?.at).find(({ fact }) => fact.bucket === 'fenced');
  const lateUnfenced = story.after('A', 'wrote', resumed?.at).find(({ fact }) => fact.bucket === 'unfenced');
  const tokens = `A has token ${grantA?.fact.token ?? 'none'}, B has token ${grantB?.fact.token ?? 'none'}`;
  return [
    {
      claim: 'A held the lock, found its lease in order, and had a write under way when it was stopped',
      holds: inOrder(
        grantA?.at,
        story.wrote('A', 'fenced')?.at,
        story.first('A', 'checked')?.at,
        underWay?.at,
        stopped?.at,
      ),
      evidence: tokens,
    },
    {
      claim: 'B was granted the lock while A was stopped',
      holds: inOrder(stopped?.at, grantB?.at, resumed?.at),
      evidence: `A was stopped for ${elapsed(stopped, resumed)}; B was granted after ${elapsed(stopped, grantB)} of it`,
    },
    {
      claim: 'because the session of A had expired: the ensemble had it before, and not any more',
      holds: sessionsOfA?.fact.of.includes('A') === true && sessionsOfB?.fact.of.join() === 'B',
      evidence: `sessions at the grant to A: ${listed(sessionsOfA)}; at the grant to B: ${listed(sessionsOfB)}`,
    },
    {
      claim: 'the token of B is higher than that of A',
      holds: grantA !== undefined && grantB !== undefined && grantB.fact.token > grantA.fact.token,
      evidence: tokens,
    },
    {
      claim: 'B wrote both buckets before A woke',
      holds: inOrder(grantB?.at, story.wrote('B', 'fenced')?.at, lastOfB?.at, resumed?.at),
      evidence: lastOfB === undefined ? 'B did not write' : `${elapsed(lastOfB, resumed)} before`,
    },
    {
      claim: 'the fenced bucket refused the late write of A as stale',
      holds:
        lateFenced !== undefined &&
        lateFenced.fact.code === 'STALE_TOKEN' &&
        lateFenced.fact.presented === grantA?.fact.token &&
        lateFenced.fact.highest === grantB?.fact.token,
      evidence: lateFenced === undefined ? 'it was not refused' : describeRefusal(lateFenced.fact),
    },
    {
      claim: 'the unfenced bucket, the control, accepted the same late write',
      holds: lateUnfenced !== undefined,
      evidence: lateUnfenced === undefined ? 'it did not' : `it took "${lateUnfenced.fact.value}"`,
    },
    valueClaim(story, 'fenced', story.wrote('B', 'fenced')?.fact.value, 'the fenced bucket still has what B wrote'),
    valueClaim(
      story,
      'unfenced',
      lateUnfenced?.fact.value,
      'the unfenced bucket has lost what B wrote to the stale holder',
    ),
  ];
}

function valueClaim(story: Story, bucket: BucketName, expected: string | undefined, claim: string): Claim {
  const value = story.found(bucket)?.fact.value;
  return {
    claim,
    holds: expected !== undefined && value === expected,
    evidence: value === undefined ? 'it was not read' : `it has "${value ?? 'nothing'}"`,
  };
}

function describeRefusal({ code, presented, highest }: FactOf<'refused'>): string {
  return `${code}: presented ${presented}, highest ${highest}`;
}

function listed(sessions: Found<'sessions'> | undefined): string {
  return sessions === undefined ? 'not asked' : sessions.fact.of.join(', ');
}

function elapsed(from: { readonly at: number } | undefined, to: { readonly at: number } | undefined): string {
  return from === undefined || to === undefined ? 'an unknown time' : `${((to.at - from.at) / 1_000).toFixed(1)} s`;
}

/** All happened, and none after the next. */
function inOrder(...times: readonly (number | undefined)[]): boolean {
  return times.every(
    (time, position) => time !== undefined && (position === 0 || time >= (times[position - 1] ?? Infinity)),
  );
}

class Story {
  readonly #events: readonly StoryEvent[];

  constructor(events: readonly StoryEvent[]) {
    this.#events = events;
  }

  first<T extends StoryFact['type']>(who: StoryEvent['who'], type: T): Found<T> | undefined {
    return this.#all(who, type)[0];
  }

  after<T extends StoryFact['type']>(who: StoryEvent['who'], type: T, at: number | undefined): Found<T>[] {
    return at === undefined ? [] : this.#all(who, type).filter((event) => event.at >= at);
  }

  wrote(who: 'A' | 'B', bucket: BucketName): Found<'wrote'> | undefined {
    return this.#all(who, 'wrote').find(({ fact }) => fact.bucket === bucket);
  }

  found(bucket: BucketName): Found<'found'> | undefined {
    return this.#all('demo', 'found').findLast(({ fact }) => fact.bucket === bucket);
  }

  #all<T extends StoryFact['type']>(who: StoryEvent['who'], type: T): Found<T>[] {
    return this.#events.filter((event) => event.who === who && event.fact.type === type) as unknown as Found<T>[];
  }
}
