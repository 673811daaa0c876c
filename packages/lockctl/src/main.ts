#!/usr/bin/env node
/** The lockctl program: its command line, run in the real world. */

import { readFile } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { buffer } from 'node:stream/consumers';

import { connect, connectOperator } from '@holdfast/client';

import { startChildCommand } from './child-command.ts';
import type { Environment } from './environment.ts';
import { runLockctl } from './program.ts';

/** Where nobody leads, a session that is not closed by then ends by its timeout. */
const CLOSE_TIMEOUT_MS = 2_000;
const RELAYED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGTSTP'] as const;

const outside: Environment = {
  variables: process.env,
  label: `lockctl ${userName()}@${hostname()}:${process.pid}`,
  outputIsTerminal: process.stdout.isTTY === true,
  errorsAreOnTerminal: process.stderr.isTTY === true,
  writeOut: (content) => void process.stdout.write(content),
  writeError: (text) => void process.stderr.write(text),
  clearScreen() {
    if (process.stdout.isTTY) process.stdout.write('\u001B[H\u001B[2J');
  },
  readInput: () => buffer(process.stdin),
  readFile: (path) => readFile(path),
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  fetch: (url, options) => fetch(url, options),
  connect: ({ servers, connectTimeoutMs, timeoutMs, sessionTimeoutMs, label }) =>
    connect({
      servers,
      label,
      connectTimeoutMs,
      requestTimeoutMs: timeoutMs,
      closeTimeoutMs: CLOSE_TIMEOUT_MS,
      ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }),
    }),
  connectOperator: ({ servers, timeoutMs, label, stale }) =>
    connectOperator({
      servers,
      label,
      stale,
      connectTimeoutMs: timeoutMs,
      requestTimeoutMs: timeoutMs,
      closeTimeoutMs: CLOSE_TIMEOUT_MS,
    }),
  startCommand: startChildCommand,
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  onSignal(listener) {
    for (const signal of RELAYED_SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of RELAYED_SIGNALS) process.off(signal, listener);
    };
  },
};

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user that has no name.
    return String(process.getuid?.() ?? '');
  }
}

// A reader that has had enough (`lockctl locks | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

process.exitCode = await runLockctl(process.argv.slice(2), outside);
