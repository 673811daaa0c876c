import { serverId, term, type Message } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { ObservedServer } from '../../../../src/targets/sim/invariants/observed-server.ts';
import { beginBan, checkBan } from '../../../../src/targets/sim/invariants/vote-ban.ts';

const VOTE: Message = { type: 'vote-response', term: term(8), granted: true };
/** Terms by index; place 0 stands for before the log. */
const COMMITTED = [0, 1, 1, 1, 3, 3, 3];

/** It had entries 1 to `had`, of which `left` are left, and the ban was begun then. */
function damaged({ had, left }: { readonly had: number; readonly left: number }): ObservedServer {
  const server = new ObservedServer(COMMITTED);
  server.log.durable.terms.push(...COMMITTED.slice(1, left + 1));
  beginBan(server, COMMITTED.length - 1, COMMITTED.slice(0, had + 1));
  return server;
}

function problems(server: ObservedServer): string[] {
  const found: string[] = [];
  checkBan(serverId(5), server, COMMITTED, VOTE, (_name, message) => found.push(message));
  return found;
}

describe('a server that has lost a part of its log', () => {
  it('must not vote before it has again what was committed of that', () => {
    const server = damaged({ had: 3, left: 2 });
    expect(problems(server)).toEqual([
      'server 5 takes part in the election of term 8 without the committed entry 3, which it had',
    ]);
  });

  it('may vote without what others have committed, which it never had', () => {
    const server = damaged({ had: 3, left: 2 });
    server.log.durable.terms.push(COMMITTED[3] ?? 0);
    expect(problems(server)).toEqual([]);
    expect(server.owed).toBe(0);
  });
});
