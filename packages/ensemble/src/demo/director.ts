/** Directs the story: who acts when. What happened is what the processes record, and is judged elsewhere. */

import { FencedKv } from '@holdfast/fenced-kv-client';

import type { LocalEnsemble } from '../local-ensemble.ts';
import { BUCKET_NAMES, KEY, OPENING, type StoryEvent, type StoryFact } from './event.ts';
import { WorkerProcess } from './worker-process.ts';

const LOCK = 'accounts/42';
/** Short, so that the demo is; the SDK's default is 10 seconds. */
const SESSION_TIMEOUT_MS = 2_000;
const STEP_TIMEOUT_MS = 20_000;
const FINISH_TIMEOUT_MS = 5_000;

export interface Story {
  /** False takes the fence out. */
  readonly fence: boolean;
  readonly signal: AbortSignal;
  /** Hears of each event as it comes in. */
  readonly onEvent: (event: StoryEvent) => void;
}

/** Resolves with the events in the order of their times. */
export async function runStory(ensemble: LocalEnsemble, { fence, signal, onEvent }: Story): Promise<StoryEvent[]> {
  const events: StoryEvent[] = [];
  const record = (event: StoryEvent): void => {
    events.push(event);
    onEvent(event);
  };
  const note = (fact: StoryFact): void => record({ at: Date.now(), who: 'demo', fact });
  const store = new FencedKv(ensemble.fencedKvUrl);
  await store.bucket('fenced').create({ tokens: fence ? 'required' : 'optional' });
  await store.bucket('unfenced').create({ tokens: 'optional' });

  const shared = {
    servers: ensemble.clientAddresses,
    fencedKvUrl: ensemble.fencedKvUrl,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    lock: LOCK,
    fence,
  };
  const a = new WorkerProcess({ who: 'A', ...shared }, record);
  const b = new WorkerProcess({ who: 'B', ...shared }, record);
  const interrupt = (): void => {
    for (const worker of [a, b]) void worker.finish(0);
  };
  signal.addEventListener('abort', interrupt);
  try {
    a.send('acquire');
    await a.heard('sessions', STEP_TIMEOUT_MS);
    a.send('open');
    b.send('acquire');
    await b.heard('waiting', STEP_TIMEOUT_MS);
    a.send('begin a deposit');
    await a.heardWhere('that its deposit is under way', STEP_TIMEOUT_MS, isUnderWay);
    a.pause();
    note({ type: 'stopped' });

    await b.heard('sessions', SESSION_TIMEOUT_MS + STEP_TIMEOUT_MS);
    b.send('deposit');
    await b.heard('checked', STEP_TIMEOUT_MS);

    // It waits in the pipe: the first thing that A does when it wakes is to send the rest of its write.
    a.send('go on');
    note({ type: 'resumed' });
    a.resume();
    // The unfenced bucket comes second, so both outcomes are in by then.
    await a.heardWhere('its late write', STEP_TIMEOUT_MS, isLateOutcome);
    for (const bucket of BUCKET_NAMES) {
      const found = await store.bucket(bucket).get(KEY);
      note({ type: 'found', bucket, value: found === undefined ? null : new TextDecoder().decode(found.value) });
    }
  } finally {
    signal.removeEventListener('abort', interrupt);
    await Promise.all([a.finish(FINISH_TIMEOUT_MS), b.finish(FINISH_TIMEOUT_MS)]);
  }
  return events.toSorted((x, y) => x.at - y.at);
}

/** The writes to both buckets have begun. */
function isUnderWay(fact: StoryFact): boolean {
  return fact.type === 'writing' && fact.bucket === 'unfenced';
}

/** What became of the late write at the unfenced bucket, accepted or not. */
function isLateOutcome(fact: StoryFact): boolean {
  if (fact.type !== 'wrote' && fact.type !== 'refused') return false;
  return fact.bucket === 'unfenced' && !(fact.type === 'wrote' && fact.value === String(OPENING));
}
