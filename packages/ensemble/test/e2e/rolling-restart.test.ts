import { connect, type Client } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';
import { Application } from './support/application.ts';

const CLIENTS = 6;

/** `name{labels} value` of one server, summed over those labels that match. */
async function metric(address: string, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

describe('an ensemble whose servers are restarted one by one under load', () => {
  let ensemble: LocalEnsemble;
  let stop: () => Promise<void>;
  const clients: Client[] = [];

  beforeAll(async () => {
    ({ ensemble, stop } = await startScratchEnsemble());
    const connecting = Array.from({ length: CLIENTS }, () => connect({ servers: ensemble.clientAddresses }));
    clients.push(...(await Promise.all(connecting)));
    await clients[0]?.nodes.create('/rolling');
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await stop?.();
  });

  const address = (id: number): string => ensemble.clientAddresses[id - 1] ?? '';

  it('has no election but those that the old leader asked for, and shows no application an error or a pause of its session', async () => {
    const suspensions: string[] = [];
    for (const client of clients)
      client.events.on('suspended', ({ server, reason }) => suspensions.push(`${server}: ${reason}`));
    const applications = clients.map((client, n) => new Application(client, n));
    const elections = async (): Promise<number[]> =>
      Promise.all(ensemble.servers.map((id) => metric(address(id), 'holdfast_elections_total', 'cause="timeout"')));
    const refusals = async (): Promise<number[]> =>
      Promise.all(ensemble.servers.map((id) => metric(address(id), 'holdfast_elections_total', 'cause="refused"')));
    await Promise.all(applications.map((application) => application.progress()));
    let timeouts = await elections();
    for (let round = 0; round < 2 * ensemble.servers.length; round += 1) {
      // The leader each other time, so that half of the stops transfer leadership.
      const leader = await ensemble.waitForLeader();
      const victim = round % 2 === 0 ? leader : 1 + (leader % ensemble.servers.length);
      const status = await ensemble.status(victim);
      const exit = await ensemble.stopServer(victim);
      expect(exit?.code, `server ${victim} stops by itself`).toBe(0);
      const next = await ensemble.waitForLeader();
      const after = await ensemble.status(next);
      if (victim === leader) {
        expect(next).not.toBe(victim);
        expect(after?.term, 'one election, won at once').toBe((status?.term ?? 0) + 1);
      } else {
        expect({ leader: next, term: after?.term }).toEqual({ leader, term: status?.term });
      }
      await ensemble.restart(victim);
      await Promise.all(applications.map((application) => application.progress()));
      // One that starts counts from 0.
      timeouts = timeouts.map((count, n) => (n === victim - 1 ? 0 : count));
      expect(await elections(), `round ${round}: elections for want of a leader`).toEqual(timeouts);
      expect(await refusals(), `round ${round}: elections for a refusing leader`).toEqual([0, 0, 0]);
    }
    await Promise.all(applications.map((application) => application.stop()));
    expect(applications.map(({ error }) => error)).toEqual(clients.map(() => undefined));
    expect(suspensions).toEqual([]);
    for (const application of applications) expect(application.cycles).toBeGreaterThan(2 * ensemble.servers.length);
  }, 120_000);
});

describe('lockctl transfer', () => {
  it('moves leadership to the server that is named, to another, and back, under load', async () => {
    const { ensemble, stop } = await startScratchEnsemble();
    const client = await connect({ servers: ensemble.clientAddresses });
    try {
      await client.nodes.create('/rolling');
      const application = new Application(client, 0);
      await application.progress();
      const first = await ensemble.waitForLeader();
      const named = 1 + (first % ensemble.servers.length);
      expect(await client.admin.transferLeadership(named)).toBe(named);
      expect(await ensemble.waitForLeader()).toBe(named);
      await application.progress();
      const any = await client.admin.transferLeadership();
      expect(any).not.toBe(named);
      expect(await client.admin.transferLeadership(first)).toBe(first);
      expect(await client.admin.transferLeadership(first), 'again').toBe(first);
      await expect(client.admin.transferLeadership(9)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await ensemble.kill(named);
      await expect(client.admin.transferLeadership(named)).rejects.toMatchObject({ code: 'TRANSFER_REFUSED' });
      await application.progress();
      await application.stop();
      expect(application.error).toBeUndefined();
    } finally {
      await client.close();
      await stop();
    }
  }, 60_000);
});
