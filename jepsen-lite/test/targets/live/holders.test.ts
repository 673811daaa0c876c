import { describe, expect, it } from 'vitest';
import { Holders } from '../../../src/targets/live/clients/holders.ts';

const acquired = (token: number) =>
  ({ type: 'ok', call: token, f: 'acquire', lock: 'l', session: 1, token, hold: token }) as const;
const releasing = (token: number) =>
  ({ type: 'invoke', call: token, f: 'release', lock: 'l', session: 1, token, hold: token }) as const;

describe('the holder of a lock, as clients tell it', () => {
  it('is who was granted it last, until it gives it back', () => {
    const holders = new Holders();
    holders.heed('c1', acquired(5));
    expect(holders.of('l')).toBe('c1');
    holders.heed('c1', releasing(5));
    expect(holders.of('l')).toBeUndefined();
  });

  it('stays the later one, however late an earlier one tells', () => {
    const holders = new Holders();
    holders.heed('c2', acquired(9));
    holders.heed('c1', acquired(5));
    holders.heed('c1', releasing(5));
    expect(holders.of('l')).toBe('c2');
  });

  it('is nobody when it was killed', () => {
    const holders = new Holders();
    holders.heed('c1', acquired(5));
    holders.died('c1');
    expect(holders.of('l')).toBeUndefined();
  });
});
