/**
 * Hosts in network namespaces of their own, which a bridge connects with each other and with the namespace of the benchmark, where the
 * clients run. Linux, root, `ip`, `nsenter` and `nft` are needed. Names carry this process's number.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

import type { Hosts } from './hosts.ts';

/** Of the benchmark's own leg. */
const OWN_NUMBER = 254;

/** Why this machine cannot have them; undefined when it can. */
export function namespacesMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  for (const tool of ['ip', 'nft', 'nsenter']) {
    if (spawnSync(tool, ['--version']).error !== undefined) return `there is no ${tool}`;
  }
  return undefined;
}

/** Of benchmarks that were killed. */
function removeLeftovers(): void {
  const dead = (name: string): boolean => {
    const pid = /^hb-(\d+)-/.exec(name)?.[1];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  };
  const named = run('ip', ['netns', 'list']).split('\n');
  for (const line of named) {
    const [name = ''] = line.split(' ');
    if (dead(name)) spawnSync('ip', ['netns', 'del', name]);
  }
  for (const line of run('ip', ['-br', 'link', 'show', 'type', 'bridge']).split('\n')) {
    const [name = ''] = line.split(' ');
    if (dead(name)) spawnSync('ip', ['link', 'del', name]);
  }
}

/**
 * @param group tells apart the hosts of several systems, each with a bridge and a subnet of its own
 * @throws Error when the kernel refuses it, after having removed what was made
 */
export function namespaces(group: number, servers: number): Hosts {
  const subnet = `10.${128 + ((process.pid >> 8) & 63)}.${(process.pid + group) & 255}`;
  const bridge = `hb-${process.pid}-${group}`;
  const nameOf = (server: number): string => `${bridge}-${server}`;
  const address = (server: number): string => `${subnet}.${server + 1}`;
  const all = Array.from({ length: servers }, (_, server) => server);
  const close = (): void => {
    for (const server of all) spawnSync('ip', ['netns', 'del', nameOf(server)]);
    spawnSync('ip', ['link', 'del', bridge]);
  };
  removeLeftovers();
  try {
    const script = [
      `ip link add ${bridge} type bridge`,
      `ip addr add ${subnet}.${OWN_NUMBER}/24 dev ${bridge}`,
      `ip link set dev ${bridge} up`,
      ...all.flatMap((server) => {
        const name = nameOf(server);
        return [
          `ip netns add ${name}`,
          // A kernel thread takes a namespace down a while after it was deleted, and the name of a link with it.
          `ip -n ${name} link add eth0 type veth peer name ${name} netns ${process.pid}`,
          `ip -n ${name} addr add ${address(server)}/24 dev eth0`,
          `ip -n ${name} link set dev eth0 up`,
          `ip -n ${name} link set dev lo up`,
          `ip link set dev ${name} master ${bridge}`,
          `ip link set dev ${name} up`,
        ];
      }),
    ];
    run('sh', ['-e'], script.join('\n'));
  } catch (error) {
    close();
    throw error;
  }
  const nft = (server: number, rules: string): string =>
    run('nsenter', [`--net=/run/netns/${nameOf(server)}`, 'nft', '-f', '-'], rules);
  return {
    address,
    inside: (server) => ['nsenter', `--net=/run/netns/${nameOf(server)}`, '--'],
    isolate(server) {
      const others = all.filter((other) => other !== server).map(address);
      nft(server, isolation(others.join(', ')));
    },
    mend(server) {
      const listed = nft(server, 'list table ip isolation');
      nft(server, 'delete table ip isolation');
      return [...listed.matchAll(/\bpackets (\d+)/g)].reduce((sum, [, packets]) => sum + Number(packets), 0);
    },
    close,
  };
}

function isolation(others: string): string {
  return `table ip isolation {
  chain arriving { type filter hook input priority 0; policy accept; ip saddr { ${others} } counter drop; }
  chain leaving { type filter hook output priority 0; policy accept; ip daddr { ${others} } counter drop; }
}
`;
}

function run(command: string, args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
  return stdout;
}
