// The outside of lockctl without processes, servers or streams: what was written is kept, signals are sent by the test.

import type { ChildCommand, ChildCommandOptions, CommandEnd } from '../../src/child-command.ts';
import type { ConnectRequest, EnsembleClient, OperatorClient, OperatorRequest } from '../../src/ensemble-client.ts';
import type { Environment } from '../../src/environment.ts';

export class FakeChild implements ChildCommand {
  readonly options: ChildCommandOptions;
  readonly signals: NodeJS.Signals[] = [];
  readonly terminations: number[] = [];
  readonly ended: Promise<CommandEnd>;
  end: (end: CommandEnd) => void = () => undefined;

  constructor(options: ChildCommandOptions) {
    this.options = options;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.signals.push(signal);
  }

  terminate(graceMs: number): Promise<void> {
    this.terminations.push(graceMs);
    this.end({ exitCode: 143 });
    return Promise.resolve();
  }
}

export class FakeEnvironment implements Environment {
  readonly variables: Record<string, string | undefined> = { PATH: '/bin' };
  readonly label = 'lockctl test';
  readonly connections: (ConnectRequest | OperatorRequest)[] = [];
  readonly children: FakeChild[] = [];
  readonly requested: string[] = [];
  output = '';
  errors = '';
  bytes: Uint8Array[] = [];
  input = '';
  outputIsTerminal = false;
  errorsAreOnTerminal = false;
  client: (EnsembleClient & OperatorClient) | Error = new Error('this test has no ensemble');
  answers: Readonly<Record<string, Response | Error>> = {};
  onStart: (child: FakeChild) => void = () => undefined;
  readonly #listeners = new Set<(signal: NodeJS.Signals) => void>();

  writeOut(content: string | Uint8Array): void {
    if (typeof content === 'string') this.output += content;
    else this.bytes.push(content);
  }

  writeError(text: string): void {
    this.errors += text;
  }

  screens: string[] = [];

  clearScreen(): void {
    this.screens.push(this.output);
    this.output = '';
  }

  readonly files = new Map<string, string | Uint8Array>();

  readInput(): Promise<Uint8Array> {
    return Promise.resolve(new TextEncoder().encode(this.input));
  }

  readFile(path: string): Promise<Uint8Array> {
    const content = this.files.get(path);
    if (content === undefined) return Promise.reject(new Error(`ENOENT: no such file or directory, open '${path}'`));
    return Promise.resolve(typeof content === 'string' ? new TextEncoder().encode(content) : content);
  }

  nowMs(): number {
    return 1_000_000;
  }

  /** By so much time goes on whenever somebody asks. */
  tickMs = 0;
  #elapsedMs = 0;

  elapsedMs(): number {
    this.#elapsedMs += this.tickMs;
    return this.#elapsedMs;
  }

  fetch(url: string): Promise<Response> {
    this.requested.push(url);
    const answer = this.answers[new URL(url).host] ?? new Error('unexpected request');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  }

  connect(request: ConnectRequest): Promise<EnsembleClient> {
    this.connections.push(request);
    return this.client instanceof Error ? Promise.reject(this.client) : Promise.resolve(this.client);
  }

  connectOperator(request: OperatorRequest): Promise<OperatorClient> {
    this.connections.push(request);
    return this.client instanceof Error ? Promise.reject(this.client) : Promise.resolve(this.client);
  }

  startCommand(options: ChildCommandOptions): ChildCommand {
    const child = new FakeChild(options);
    this.children.push(child);
    this.onStart(child);
    return child;
  }

  onSignal(listener: (signal: NodeJS.Signals) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is to be called later, with its delay; a test calls it. */
  readonly timers = new Map<() => void, number>();

  after(delayMs: number, callback: () => void): () => void {
    this.timers.set(callback, delayMs);
    return () => this.timers.delete(callback);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  send(signal: NodeJS.Signals): void {
    for (const listener of this.#listeners) listener(signal);
  }
}
