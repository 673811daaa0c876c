import { CommandType, CreateMode } from '@holdfast/protocol';
import { decodeEntryHeader } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { LoopbackEnsemble } from '../support/loopback.ts';
import type { TestClient } from '../support/test-client.ts';

/** More than two entries remove. */
const NODES = 1_300;

/** A client of server 2 with a session that owns many nodes. */
function owner(ensemble: LoopbackEnsemble): { readonly client: TestClient; readonly session: number } {
  const client = ensemble.server(2).connect();
  const { session } = client.attach(1, { timeoutMs: 120_000 });
  for (let number = 1; number <= NODES; number += 1) {
    const create = {
      type: 'create',
      path: `/n${number}`,
      data: new Uint8Array(),
      mode: CreateMode.ephemeral,
    } as const;
    client.request(number, create, number - 1);
    if (number % 100 === 0) client.take();
  }
  client.take();
  return { client, session };
}

function nodes(ensemble: LoopbackEnsemble): number[] {
  return ensemble.servers.map(({ machine }) => machine.state.counts.nodes - 3);
}

function commands(ensemble: LoopbackEnsemble, from: number): number[] {
  return ensemble.log.slice(from).flatMap(({ data }) => (data.length === 0 ? [] : [decodeEntryHeader(data).command]));
}

describe('a session with more nodes than one entry removes', () => {
  it('that closes itself is ended by the leader entry by entry, and hears of it when nothing is left', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { client } = owner(ensemble);
    const before = ensemble.log.length;
    client.request(NODES + 1, { type: 'closeSession', session: 0 }, NODES);
    expect(client.take()).toMatchObject([
      { type: 'reply', number: NODES + 1, reply: { type: 'done' } },
      { type: 'ended', reason: 'closed' },
    ]);
    expect(commands(ensemble, before)).toEqual([
      CommandType.closeSession,
      CommandType.continueEnd,
      CommandType.continueEnd,
    ]);
    expect(nodes(ensemble)).toEqual([0, 0, 0]);
  });

  it('is ended by the next leader, when the one that began is gone', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(1);
    const { client, session } = owner(ensemble);
    // The first entry of the end, and nothing of the leader's behind it.
    ensemble.server(1).machine.disconnectClients();
    client.request(NODES + 1, { type: 'closeSession', session: 0 }, NODES);
    client.take();
    expect(nodes(ensemble)).toEqual([NODES - 500, NODES - 500, NODES - 500]);
    expect(ensemble.server(3).machine.state.session(session)).toMatchObject({ ending: true });
    ensemble.depose();
    ensemble.elect(3);
    ensemble.clock.runChecks();
    expect(nodes(ensemble)).toEqual([0, 0, 0]);
    expect(client.take().at(-1)).toMatchObject({ type: 'ended', reason: 'closed' });
  });
});
