/** Every system under test, started on a stage of its own directories; logs stay, data goes when the stage is cleared. */

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import type { SystemName } from '../generator/systems.ts';
import type { RunningSystem, SystemUnderTest } from '../systems/system.ts';

export class Stage {
  readonly systems: ReadonlyMap<SystemName, RunningSystem>;
  readonly #directories: readonly string[];

  private constructor(systems: ReadonlyMap<SystemName, RunningSystem>, directories: readonly string[]) {
    this.systems = systems;
    this.#directories = directories;
  }

  /** @param directory new, for this stage alone */
  static async start(directory: string, candidates: readonly SystemUnderTest[]): Promise<Stage> {
    const systems = new Map<SystemName, RunningSystem>();
    const directories: string[] = [];
    try {
      for (const candidate of candidates) {
        const home = join(directory, candidate.name);
        mkdirSync(home, { recursive: true });
        directories.push(home);
        systems.set(candidate.name, await candidate.start(home));
      }
    } catch (error) {
      await Promise.all([...systems.values()].map((system) => system.stop()));
      throw error;
    }
    return new Stage(systems, directories);
  }

  pids(): number[] {
    return [...this.systems.values()].flatMap((system) => system.pids());
  }

  async clear(): Promise<void> {
    await Promise.all([...this.systems.values()].map((system) => system.stop()));
    for (const directory of this.#directories) {
      for (const name of readdirSync(directory)) {
        if (!name.endsWith('.log') && name !== 'logs') rmSync(join(directory, name), { recursive: true, force: true });
      }
    }
  }
}
