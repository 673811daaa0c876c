/**
 * Runs a worker over a list of seeds until it finds a broken promise. Survives what a mutant may do to its process: a crash, or an
 * attempt that never ends, costs that seed and counts as an unexpected failure; a new process goes on behind it.
 */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import type { Failure } from './attempt.ts';
import { builtFile } from '../patches/product.ts';
import type { WorkerReport, WorkerRequest } from './worker-protocol.ts';

const BUILT_WORKER = fileURLToPath(builtFile('@holdfast/jepsen-lite', 'mutants/worker.js'));
const HEAP_MIB = 2_048;
const MAX_STDERR_CHARS = 2_000;
/** As many attempts in a row that end unexpectedly, with none that did not, and the mutant is nonsense. */
const MAX_UNEXPECTED = 10;

export interface Catch extends Failure {
  readonly seed: number;
}

export interface Hunt {
  /** The broken promise, if one was found. */
  readonly caught: Catch | undefined;
  /** Attempts made, the one that found it included. */
  readonly attempts: number;
  readonly simulatedMs: number;
  readonly wallMs: number;
  readonly unexpected: readonly Catch[];
  /** Why nothing can be said: the mutant does not fit the product, or makes a program of it that does not run. */
  readonly broken: string | undefined;
}

export interface HuntOptions {
  /** An attempt that takes longer is ended. @default 120_000 */
  readonly attemptLimitMs?: number;
  /** The program to run. @default the built worker of this package */
  readonly worker?: string;
}

export async function hunt(request: WorkerRequest, options: HuntOptions = {}): Promise<Hunt> {
  const tally = new Tally();
  const startedMs = performance.now();
  let seeds = request.seeds;
  while (seeds.length > 0 && !tally.over) {
    const next = await runWorker({ ...request, seeds }, options, tally);
    const position = next === undefined ? seeds.length : seeds.indexOf(next) + 1;
    seeds = seeds.slice(position);
  }
  return tally.result(performance.now() - startedMs);
}

class Tally {
  caught: Catch | undefined;
  broken: string | undefined;
  attempts = 0;
  simulatedMs = 0;
  readonly unexpected: Catch[] = [];

  get over(): boolean {
    return this.caught !== undefined || this.broken !== undefined;
  }

  attempt(seed: number, failure: Failure | undefined, simulatedMs: number): void {
    this.attempts += 1;
    this.simulatedMs += simulatedMs;
    if (failure?.kind === 'promise') this.caught = { ...failure, seed };
    else if (failure !== undefined) this.unexpected.push({ ...failure, seed });
    if (this.caught === undefined && this.attempts >= MAX_UNEXPECTED && this.unexpected.length === this.attempts) {
      this.broken = `every attempt ends unexpectedly, e.g. ${failure?.name}: ${failure?.message}`;
    }
  }

  result(wallMs: number): Hunt {
    const { caught, attempts, simulatedMs, unexpected, broken } = this;
    return { caught, attempts, simulatedMs, wallMs, unexpected, broken };
  }
}

/** Resolves with the seed at which the process ended before its time; undefined when it came to its end. */
function runWorker(request: WorkerRequest, options: HuntOptions, tally: Tally): Promise<number | undefined> {
  const { attemptLimitMs = 120_000, worker = BUILT_WORKER } = options;
  const args = [`--max-old-space-size=${HEAP_MIB}`, worker, JSON.stringify(request)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR_CHARS);
  });
  let current: number | undefined;
  let ended = false;
  let late = false;
  const limit = (): NodeJS.Timeout =>
    setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, attemptLimitMs);
  let timer = limit();
  const hear = (message: WorkerReport): void => {
    clearTimeout(timer);
    timer = limit();
    switch (message.type) {
      case 'begin':
        current = message.seed;
        return;
      case 'attempt':
        current = undefined;
        // What still comes when it has been given up.
        if (tally.over) return;
        tally.attempt(message.seed, message.failure, message.simulatedMs);
        if (tally.broken !== undefined) child.kill('SIGKILL');
        return;
      case 'broken':
        tally.broken = message.message;
        return;
      case 'end':
        ended = true;
        return;
    }
  };
  const lines = createInterface({ input: child.stdio[3] as Readable });
  lines.on('line', (line) => hear(JSON.parse(line) as WorkerReport));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (ended || tally.over) {
        resolve(undefined);
        return;
      }
      const how = late ? `took over ${attemptLimitMs} ms` : `ended its process (${signal ?? `exit code ${code}`})`;
      if (current === undefined) {
        tally.broken = `the worker ${late ? how : `ended (${signal ?? `exit code ${code}`})`} outside an attempt: ${stderr}`;
        resolve(undefined);
        return;
      }
      tally.attempt(current, { kind: 'unexpected', name: 'attempt-ended', message: `${how}; ${stderr}` }, 0);
      resolve(current);
    });
  });
}
