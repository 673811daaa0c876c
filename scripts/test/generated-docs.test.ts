import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { table } from '../generated-docs/markdown.mjs';
import { messagesTable } from '../generated-docs/messages.mjs';
import { functionsOf } from '../generated-docs/sizes.mjs';
import { firstSentence, numberOf, parseSource, propertiesOf } from '../generated-docs/source.mjs';

const directory = mkdtempSync(join(tmpdir(), 'holdfast-generated-docs-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(directory, 'source.ts');
  writeFileSync(path, text);
  return path;
}

describe('the generated documents', () => {
  it('are what the built programs say', () => {
    // What is stale, and what writes it anew, is on its standard error, and so in the message of the failure. Build first.
    const root = join(import.meta.dirname, '../..');
    const options = { cwd: root, encoding: 'utf8' } as const;
    expect(execFileSync('node', ['scripts/generated-docs.mjs', '--check'], options)).toBe('');
  });
});

describe('a source file that documents are generated from', () => {
  it('has the doc comments of its constants, but not its own', () => {
    const path = file(`/** About the file. */
export const FIRST = 1;
/** How long
 * it {@link FIRST} takes. And why. */
export const SECOND_MS = 4 * FIRST + 2 ** 3;
const THIRD = new Map();`);
    const { constants } = parseSource(path);
    expect(constants.map(({ name, doc, exported }) => [name, doc, exported])).toEqual([
      ['FIRST', '', true],
      ['SECOND_MS', 'How long it `FIRST` takes. And why.', true],
      ['THIRD', '', false],
    ]);
    expect(constants.map(({ init }) => numberOf(init, constants))).toEqual([1, 12, undefined]);
  });

  it('has the doc comments of properties: of an object, a declaration, an interface', () => {
    const path = file(`/** About the file. */
export const CODES = { /** Gone. */ A: 1, 'b-c': 2 } as const satisfies object;
export const family = messages('family', { /** Hello. */ hello: message(1, {}) });
export interface Limits { /** Nodes. */ readonly maxNodes: number; readonly other: number }`);
    expect(propertiesOf(path, 'CODES')).toEqual([
      { name: 'A', doc: 'Gone.' },
      { name: 'b-c', doc: '' },
    ]);
    expect(propertiesOf(path, 'family')).toEqual([{ name: 'hello', doc: 'Hello.' }]);
    expect(propertiesOf(path, 'Limits')).toEqual([
      { name: 'maxNodes', doc: 'Nodes.' },
      { name: 'other', doc: '' },
    ]);
    expect(() => propertiesOf(path, 'Other')).toThrow('declares no object or interface Other');
  });
});

describe('the functions of a source file', () => {
  it('are found with their names and lines, those within others too', () => {
    const text = `export function outer(): void {
  const inner = () => {
    call(() => 1);
  };
}
class Both {
  method() {
    return { key: function () {} };
  }
  field = () => 2;
}
declare function nothing(): void;`;
    expect(functionsOf('source.ts', text).map(({ name, lines }) => [name, lines])).toEqual([
      ['outer', 5],
      ['inner', 3],
      ['anonymous', 1],
      ['method', 3],
      ['key', 1],
      ['field', 1],
    ]);
  });
});

describe('a cell of a generated table', () => {
  it('has the first sentence', () => {
    expect(firstSentence('One, i.e. this. Two.')).toBe('One, i.e. this.');
    expect(firstSentence('One `a.b`. @internal Two.')).toBe('One `a.b`.');
    expect(firstSentence('One and two')).toBe('One and two');
  });

  it('is refused when it is too long, and cannot end its cell', () => {
    expect(table(['a', 'b'], [['x|y', '']])).toBe('| a | b |\n|---|---|\n| x\\|y |  |');
    expect(() => table(['a'], [['x'.repeat(121)]])).toThrow('a cell of 121 characters');
  });
});

describe('the table of declared messages', () => {
  it('has a row for each field, with bound and meaning of its absence, and those of records within', () => {
    const integer = { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER } as const;
    const named = { kind: 'record', fields: { x: integer } } as const;
    const fields = {
      id: { kind: 'later', of: { kind: 'integer', min: 1, max: 9 }, absent: 0 },
      names: { kind: 'list', of: { kind: 'text', maxLength: 1_000 } },
      holders: { kind: 'list', of: { kind: 'record', fields: { token: integer } } },
      stat: named,
    } as const;
    const shapes = { none: { number: 1, fields: {} }, some: { number: 2, fields } };
    const rows = messagesTable(shapes, new Map([[named, '[stat](#stat)']]))
      .split('\n')
      .slice(2);
    expect(rows).toEqual([
      '| 1 `none` |  |  |  |  |',
      '| 2 `some` | `id` | integer | 1 to 9 | `0` |',
      '|  | `names` | list of text | at most 1,000 units |  |',
      '|  | `holders` | list |  |  |',
      '|  | `holders[].token` | integer |  |  |',
      '|  | `stat` | [stat](#stat) |  |  |',
    ]);
  });
});
