import { EntryType, logIndex, term, type Entry } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { SecretInvariants } from '../../../../src/targets/sim/invariants/secrets.ts';

const SECRET = Uint8Array.from({ length: 16 }, (_, n) => n + 1);

function entry(index: number, data: Uint8Array): Entry {
  return { index: logIndex(index), term: term(1), type: EntryType.command, data };
}

function found(secret: Uint8Array, ...entries: readonly Uint8Array[]): string[] {
  const names: string[] = [];
  const invariants = new SecretInvariants((name) => names.push(name));
  invariants.drawn('c1', secret);
  entries.forEach((data, n) => invariants.applied(entry(n + 1, data)));
  return names;
}

describe("a client's secret", () => {
  it('is found wherever in an entry it is', () => {
    const padded = new Uint8Array(80);
    padded.set(SECRET, 48);
    expect(found(SECRET, new Uint8Array(80), padded)).toEqual(['no-secret-is-in-the-log']);
  });

  it('is not taken for what is only like it, nor anything short for a secret', () => {
    expect(found(SECRET, SECRET.subarray(1), SECRET.toReversed(), new Uint8Array(0))).toEqual([]);
    expect(found(SECRET.subarray(0, 8), SECRET)).toEqual([]);
  });
});
