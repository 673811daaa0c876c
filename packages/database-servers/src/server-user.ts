/** The directory of a server, and the user that has it: most servers of databases refuse to run as root. */

import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class ServerUser {
  /** Of the server alone. */
  readonly directory: string;
  /** For `spawn`; empty where this process is not root, or the server needs no user of its own. */
  readonly ids: { readonly uid?: number; readonly gid?: number };
  readonly #name: string | undefined;

  /** @param name of the user that the server's package has made; undefined: the server runs as whoever starts it */
  constructor(name?: string) {
    this.#name = process.getuid?.() === 0 ? name : undefined;
    this.ids = idsOf(this.#name);
    this.directory = mkdtempSync(join(tmpdir(), 'holdfast-database-'));
    const { uid, gid } = this.ids;
    if (uid !== undefined && gid !== undefined) chownSync(this.directory, uid, gid);
  }

  /** Goes before the command of a server that is started by `setpriv`, and dies with who started it. */
  get inside(): readonly string[] {
    if (this.#name === undefined) return [];
    // What was set before is lost with the user.
    const user = [`--reuid=${this.#name}`, `--regid=${this.#name}`, '--clear-groups'];
    return ['setpriv', ...user, '--pdeathsig', 'KILL', '--'];
  }

  /** Runs a program that prepares the data, to its end. @throws Error with what it said when it fails */
  run(program: string, args: readonly string[]): void {
    execFileSync(program, args, { ...this.ids, cwd: this.directory, stdio: 'pipe' });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function idsOf(user: string | undefined): { readonly uid?: number; readonly gid?: number } {
  if (user === undefined) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
