/** A process of clients of a measurement: it is given one order after the other, and answers each with one report. */

import { fork, type ChildProcess, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export class ClientProcess<Order extends Serializable, Report> {
  readonly #child: ChildProcess;

  /** @param entry the built program, as it lies beside who starts it */
  constructor(entry: URL) {
    this.#child = fork(fileURLToPath(entry), { execArgv: ['--enable-source-maps'] });
  }

  /** Rejects when the process ends first; what it had to say is on standard error. */
  async ask(order: Order): Promise<Report> {
    return await new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('a process of clients ended; see its output above'));
      this.#child.once('exit', ended);
      this.#child.once('message', (message) => {
        this.#child.off('exit', ended);
        resolve(message as Report);
      });
      this.#child.send(order);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  /** It ends by itself when nobody listens to it. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.disconnect();
    await exit;
  }
}

/** The other side: every order is obeyed by `obey`, whose failure ends the process. */
export function obeyOrders<Order>(obey: (order: Order) => Promise<Serializable>): void {
  process.on('message', (order) => {
    obey(order as Order).then((report) => process.send?.(report), endWith);
  });
  process.on('disconnect', () => process.exit(0));
}

export function endWith(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}
