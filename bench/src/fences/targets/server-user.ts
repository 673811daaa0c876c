/** A database of Debian's for one measurement: data that its own user has, since servers of databases refuse to run as root. */

import { execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class ServerUser {
  /** Of the server alone. */
  readonly directory: string;
  readonly #user: string | undefined;

  constructor(user: string) {
    this.directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-fences-'));
    this.#user = process.getuid?.() === 0 ? user : undefined;
    const { uid, gid } = this.#ids();
    if (uid !== undefined && gid !== undefined) chownSync(this.directory, uid, gid);
  }

  /** Goes before the command of a server. */
  get inside(): readonly string[] {
    if (this.#user === undefined) return [];
    // What was set before is lost with the user.
    const user = [`--reuid=${this.#user}`, `--regid=${this.#user}`, '--clear-groups'];
    return ['setpriv', ...user, '--pdeathsig', 'KILL', '--'];
  }

  /** A program that prepares the data, to its end. */
  run(program: string, args: readonly string[]): void {
    execFileSync(program, args, { ...this.#ids(), cwd: this.directory, stdio: 'pipe' });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #ids(): { readonly uid?: number; readonly gid?: number } {
    const user = this.#user;
    if (user === undefined) return {};
    const id = (flag: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
    return { uid: id('-u'), gid: id('-g') };
  }
}
