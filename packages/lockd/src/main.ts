#!/usr/bin/env node
/** The lockd process: arguments, signals, logging and exit codes around one LockServer. */

import { readFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { ExpelledError, serverId } from '@holdfast/raft';
import { silentLogger, type Runtime } from '@holdfast/runtime';
import { BoundedFile, connectionRoom, descriptorLimit, nodeClock, nodeRuntime } from '@holdfast/runtime/node';
import { destination, pino, type Logger } from 'pino';
import { UsageError, parseArguments, type ParsedArguments, type ServerConfig } from './settings/config.ts';
import { exitAdvice } from './exit-advice.ts';
import { ExitCode, exitCodeOf } from './exit-code.ts';
import { formatDataReport, inspectDataDirectory } from './offline/inspect.ts';
import { createMetrics } from './http/metrics.ts';
import { MAX_CONNECTIONS, MIN_CONNECTIONS, RESERVED_DESCRIPTORS } from './limits.ts';
import { liftVoteBanOffline } from './offline/lift-vote-ban.ts';
import type { OfflineCommand, OfflineCommandOf } from './offline/offline-commands.ts';
import { raftTraceHeader, RaftTrace, RAFT_TRACE_FILE_BYTES } from './raft-trace.ts';
import { formatRecovery, recover } from './offline/recover.ts';
import { LockServer, type LockServerHooks } from './server.ts';

const STDOUT = 1;
const STDERR = 2;

const CONNECTION_WISH = {
  wanted: MAX_CONNECTIONS,
  least: MIN_CONNECTIONS,
  reserved: RESERVED_DESCRIPTORS,
  reservedFor: 'files and other servers',
};

function main(): void {
  let parsed: ParsedArguments;
  try {
    parsed = parseArguments({
      arguments: process.argv.slice(2),
      environment: process.env,
      readFile: (path) => readFileSync(path, 'utf8'),
    });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    writeSync(STDERR, `lockd: ${error.message}\n`);
    process.exitCode = ExitCode.usage;
    return;
  }
  switch (parsed.type) {
    case 'print':
      writeSync(STDOUT, parsed.text);
      return;
    case 'serve':
      void serve(parsed.config);
      return;
    case 'inspect':
    case 'lift-vote-ban':
    case 'recover':
      void runOffline(parsed);
      return;
  }
}

async function runOffline(command: OfflineCommand): Promise<void> {
  try {
    const runtime = nodeRuntime({ logger: silentLogger });
    switch (command.type) {
      case 'inspect':
        await inspect(command, runtime);
        return;
      case 'lift-vote-ban':
        writeSync(STDOUT, await liftVoteBanOffline(command, runtime));
        return;
      case 'recover':
        writeSync(STDOUT, formatRecovery(await recover(command, runtime)));
        return;
    }
  } catch (error) {
    writeSync(STDERR, `lockd ${command.type}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

async function inspect({ data, json }: OfflineCommandOf<'inspect'>, { disk }: Runtime): Promise<void> {
  const report = await inspectDataDirectory(data, disk);
  writeSync(STDOUT, json ? `${JSON.stringify(report)}\n` : formatDataReport(report));
  if (report.damage !== undefined) process.exitCode = ExitCode.damagedData;
}

async function serve(config: ServerConfig): Promise<void> {
  // Synchronous: the last lines before an exit are those that matter, and there are few.
  const logger = pino({ level: config.logLevel, base: { server: config.id } }, destination({ fd: STDERR, sync: true }));
  const exitOn = (error: unknown): void => {
    const code = exitCodeOf(error);
    const reason = error instanceof Error ? error.message : String(error);
    logger.fatal({ err: error, exitCode: code }, `lockd stops: ${reason}${exitAdvice(error, config.data)}`);
    process.exit(code);
  };
  process.on('uncaughtException', exitOn);
  process.on('unhandledRejection', exitOn);

  let server: LockServer | undefined;
  let signalled = false;
  const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
    if (signalled) process.exit(128 + constants.signals[signal]);
    signalled = true;
    // Before it serves there is nothing to transfer, and an interrupted start is like a crash.
    if (server === undefined) process.exit(ExitCode.clean);
    logger.info({ signal }, 'stopping; a second signal exits at once');
    server.stop().then(() => process.exit(ExitCode.clean), exitOn);
  };
  const onRemoved = (): void => {
    if (signalled) return;
    signalled = true;
    const ended = (): void => exitOn(new ExpelledError('MEMBER_REMOVED', serverId(config.id)));
    if (server === undefined) ended();
    else server.stop().then(ended, exitOn);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  try {
    const trace = config.traceRaft === undefined ? undefined : openTrace(config.traceRaft, config.id, logger);
    const waitsToBeAdded = (command: string): void =>
      void writeSync(STDOUT, `lockd ${config.id} waits to be added: ${command}\n`);
    server = await startServer(config, logger, {
      fatal: exitOn,
      removed: () => onRemoved(),
      waitsToBeAdded,
      ...trace,
    });
  } catch (error) {
    exitOn(error);
    return;
  }
  writeSync(STDOUT, `lockd ${config.id} serves clients at ${server.clientAddress}, peers at ${server.peerAddress}\n`);
}

/** @throws UsageError */
function openTrace(path: string, server: number, logger: Logger): Pick<LockServerHooks, 'observer'> {
  const clock = nodeClock();
  try {
    const header = (): string => raftTraceHeader(server, clock);
    const file = new BoundedFile({ path, maxBytes: RAFT_TRACE_FILE_BYTES, header });
    const trace = new RaftTrace(file, { clock, logger });
    // However it ends: the last steps are those that matter.
    process.on('exit', () => trace.close());
    return { observer: trace };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--trace-raft ${path} cannot be written: ${reason}`, { cause: error });
  }
}

/** @throws UsageError */
function startServer(config: ServerConfig, logger: Logger, hooks: LockServerHooks): Promise<LockServer> {
  const { id, clusterId, client, peer, advertiseClient, advertisePeer, allowHosts, data, members, join } = config;
  const { heartbeatMs, electionTimeoutMs } = config;
  const { snapshotLogBytes, snapshotTrailingBytes, snapshotBytesPerSecond } = config;
  const { maxConnectionsPerAddress, maxSessionsPerAddress, containerCheckMs, watchHistoryBytes } = config;
  const room = connectionRoom(CONNECTION_WISH, descriptorLimit());
  if (room.type === 'no-room') throw new UsageError(room.problem);
  const { maxConnections, warning } = room;
  if (warning !== undefined) logger.warn({ maxConnections }, warning);
  return LockServer.start(
    {
      id,
      clusterId,
      clientListen: client,
      peerListen: peer,
      advertiseClient,
      advertisePeer,
      allowHosts,
      dataDirectory: data,
      members,
      join,
      heartbeatMs,
      electionTimeoutMs,
      processMetrics: true,
      maxConnections,
      maxConnectionsPerAddress,
      maxSessionsPerAddress,
      containerCheckMs,
      watchHistoryBytes,
      snapshots: { snapshotLogBytes, snapshotTrailingBytes, snapshotBytesPerSecond },
    },
    nodeRuntime({ logger }),
    { ...hooks, metrics: createMetrics },
  );
}

main();
