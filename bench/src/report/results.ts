/**
 * The figures of a run, kept in the file of `--json` as they come: whatever ends the run early, the windows that were measured are
 * there, with the verdicts as they stand.
 */

import { renameSync, writeFileSync } from 'node:fs';

import type { ResultRow } from './result-row.ts';
import { withVerdicts } from './verdicts.ts';

export class Results {
  readonly #file: string | undefined;
  readonly #rows: ResultRow[] = [];

  /** @param file undefined when nobody wants one */
  constructor(file: string | undefined) {
    this.#file = file;
  }

  /** With verdicts. */
  get rows(): readonly ResultRow[] {
    return withVerdicts(this.#rows);
  }

  get length(): number {
    return this.#rows.length;
  }

  /** Takes the place of what was known of the same work, system and route. */
  put(row: ResultRow): void {
    const { work, system, route } = row;
    const known = this.#rows.findIndex((it) => it.work === work && it.system === system && it.route === route);
    if (known === -1) this.#rows.push(row);
    else this.#rows[known] = row;
    this.#write();
  }

  /** As a whole or not at all, so that the end of this process leaves a file that can be read. */
  #write(): void {
    if (this.#file === undefined) return;
    const temporary = `${this.#file}.tmp`;
    writeFileSync(temporary, `${JSON.stringify(this.rows, undefined, 1)}\n`);
    renameSync(temporary, this.#file);
  }
}
