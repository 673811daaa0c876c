import { describe, expect, it } from 'vitest';

import { applyEdits, RottenPatchError } from '../../src/patches/patch.ts';

const TEXT = 'if (a)\n    return b;\nreturn c;\n';

describe('an edit', () => {
  it('replaces what it finds, wherever lines break', () => {
    expect(applyEdits(TEXT, [{ find: 'if (a) return b;', replace: '' }], 'f.js')).toBe('\nreturn c;\n');
  });

  it('is taken literally, on both sides', () => {
    expect(applyEdits('x = a.b(c) ?? $1;', [{ find: 'a.b(c)', replace: "$& $1 $'" }], 'f.js')).toBe(
      "x = $& $1 $' ?? $1;",
    );
  });

  it('sees what earlier edits of the file made', () => {
    const edits = [
      { find: 'return c', replace: 'return d' },
      { find: 'return d', replace: 'return e' },
    ];
    expect(applyEdits(TEXT, edits, 'f.js')).toContain('return e;');
  });

  it.each([
    ['is gone', 'return x;', 'does not occur'],
    ['has become ambiguous', 'return', 'occurs 2 times'],
  ])('whose place %s is refused, and named with its file', (_, find, problem) => {
    const edit = () => applyEdits(TEXT, [{ find, replace: '' }], 'f.js');
    expect(edit).toThrow(RottenPatchError);
    expect(edit).toThrow(`"${find}" ${problem} in f.js`);
  });

  it('that changes nothing is refused', () => {
    expect(() => applyEdits(TEXT, [{ find: 'return c;', replace: 'return c;' }], 'f.js')).toThrow('change nothing');
  });
});
