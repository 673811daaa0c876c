/**
 * Hosts of a test on one machine: network namespaces around one that routes between them and drops what is to be cut, as a switch does
 * that fails: nobody is told. Linux, root, `nsenter` and `ip` of iproute2 are needed.
 */

import { spawnSync } from 'node:child_process';

/** Addresses are 10.78.HOST.2; nothing of it is seen outside the namespaces. */
const NETWORK = '10.78';
const CUT_PRIORITY = '100';

export class Namespaces {
  readonly #prefix = `hf${process.pid}`;
  readonly #hosts: readonly number[];
  #cuts: string[][] = [];

  /** `undefined`, or why this machine cannot have them. */
  static missing(): string | undefined {
    const name = `hf${process.pid}-try`;
    const { error, status, stderr } = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
    if (error !== undefined) return 'ip (iproute2) is not installed';
    if (status !== 0) return `ip netns add: ${stderr.trim()}`;
    ip('netns', 'del', name);
    return undefined;
  }

  /** Hosts 1 to `count`, and the router between them. */
  constructor(count: number) {
    this.#hosts = Array.from({ length: count }, (_, n) => n + 1);
    const { router } = this;
    ip('netns', 'add', router);
    ip('-n', router, 'link', 'set', 'lo', 'up');
    for (const host of this.#hosts) {
      const name = this.#name(host);
      ip('netns', 'add', name);
      ip('-n', name, 'link', 'set', 'lo', 'up');
      ip('-n', router, 'link', 'add', `v${host}`, 'type', 'veth', 'peer', 'name', 'e0', 'netns', name);
      ip('-n', router, 'addr', 'add', `${NETWORK}.${host}.1/24`, 'dev', `v${host}`);
      ip('-n', router, 'link', 'set', `v${host}`, 'up');
      ip('-n', name, 'addr', 'add', `${this.address(host)}/24`, 'dev', 'e0');
      ip('-n', name, 'link', 'set', 'e0', 'up');
      ip('-n', name, 'route', 'add', 'default', 'via', `${NETWORK}.${host}.1`);
    }
    const [nsenter = '', ...network] = this.inside(0);
    run(nsenter, ...network, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  }

  get router(): string {
    return `${this.#prefix}-r`;
  }

  address(host: number): string {
    return `${NETWORK}.${host}.2`;
  }

  /**
   * What to put before a command that is to run on a host; 0: on the router, whom no cut concerns. Not `ip netns exec`: with that each
   * program would have copies of all mounts, and a disk whose power another test has cut could not be mounted anew while it runs.
   */
  inside(host: number): string[] {
    return ['nsenter', `--net=/run/netns/${host === 0 ? this.router : this.#name(host)}`, '--'];
  }

  /** Drops everything between that host and all others, both ways. */
  isolate(host: number): void {
    for (const other of this.#hosts) {
      if (other === host) continue;
      this.#cut(host, other);
      this.#cut(other, host);
    }
  }

  heal(): void {
    for (const rule of this.#cuts.splice(0)) ip('-n', this.router, 'rule', 'del', ...rule);
  }

  remove(): void {
    for (const name of [this.router, ...this.#hosts.map((host) => this.#name(host))]) {
      spawnSync('ip', ['netns', 'del', name]);
    }
  }

  #cut(from: number, to: number): void {
    const rule = ['iif', `v${from}`, 'to', `${NETWORK}.${to}.0/24`, 'prio', CUT_PRIORITY];
    if (this.#cuts.some((each) => each.join() === rule.join())) return;
    ip('-n', this.router, 'rule', 'add', ...rule.slice(0, 4), 'blackhole', ...rule.slice(4));
    this.#cuts.push(rule);
  }

  #name(host: number): string {
    return `${this.#prefix}-${host}`;
  }
}

function ip(...args: string[]): void {
  run('ip', ...args);
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr.trim()}`);
}
