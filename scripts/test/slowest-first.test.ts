import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SLOW_FILES } from '../runner/slowest-first.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('the slow test files', () => {
  it('are there, each once', () => {
    expect(SLOW_FILES.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
    expect(new Set(SLOW_FILES).size).toBe(SLOW_FILES.length);
  });
});
