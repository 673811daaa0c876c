import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoundedFile } from '../../src/node/index.ts';

const HEADER = 'header';
let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bounded-file-'));
  path = join(directory, 'lines');
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function open(maxBytes: number): BoundedFile {
  return new BoundedFile({ path, maxBytes, header: () => HEADER });
}

function lines(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text.slice(0, -1).split('\n');
}

describe('a file that is bounded', () => {
  it('holds its header and the lines in order once they are flushed', () => {
    const file = open(1_000);
    file.write('one');
    file.write('zwölf');
    file.flush();
    expect(lines(path)).toEqual([HEADER, 'one', 'zwölf']);
  });

  it('keeps the newest lines in two files that are no larger than the limit', () => {
    const file = open(100);
    const written = Array.from({ length: 50 }, (_, n) => `line ${n}`);
    for (const line of written) file.write(line);
    file.flush();
    expect(readdirSync(directory)).toEqual(['lines', 'lines.1']);
    for (const name of [path, `${path}.1`]) {
      expect(statSync(name).size).toBeLessThanOrEqual(100);
      expect(lines(name)[0]).toBe(HEADER);
    }
    const kept = [...lines(`${path}.1`).slice(1), ...lines(path).slice(1)];
    expect(kept).toEqual(written.slice(-kept.length));
    expect(lines(`${path}.1`).length).toBeGreaterThan(10);
  });

  it('gives a line that is longer than the limit a file of its own', () => {
    const file = open(50);
    file.write('short');
    const long = 'x'.repeat(200_000);
    file.write(long);
    file.write('after');
    file.flush();
    expect(lines(`${path}.1`)).toEqual([HEADER, long]);
    expect(lines(path)).toEqual([HEADER, 'after']);
  });

  it('keeps what an earlier run left', () => {
    writeFileSync(path, 'of before\n');
    const file = open(1_000);
    file.write('of now');
    file.flush();
    expect(lines(`${path}.1`)).toEqual(['of before']);
    expect(lines(path)).toEqual([HEADER, 'of now']);
  });

  it('says at once that it cannot be made', () => {
    path = join(directory, 'missing', 'lines');
    expect(() => open(1_000)).toThrow(/ENOENT/);
  });
});
