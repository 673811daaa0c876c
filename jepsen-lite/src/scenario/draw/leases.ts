/**
 * Draws a scenario about leases: sessions as short as they may be, one lock that everybody wants, critical sections longer than a
 * fail-over, and faults that strike its holder and its leader for about as long as a session lives. What is promised of leases, renewals
 * and the fence is put to the test here in a few seeds, and by other scenarios in hundreds.
 */

import type { Random } from '@holdfast/runtime';

import { between } from '../../plan/choices.ts';
import { LEADER, holderOf, serverHost, serverIds, STORE_HOST } from '../../plan/plan.ts';
import type { Fault } from '../../nemeses/index.ts';
import type { Scenario } from '../scenario.ts';

const HOLDER = holderOf('lock-0');
/** About three seconds on average: longer than a fail-over and an expiry. */
const LONG_STEPS = 100;
const FIRST_FAULT_MS = 1_000;
const SERVERS = serverIds({ servers: 3 }).map(serverHost);
/** In some scenarios these clients reach this server alone, whoever leads. */
const CLIENTS = ['c1', 'c2'];
const THEIR_SERVER = 's3';

export function drawLeaseScenario(seed: number, random: Random, durationMs: number): Scenario {
  const sessionTimeoutMs = between(random, 1_000, 1_400);
  const electionTimeoutMs = between(random, 300, 1_200);
  const clients = Array.from({ length: between(random, 3, 4) }, (_, n) => {
    return { name: `c${n + 1}`, sessionTimeoutMs, workers: between(random, 2, 3), longSteps: LONG_STEPS };
  });
  const alone = random.integer(2) === 0;
  const others = SERVERS.filter((server) => server !== THEIR_SERVER);
  const faults: Fault[] = alone ? [{ kind: 'partition', atMs: 1, forMs: durationMs, groups: [CLIENTS, others] }] : [];
  for (let atMs = FIRST_FAULT_MS; atMs < durationMs; atMs += between(random, 300, 2_500)) {
    faults.push(...drawFaults(random, atMs, { sessionTimeoutMs, electionTimeoutMs }));
  }
  return {
    version: 1,
    seed,
    servers: 3,
    clients,
    locks: 1,
    tuning: { electionTimeoutMs, heartbeatMs: Math.floor(electionTimeoutMs / 5), segmentBytes: 64 * 1024 },
    network: { minMs: 0.2, maxMs: between(random, 1, 30) },
    disk: { minMs: 0.1, maxMs: between(random, 1, 20) },
    durationMs,
    faults,
  };
}

/**
 * A run of leases with no faults but these: an answer comes late, and the ensemble has heard less by then than was sent before it. Whoever counts a
 * lease from the answer, or from a later message than it answers, believes in it for too long. Among other faults that is hardly ever seen.
 */
export function drawLateAnswersScenario(seed: number, random: Random, durationMs: number): Scenario {
  const scenario = drawLeaseScenario(seed, random, durationMs);
  const { sessionTimeoutMs = 0 } = scenario.clients[0] ?? {};
  const faults: Fault[] = [];
  // Everybody is well again, and somebody else has the lock, before the next one.
  const intervalMs = 5 * sessionTimeoutMs;
  for (
    let atMs = FIRST_FAULT_MS;
    atMs < durationMs - intervalMs;
    atMs += between(random, intervalMs, intervalMs + 500)
  ) {
    const late = random.integer(2) === 0 ? lateAttach : lateRenewal;
    faults.push(...late(random, atMs, sessionTimeoutMs));
  }
  return { ...scenario, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

/** The holder attaches anew and stands still until long after it was answered; it then reaches nobody for so long that its session ends. */
function lateAttach(random: Random, atMs: number, sessionTimeoutMs: number): Fault[] {
  const pausedAtMs = atMs + between(random, 2, 80);
  const forMs = between(random, Math.floor(sessionTimeoutMs / 2), sessionTimeoutMs);
  return [
    { kind: 'break', atMs, hosts: [HOLDER, LEADER] },
    { kind: 'pause', atMs: pausedAtMs, forMs, host: HOLDER },
    {
      kind: 'partition',
      atMs: pausedAtMs + between(random, 40, 150),
      forMs: 3 * sessionTimeoutMs,
      groups: [[HOLDER], SERVERS],
    },
  ];
}

/**
 * What the holder is told comes late, and what it says is lost from some moment before: of the heartbeats that it sends as long as none is answered,
 * only the first is heard. A third of a session at most: after a longer silence it leaves for another server.
 */
function lateRenewal(random: Random, atMs: number, sessionTimeoutMs: number): Fault[] {
  const clogMs = Math.floor(sessionTimeoutMs * (0.3 + 0.03 * random.next()));
  const cutAtMs = atMs + Math.floor(sessionTimeoutMs * (0.08 + 0.08 * random.next()));
  return SERVERS.flatMap((server): Fault[] => [
    { kind: 'clog', atMs, forMs: clogMs, from: server, to: HOLDER },
    { kind: 'cut', atMs: cutAtMs, forMs: 3 * sessionTimeoutMs, from: HOLDER, to: server },
  ]);
}

interface Times {
  readonly sessionTimeoutMs: number;
  readonly electionTimeoutMs: number;
}

function drawFaults(random: Random, atMs: number, { sessionTimeoutMs, electionTimeoutMs }: Times): Fault[] {
  const forMs = Math.floor(sessionTimeoutMs * (0.7 + 1.8 * random.next()));
  const alone = (...group: string[]): Pick<Fault & { kind: 'partition' }, 'kind' | 'groups'> => {
    return { kind: 'partition', groups: [group, SERVERS] };
  };
  switch (random.integer(8)) {
    case 0:
      return [{ kind: 'pause', atMs, forMs, host: HOLDER }];
    case 1:
      // It still reaches the store.
      return [{ ...alone(HOLDER), atMs, forMs }];
    case 2:
      return [{ kind: 'partition', atMs, forMs, groups: [[HOLDER], [...SERVERS, STORE_HOST]] }];
    case 3:
      // Until the others have elected another leader, which then has to wait for a whole session.
      return [{ ...alone(LEADER, HOLDER, 'c1'), atMs, forMs: forMs + 2 * electionTimeoutMs }];
    case 4:
      return [{ ...alone(THEIR_SERVER, ...CLIENTS), atMs, forMs: forMs + electionTimeoutMs }];
    case 5: {
      // A new leader knows nothing of what the old one was told last.
      const kill = {
        kind: 'kill',
        atMs: atMs + random.integer(Math.ceil(sessionTimeoutMs / 3)),
        forMs,
        hosts: [LEADER],
      } as const;
      return [
        random.integer(2) === 0 ? { kind: 'pause', atMs, forMs, host: HOLDER } : { ...alone(HOLDER), atMs, forMs },
        kill,
      ];
    }
    case 6: {
      // What the store has learned of the next holder must outlive its restart: the paused one is about to write.
      const outageMs = between(random, 20, 200);
      const crashAtMs = atMs + forMs + sessionTimeoutMs - outageMs - random.integer(300);
      return [
        { kind: 'pause', atMs, forMs: forMs + sessionTimeoutMs, host: HOLDER },
        { kind: 'crash', atMs: crashAtMs, forMs: outageMs, hosts: [STORE_HOST], tear: 'random' },
      ];
    }
    default:
      return [{ kind: 'crash', atMs, forMs: between(random, 100, 2_000), hosts: [LEADER], tear: 'random' }];
  }
}
