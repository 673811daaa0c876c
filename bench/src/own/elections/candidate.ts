/** A candidate of an election in a process of its own, to be killed while it leads. */

import { connect, type Client } from '@holdfast/client';

import { endWith, obeyOrders } from '../client-process.ts';
import type { CandidateOrder, CandidateReport } from './orders.ts';

let client: Client | undefined;
let firstTerm: Promise<number> | undefined;

/** Leads until the term is lost, and campaigns again. */
async function campaign(of: Client, election: string, began: (atMs: number) => void): Promise<void> {
  for await (const { signal } of of.election(election).campaign({ value: `process ${process.pid}` })) {
    began(Date.now());
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

async function obey(order: CandidateOrder): Promise<CandidateReport> {
  switch (order.type) {
    case 'campaign': {
      const { servers, sessionTimeoutMs, election } = order;
      const connected = await connect({ servers, sessionTimeoutMs });
      client = connected;
      firstTerm = new Promise((resolve) => {
        campaign(connected, election, resolve).catch(endWith);
      });
      return { sessionId: connected.sessionId, atMs: Date.now() };
    }
    case 'lead': {
      if (client === undefined || firstTerm === undefined) throw new Error('it does not campaign yet');
      const atMs = await firstTerm;
      return { sessionId: client.sessionId, atMs };
    }
  }
}

obeyOrders<CandidateOrder>(obey);
