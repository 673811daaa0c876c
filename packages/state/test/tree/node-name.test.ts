import { describe, expect, it } from 'vitest';

import { isNodeName } from '../../src/tree/node-name.ts';

describe('the name of a node', () => {
  it.each(['a', 'q-0000000000', 'two words', '...', 'ü', '漢字', '%2E', '~'])('can be %j', (name) => {
    expect(isNodeName(name)).toBe(true);
  });

  it.each(['', '.', '..', 'a/b', '/', '\u0000', 'a\u0085', '\ud83d\ude00', '\ufffd', 'x'.repeat(4_096)])(
    'cannot be %j',
    (name) => {
      expect(isNodeName(name)).toBe(false);
    },
  );
});
