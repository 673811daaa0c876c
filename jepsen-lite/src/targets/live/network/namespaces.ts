/**
 * Each host in a network namespace of its own, all at one bridge, whose namespace is the switch. The switch drops what is cut, one way or
 * both, in one atomic step; a host resets connections by refusing what arrives on them. Linux, root, `ip` and `nft` are needed. Names
 * carry the process id of the harness, so that runs don't meet, and what a harness left that has died is found by it.
 */

import type { Effect } from '../../../nemeses/target.ts';
import { CommandError, run, runAside } from './commands.ts';
import type { LinkFaults, LiveNetwork, Pair } from './live-network.ts';

/** Of the harness, which sees every host, whatever is cut. */
const HARNESS_NUMBER = 254;
/** Within which both ends of a busy connection have heard from each other. */
const RESET_MS = 400;
const PER_MILLE = 1_000;

const SWITCH_RULES = `
table bridge faults {
  set cuts { type ipv4_addr . ipv4_addr; counter; }
  counter dropped { }
  chain losses { }
  chain links {
    type filter hook prerouting priority 0; policy accept;
    ip saddr . ip daddr @cuts drop
    jump losses
  }
}
`;
const HOST_RULES = `
table ip faults {
  set resets { type ipv4_addr; counter; }
  set refused { type ipv4_addr; counter; }
  set hanging { type ipv4_addr; counter; }
  counter lost { }
  chain loss { }
  chain arriving {
    type filter hook input priority 0; policy accept;
    tcp flags & (syn|rst) == 0 ip saddr @resets reject with tcp reset
    tcp flags & (syn|ack) == syn ip saddr @refused reject with tcp reset
    tcp flags & (syn|ack) == syn ip saddr @hanging drop
    jump loss
  }
}
`;

type DialMode = 'normal' | (typeof DIALS)[number];
/** Names of sets, too. */
const DIALS = ['refused', 'hanging'] as const;

/** Why this machine cannot have them; undefined when it can. */
export function namespacesMissing(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are Linux only';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const name = `hf-${process.pid}-try`;
  try {
    run('nft', ['--version']);
    run('nsenter', ['--version']);
    run('ip', ['netns', 'add', name]);
  } catch (error) {
    return (error as Error).message;
  }
  try {
    inNamespace(name, ['nft', '-f', '-'], SWITCH_RULES + HOST_RULES);
    return undefined;
  } catch (error) {
    return `nft refuses the rules: ${(error as Error).message}`;
  } finally {
    run('ip', ['netns', 'del', name]);
  }
}

/** What harnesses have left behind that were killed. */
function removeLeftovers(): void {
  const dead = new Set<string>();
  for (const line of run('ip', ['netns', 'list']).split('\n')) {
    const [name = ''] = line.split(' ');
    const pid = /^hf-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || runs(Number(pid))) continue;
    attempt(() => run('ip', ['netns', 'del', name]));
    dead.add(pid);
  }
  for (const pid of dead) attempt(() => run('ip', ['link', 'del', harnessLink(Number(pid))]));
}

/**
 * What to put before a command that is to run in that namespace. Not `ip netns exec`: with that each program would have copies of all
 * mounts, and a disk of another could be neither unmounted nor, after its power was cut, mounted anew.
 */
function inside(namespace: string): string[] {
  return ['nsenter', `--net=/run/netns/${namespace}`, '--'];
}

function inNamespace(namespace: string, command: readonly string[], input?: string): string {
  const [nsenter = '', ...network] = inside(namespace);
  return run(nsenter, [...network, ...command], input);
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function attempt(action: () => void): void {
  try {
    action();
  } catch (error) {
    // Another harness was faster, or the kernel still takes it down.
    if (!(error instanceof CommandError)) throw error;
  }
}

function harnessLink(pid: number): string {
  return `hf-${pid}`;
}

/** @throws CommandError */
export function namespaces(hosts: readonly string[]): LiveNetwork {
  removeLeftovers();
  const switchName = `hf-${process.pid}-switch`;
  const nameOf = (host: string): string => `hf-${process.pid}-${host}`;
  const ipOf = addresses(hosts);
  const link = harnessLink(process.pid);
  const remove = (): void => {
    for (const name of [switchName, ...hosts.map(nameOf)]) attempt(() => run('ip', ['netns', 'del', name]));
    attempt(() => run('ip', ['link', 'del', link]));
  };
  try {
    const toSwitch = (port: string): string[] => [
      `ip -n ${switchName} link set dev ${port} master bridge0`,
      `ip -n ${switchName} link set dev ${port} up`,
    ];
    const script = [
      `ip netns add ${switchName}`,
      `ip -n ${switchName} link add bridge0 type bridge`,
      `ip -n ${switchName} link set dev bridge0 up`,
      ...hosts.flatMap((host, n) => [
        `ip netns add ${nameOf(host)}`,
        `ip -n ${nameOf(host)} link add eth0 type veth peer name port${n} netns ${switchName}`,
        `ip -n ${nameOf(host)} addr add ${ipOf(host)}/24 dev eth0`,
        `ip -n ${nameOf(host)} link set dev eth0 up`,
        `ip -n ${nameOf(host)} link set dev lo up`,
        ...toSwitch(`port${n}`),
      ]),
      `ip link add ${link} type veth peer name harness netns ${switchName}`,
      `ip addr add ${harnessAddress()}/24 dev ${link}`,
      `ip link set dev ${link} up`,
      ...toSwitch('harness'),
    ];
    run('sh', ['-e'], `${script.join('\n')}\n`);
    inNamespace(switchName, ['nft', '-f', '-'], SWITCH_RULES);
    for (const host of hosts) inNamespace(nameOf(host), ['nft', '-f', '-'], HOST_RULES);
  } catch (error) {
    remove();
    throw error;
  }
  const faults = new SwitchFaults(switchName, nameOf, ipOf, hosts);
  return {
    address: (host, port) => `${ipOf(host)}:${port}`,
    inside: (host) => inside(nameOf(host)),
    environment: (_host, base) => base,
    links: faults,
    delays: undefined,
    struck: () => faults.struck(),
    heal: () => faults.heal(),
    close: remove,
  };
}

/** A subnet of its own for each harness, since the machine's own namespace has a leg in each. */
function subnet(): string {
  return `10.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}`;
}

function harnessAddress(): string {
  return `${subnet()}.${HARNESS_NUMBER}`;
}

function addresses(hosts: readonly string[]): (host: string) => string {
  const found = new Map(hosts.map((host, n) => [host, `${subnet()}.${n + 1}`]));
  return (host) => {
    const address = found.get(host);
    if (address === undefined) throw new TypeError(`there is no host ${host}`);
    return address;
  };
}

class SwitchFaults implements LinkFaults {
  readonly #switchName: string;
  readonly #nameOf: (host: string) => string;
  readonly #ipOf: (host: string) => string;
  readonly #hosts: readonly string[];
  /** Of what is not in the kernel any more: an element takes its counter along. */
  #cutPackets = 0;
  #brokenPackets = 0;
  /** Nothing is counted before: asking every host takes a while. */
  #lossUsed = false;
  #packetLossUsed = false;
  #refused = 0;
  #hung = 0;
  /** Under way, or the last one, by the two whose connections it breaks. */
  readonly #resets = new Map<string, Promise<void>>();
  /** Whose dials a host does not take as ever, by the host that is dialled. */
  readonly #dials = new Map<string, ReadonlyMap<string, DialMode>>();

  constructor(
    switchName: string,
    nameOf: (host: string) => string,
    ipOf: (host: string) => string,
    hosts: readonly string[],
  ) {
    this.#switchName = switchName;
    this.#nameOf = nameOf;
    this.#ipOf = ipOf;
    this.#hosts = hosts;
  }

  cut(pairs: readonly Pair[]): void {
    if (pairs.length > 0) this.#onSwitch(`add element bridge faults cuts { ${this.#elements(pairs)} }`);
  }

  mend(pairs: readonly Pair[]): void {
    if (pairs.length === 0) return;
    const before = this.#packetsCut();
    this.#onSwitch(`delete element bridge faults cuts { ${this.#elements(pairs)} }`);
    this.#cutPackets += before - this.#packetsCut();
  }

  /** Links of the harness lose nothing. */
  setPacketLoss(share: number): void {
    if (share === 0 && !this.#packetLossUsed) return;
    this.#packetLossUsed = true;
    const others = `ip saddr != ${harnessAddress()} ip daddr != ${harnessAddress()}`;
    const drawn = `numgen random mod ${PER_MILLE} < ${Math.round(share * PER_MILLE)}`;
    const rule = `add rule bridge faults losses ${others} ${drawn} counter name dropped drop`;
    this.#onSwitch(`flush chain bridge faults losses${share === 0 ? '' : `; ${rule}`}`);
  }

  /** One after the other where the same two are asked for again. */
  reset(one: string, other: string): Promise<void> {
    const pair = [one, other].sort().join(' ');
    const done = (this.#resets.get(pair) ?? Promise.resolve()).then(() => this.#reset(one, other));
    this.#resets.set(
      pair,
      done.catch(() => undefined),
    );
    return done;
  }

  async #reset(one: string, other: string): Promise<void> {
    const ends = [
      { at: one, from: this.#ipOf(other) },
      { at: other, from: this.#ipOf(one) },
    ];
    await Promise.all(ends.map(({ at, from }) => this.#asideOn(at, `add element ip faults resets { ${from} }`)));
    await new Promise((resolve) => setTimeout(resolve, RESET_MS));
    const broken = ends.map(async ({ at, from }) => {
      const packets = packetsFrom(from, await this.#asideOn(at, 'list set ip faults resets'));
      await this.#asideOn(at, `delete element ip faults resets { ${from} }`);
      return packets;
    });
    for (const packets of await Promise.all(broken)) this.#brokenPackets += packets;
  }

  setLoss(chance: number): void {
    if (chance === 0 && !this.#lossUsed) return;
    this.#lossUsed = true;
    const perMille = Math.round(chance * PER_MILLE);
    const what = 'tcp flags & (syn|rst) == 0';
    const rule = `add rule ip faults loss ip saddr != ${harnessAddress()} ${what} numgen random mod ${PER_MILLE} < ${perMille} counter name lost reject with tcp reset`;
    for (const host of this.#hosts) {
      this.#onHost(host, `flush chain ip faults loss${perMille === 0 ? '' : `; ${rule}`}`);
    }
  }

  setDials(mode: DialMode, from: string, to: string): void {
    this.#countDials(to);
    for (const list of DIALS) this.#onHost(to, `flush set ip faults ${list}`);
    const dials = new Map(this.#dials.get(to));
    dials.set(from, mode);
    this.#dials.set(to, dials);
    for (const list of DIALS) {
      const found = [...dials].filter(([, each]) => each === list).map(([each]) => this.#ipOf(each));
      if (found.length > 0) this.#onHost(to, `add element ip faults ${list} { ${found.join(', ')} }`);
    }
  }

  heal(): void {
    for (const host of this.#dials.keys()) {
      this.#countDials(host);
      for (const list of DIALS) this.#onHost(host, `flush set ip faults ${list}`);
    }
    this.#dials.clear();
    this.#cutPackets += this.#packetsCut();
    this.#onSwitch('flush set bridge faults cuts');
    this.setLoss(0);
    this.setPacketLoss(0);
  }

  struck(): ReadonlyMap<Effect, number> {
    const hosts = this.#lossUsed ? this.#hosts : [];
    const lost = hosts.map((host) => packetsOf(this.#onHost(host, 'list counter ip faults lost')));
    return new Map([
      ['dial-refused', this.#refused],
      ['dial-hung', this.#hung],
      ['packet-dropped', this.#packetLossUsed ? packetsOf(this.#onSwitch('list counter bridge faults dropped')) : 0],
      ['frame-held-by-cut', this.#cutPackets + this.#packetsCut()],
      ['connection-broken', this.#brokenPackets + lost.reduce((sum, count) => sum + count, 0)],
    ]);
  }

  /** Of the host's lists, which are about to be emptied. */
  #countDials(host: string): void {
    if (!this.#dials.has(host)) return;
    this.#refused += packetsOf(this.#onHost(host, 'list set ip faults refused'));
    this.#hung += packetsOf(this.#onHost(host, 'list set ip faults hanging'));
  }

  #packetsCut(): number {
    return packetsOf(this.#onSwitch('list set bridge faults cuts'));
  }

  #elements(pairs: readonly Pair[]): string {
    return pairs.map(([from, to]) => `${this.#ipOf(from)} . ${this.#ipOf(to)}`).join(', ');
  }

  #onSwitch(command: string): string {
    return inNamespace(this.#switchName, ['nft', command]);
  }

  #asideOn(host: string, command: string): Promise<string> {
    const [nsenter = '', ...network] = inside(this.#nameOf(host));
    return runAside(nsenter, [...network, 'nft', command]);
  }

  #onHost(host: string, command: string): string {
    return inNamespace(this.#nameOf(host), ['nft', command]);
  }
}

/** The counter of one element in what nft has listed. */
function packetsFrom(address: string, listing: string): number {
  const found = new RegExp(`\\b${address.replaceAll('.', '\\.')} counter packets (\\d+)`).exec(listing);
  return Number(found?.[1] ?? 0);
}

/** All counters in what nft has listed. */
function packetsOf(listing: string): number {
  return [...listing.matchAll(/\bpackets (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}
