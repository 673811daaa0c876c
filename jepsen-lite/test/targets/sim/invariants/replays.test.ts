import { CommandType } from '@holdfast/protocol';
import { EntryType, logIndex, term, type Entry } from '@holdfast/raft';
import { encodeEntry } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { ReplayInvariants } from '../../../../src/targets/sim/invariants/replays.ts';

const SESSION = 7;

class Log {
  readonly reports: string[] = [];
  readonly invariants = new ReplayInvariants((name, message) => this.reports.push(`${name}: ${message}`));
  #length = 0;

  append(number: number, { session = SESSION, command = CommandType.delete as number } = {}): Entry {
    this.#length += 1;
    const data = encodeEntry({ command, session, generation: 1, number, ackedUpTo: 0 }, new Uint8Array());
    const entry = { index: logIndex(this.#length), term: term(1), type: EntryType.command, data };
    this.invariants.applied(entry);
    return entry;
  }
}

describe('a request of a client that repeats what it sends', () => {
  it('may be in the log as often as a server has asked for it, applied by however many servers', () => {
    const log = new Log();
    log.invariants.sending(SESSION, 1);
    log.invariants.applied(log.append(1));
    log.invariants.sending(SESSION, 2);
    log.invariants.sending(SESSION, 2);
    log.append(2);
    log.append(2);
    expect(log.reports).toEqual([]);
  });

  it('is a violation when it is in the log once more', () => {
    const log = new Log();
    log.invariants.sending(SESSION, 1);
    log.append(1);
    log.append(1);
    expect(log.reports).toEqual(['no-replay-is-in-the-log: entry 2 is a copy of request 1 of session 7']);
  });

  it('is a violation when it has no number', () => {
    const log = new Log();
    log.invariants.sending(SESSION, 1);
    log.append(0);
    expect(log.reports).toHaveLength(1);
  });

  it('is distinguished from requests of other clients, and from what servers say of its session', () => {
    const log = new Log();
    log.invariants.sending(SESSION, 1);
    log.append(1, { session: 8 });
    log.append(1, { session: 8 });
    log.append(0, { command: CommandType.expireSession });
    log.append(0, { command: CommandType.attach });
    expect(log.reports).toEqual([]);
  });
});
