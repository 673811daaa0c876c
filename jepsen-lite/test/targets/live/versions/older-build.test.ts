import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../../../src/campaigns/live/execute.ts';
import { applyEdits } from '../../../../src/patches/patch.ts';
import { builtFile } from '../../../../src/patches/product.ts';
import { drawLiveScenario } from '../../../../src/scenario/draw/live.ts';
import { olderBuild, OlderBuildError, requireOlderBuild } from '../../../../src/targets/live/versions/older-build.ts';
import { OLDER_PATCHES } from '../../../../src/targets/live/versions/older-patches.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-older-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

// "pnpm check" builds before it tests; after a change of the product by hand, build first.
describe('the older version', () => {
  it('is this build with changes that still fit it', () => {
    for (const { module, file, edits } of OLDER_PATCHES) {
      const changed = applyEdits(readFileSync(builtFile(module, file), 'utf8'), edits, file);
      expect(changed).not.toMatch(
        new RegExp(`LATEST_STATE_VERSION = ${LATEST_STATE_VERSION}|stateVersion${LATEST_STATE_VERSION}:`),
      );
    }
    expect(olderBuild(undefined, join(directory, 'notes')).stateVersion).toBe(LATEST_STATE_VERSION - 1);
  });

  it('says what of it no server has loaded', () => {
    const files = OLDER_PATCHES.map(({ module, file }) => builtFile(module, file).href);
    expect(olderBuild(undefined, join(directory, 'notes')).missing()).toEqual(files);
  });

  it('is a release where one is given: its main file as it is', () => {
    const main = join(directory, 'main.js');
    writeFileSync(main, '');
    expect(() => requireOlderBuild(main)).not.toThrow();
    expect(olderBuild(main, directory)).toMatchObject({ entry: main, environment: {}, stateVersion: undefined });
  });

  it('is missed by a run before it begins when its file is gone', async () => {
    const main = join(directory, 'gone', 'main.js');
    expect(() => requireOlderBuild(directory)).toThrow(OlderBuildError);
    const options = {
      seed: 1,
      servers: 3,
      durationMs: 15_000,
      nemeses: ['rolling-upgrade'],
      olderLockd: main,
    } as const;
    const run = execute(drawLiveScenario(options), { target: 'live', directory: join(directory, 'run') });
    await expect(run).rejects.toThrow(`there is no older lockd at ${main}: `);
  });
});
