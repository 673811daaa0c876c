/** What the command line touches outside itself: streams, environment, signals, the clock, HTTP, the SDK and child processes. */

import type { ChildCommand, ChildCommandOptions } from './child-command.ts';
import type { ConnectRequest, EnsembleClient, OperatorClient, OperatorRequest } from './ensemble-client.ts';

export interface Environment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** What operators see beside the session of this run. */
  readonly label: string;
  /** Standard output is read by a person, not by a program. */
  readonly outputIsTerminal: boolean;
  /** And so is standard error. */
  readonly errorsAreOnTerminal: boolean;
  writeOut(content: string | Uint8Array): void;
  writeError(text: string): void;
  /** Begins the screen anew, where standard output is a terminal. */
  clearScreen(): void;
  /** All of standard input. */
  readInput(): Promise<Uint8Array>;
  /** All of a file. */
  readFile(path: string): Promise<Uint8Array>;
  nowMs(): number;
  /** By a clock that nobody sets. */
  elapsedMs(): number;
  fetch(url: string, options: { readonly signal: AbortSignal }): Promise<Response>;
  connect(request: ConnectRequest): Promise<EnsembleClient>;
  connectOperator(request: OperatorRequest): Promise<OperatorClient>;
  startCommand(options: ChildCommandOptions): ChildCommand;
  /** Calls `listener` for SIGINT, SIGTERM, SIGHUP and SIGTSTP from now on, until the returned function is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** Calls `callback` once, after so long, unless the returned function was called. */
  after(delayMs: number, callback: () => void): () => void;
}
