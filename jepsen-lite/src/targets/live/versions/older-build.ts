/**
 * What a server of the older version runs: an earlier release, where one is given, or this build without its last state version. Before the
 * first release formats may change between commits without a word, so no earlier commit is a version before.
 */

import { mkdirSync, statSync } from 'node:fs';
import { programEntry } from '@holdfast/ensemble';
import { LATEST_STATE_VERSION } from '@holdfast/state';
import { Planted } from '../../../patches/planted.ts';
import { editsByUrl } from '../../../patches/product.ts';
import { OLDER_PATCHES } from './older-patches.ts';

/** There is no program where a scenario has its older one. */
export class OlderBuildError extends Error {
  constructor(main: string) {
    super(`there is no older lockd at ${main}: build that release there, its main file is meant`);
    this.name = 'OlderBuildError';
  }
}

export interface OlderBuild {
  readonly entry: string;
  /** Beside that of other programs. */
  readonly environment: NodeJS.ProcessEnv;
  /** The highest that it knows, where that is known. */
  readonly stateVersion: number | undefined;
  /** What makes it older, and was never loaded. */
  missing(): readonly string[];
}

/** @throws OlderBuildError */
export function requireOlderBuild(main: string | undefined): void {
  if (main !== undefined && statSync(main, { throwIfNoEntry: false })?.isFile() !== true)
    throw new OlderBuildError(main);
}

/**
 * @param main the built main file of a release
 * @param directory takes notes of what was loaded
 */
export function olderBuild(main: string | undefined, directory: string): OlderBuild {
  if (main !== undefined) return { entry: main, environment: {}, stateVersion: undefined, missing: () => [] };
  mkdirSync(directory, { recursive: true });
  const planted = new Planted(editsByUrl({ patches: OLDER_PATCHES }), directory);
  return {
    entry: programEntry('lockd'),
    environment: planted.environment,
    stateVersion: LATEST_STATE_VERSION - 1,
    missing: () => planted.missing(),
  };
}
