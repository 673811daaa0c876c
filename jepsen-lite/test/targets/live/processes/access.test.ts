import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openToOthers } from '../../../../src/targets/live/processes/access.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'access-'));
  mkdirSync(join(directory, 'group-0'), { mode: 0o700 });
  writeFileSync(join(directory, 'group-0', 'log'), 'a', { mode: 0o600 });
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('what a program has stored', () => {
  it('is private when nobody else has a right to any of it', () => {
    expect(openToOthers(directory)).toEqual([]);
  });

  it('is open where a file or a directory lets anybody else read, write or enter', () => {
    chmodSync(join(directory, 'group-0', 'log'), 0o640);
    expect(openToOthers(directory)).toEqual([join(directory, 'group-0', 'log')]);
    chmodSync(join(directory, 'group-0'), 0o701);
    chmodSync(directory, 0o702);
    expect(openToOthers(directory)).toHaveLength(3);
  });
});
