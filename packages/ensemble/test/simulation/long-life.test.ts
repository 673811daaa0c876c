import { getEventListeners } from 'node:events';
import type { Client } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { applications, NOTHING_LEFT } from '../support/applications.ts';

/** Of virtual time; a whole day takes half an hour of a processor: HOLDFAST_LIFE_MINUTES=1440. */
const MINUTES = Number(process.env['HOLDFAST_LIFE_MINUTES'] ?? 5);
const FAIL_OVER_EVERY_MS = 20_000;
const CLIENTS = 3;

describe('clients that live through one fail-over after another', () => {
  it(
    `are left, after ${MINUTES} minutes, with no timer, listener, waiter or node that they had not before`,
    { timeout: MINUTES * 60_000 },
    async () => {
      const world = await applications(11);
      const { ensemble } = world;
      const stopping = new AbortController();
      const { signal } = stopping;
      const clients: Client[] = [];
      for (let n = 0; n < CLIENTS; n += 1) clients.push(await world.connect({ resilient: true }));
      const timers: number[] = [];
      const listeners: number[] = [];
      const end = ensemble.world.nowMs + MINUTES * 60_000;
      for (let round = 0; ensemble.world.nowMs < end; round += 1) {
        const [client, other] = [clients[round % CLIENTS], clients[(round + 1) % CLIENTS]] as [Client, Client];
        const held = await world.complete(client.lock('a').acquire({ signal }));
        const waiting = other.lock('a').acquire({ signal });
        const late = other.lock('a').tryAcquire({ waitMs: 1_000, signal });
        await ensemble.until(() => other.status().waits === 2);
        const watch = other.nodes.watch('/watched', { signal });
        await world.complete(watch.started);
        await world.changeLeader();
        expect(await world.complete(late)).toMatchObject({ acquired: false });
        // Every third loses its session besides.
        if (round % 3 === 2) await world.expire(client);
        else await world.complete(held.release());
        await world.complete((await world.complete(waiting)).release());
        await world.complete(watch.return());
        await world.pass(FAIL_OVER_EVERY_MS);
        expect(clients.map(({ state }) => state)).toEqual(clients.map(() => 'connected'));
        expect(
          clients.map((each) => each.status()).map(({ holds, waits, unanswered }) => [holds, waits, unanswered]),
        ).toEqual(clients.map(() => [0, 0, 0]));
        timers.push(world.timers);
        listeners.push(getEventListeners(signal, 'abort').length);
      }
      expect(timers.length).toBeGreaterThan((MINUTES * 60_000) / FAIL_OVER_EVERY_MS / 2);
      // A few of each client's own, now one more, now one less. What is left behind stays: the fewest would be more in the end.
      const half = Math.floor(timers.length / 2);
      expect(Math.min(...timers.slice(half))).toBe(Math.min(...timers.slice(0, half)));
      expect(new Set(listeners)).toEqual(new Set([0]));
      expect(await world.close()).toEqual(NOTHING_LEFT);
    },
  );
});
