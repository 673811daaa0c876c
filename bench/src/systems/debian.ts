/**
 * The peers come from Debian's packages, so that everybody measures the same builds. Installing them must start nothing: a service
 * beside the benchmark would hold ports and take processor time.
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, unlinkSync, writeFileSync } from 'node:fs';

import type { SystemName } from '../generator/systems.ts';
import { etcd } from './etcd.ts';
import { redis } from './redis.ts';
import type { SystemUnderTest } from './system.ts';
import { zooKeeper } from './zookeeper.ts';

export type PeerName = Exclude<SystemName, 'holdfast'>;

/** Without a policy the packages start their services on installation; exit status 101 forbids it. */
const POLICY = '/usr/sbin/policy-rc.d';
const FORBIDDEN = 101;

interface Peer {
  /** The server first; then what its native generator needs. */
  readonly packages: readonly string[];
  readonly system: (version: string) => SystemUnderTest;
}

const PEERS: Readonly<Record<PeerName, Peer>> = {
  zookeeper: { packages: ['zookeeper', 'default-jdk-headless'], system: zooKeeper },
  etcd: { packages: ['etcd-server', 'golang-go', 'golang-etcd-server-dev'], system: etcd },
  redis: { packages: ['redis-server'], system: redis },
};

export const PEER_NAMES = Object.keys(PEERS) as PeerName[];

/** Installs what is missing. @throws Error that says what to do when it cannot. */
export function installPeer(name: PeerName, report: (line: string) => void): SystemUnderTest {
  const { packages, system } = PEERS[name];
  const missing = packages.filter((debianPackage) => installedVersion(debianPackage) === undefined);
  if (missing.length > 0) install(name, missing, report);
  return system(`${installedVersion(packages[0] ?? '')} (Debian)`);
}

function install(name: PeerName, packages: readonly string[], report: (line: string) => void): void {
  const command = `apt-get install --no-install-recommends ${packages.join(' ')}`;
  if (process.platform !== 'linux' || spawnSync('apt-get', ['--version']).error !== undefined) {
    throw new Error(`${name} is installed with apt-get, which this machine does not have; run the benchmark on Debian`);
  }
  if (process.getuid?.() !== 0) {
    throw new Error(`${name} is not installed and only root can install it; run: sudo ${command}`);
  }
  report(`installing ${packages.join(', ')}`);
  const temporaryPolicy = forbidServices(command);
  try {
    run(['update', '-qq']);
    run(['install', '-y', '-qq', '--no-install-recommends', ...packages]);
  } finally {
    if (temporaryPolicy) unlinkSync(POLICY);
  }
}

/** True when a policy was put there for the time of the installation. @throws Error when the one that is there allows services. */
function forbidServices(command: string): boolean {
  if (existsSync(POLICY)) {
    if (spawnSync(POLICY, ['bench-probe', 'start']).status === FORBIDDEN) return false;
    throw new Error(`${POLICY} lets packages start services; install the peers yourself and stop them: ${command}`);
  }
  writeFileSync(POLICY, `#!/bin/sh\nexit ${FORBIDDEN}\n`);
  chmodSync(POLICY, 0o755);
  return true;
}

function run(args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync('apt-get', args, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} failed: ${(stderr || stdout).trim().slice(-2_000)}`);
}

function installedVersion(debianPackage: string): string | undefined {
  const format = '${db:Status-Status} ${Version}';
  const { status, stdout } = spawnSync('dpkg-query', ['-W', `-f=${format}`, debianPackage], { encoding: 'utf8' });
  return status === 0 && stdout.startsWith('installed ') ? stdout.slice('installed '.length) : undefined;
}
