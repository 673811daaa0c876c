import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Canaries, UNSYNCED } from '../../../src/targets/live/disks/canaries.ts';
import { VolumeError } from '../../../src/targets/live/disks/volume.ts';

let root: string;
let canaries: Canaries;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'canaries-'));
  canaries = new Canaries(join(root, 'canaries'));
  canaries.lay();
});

afterEach(() => rmSync(root, { recursive: true }));

const path = (name: string): string => join(canaries.directory, name);

describe('what became of the files beside the data', () => {
  it('is the loss of a change and of a name when both are as they were laid', () => {
    expect(canaries.lost()).toEqual(['unsynced-change-lost', 'unsynced-name-lost']);
  });

  it('is no loss when the appended bytes and the new name are there', () => {
    appendFileSync(path('log'), UNSYNCED);
    renameSync(path('old-name'), path('new-name'));
    expect(canaries.lost()).toEqual([]);
  });

  it('is the loss of a change when only the length of what was appended is there', () => {
    appendFileSync(path('log'), '\0'.repeat(UNSYNCED.length));
    renameSync(path('old-name'), path('new-name'));
    expect(canaries.lost()).toEqual(['unsynced-change-lost']);
  });

  it('is an error when what was synced is gone', () => {
    writeFileSync(path('log'), '');
    expect(() => canaries.lost()).toThrow(VolumeError);
  });
});
