/** Plain HTTP on the client port: whether the server is of use, what it knows, and its metrics. Read only. */

import type { HttpRequest, HttpTextResponse } from '@holdfast/runtime';
import type { LockMachine } from '../machine/lock-machine.ts';
import type { MetricsPage } from './metrics-page.ts';
import { statusReport } from './status-report.ts';

export interface HttpOptions {
  readonly id: number;
  readonly clusterId: string;
}

export function createHttpHandler(
  options: HttpOptions,
  machine: LockMachine,
  metrics: MetricsPage | undefined,
): (request: Pick<HttpRequest, 'method' | 'target'>) => HttpTextResponse | Promise<HttpTextResponse> {
  return (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return problem(405, `${request.method} is not supported here; use GET`);
    }
    const [path = ''] = request.target.split('?', 1);
    switch (path) {
      // Whoever restarts a server for another's fault, or for a lost majority, makes it worse: this shows the process alone.
      case '/live':
        return json(200, { status: 'alive' });
      case '/health':
        return machine.availability.healthy
          ? json(200, { status: 'ok', role: machine.status.role, warning: diskWarning(machine) })
          : json(503, { status: 'unavailable', reason: machine.availability.unhealthyReason });
      case '/ready':
        return machine.availability.acceptsSessions
          ? json(200, { status: 'ready' })
          : json(503, { status: 'not ready', reason: machine.availability.unreadyReason });
      case '/metrics':
        return metrics?.get() ?? problem(404, 'this server is embedded in another program, and has no metrics');
      case '/status':
        return json(200, statusReport(options, machine));
      default:
        return problem(404, `nothing is at ${path}; there are /live, /health, /ready, /metrics and /status`);
    }
  };
}

/** Left out while there is nothing to warn of. */
function diskWarning({ disk, diskGuard }: LockMachine): string | undefined {
  if (diskGuard.problem !== undefined) return diskGuard.problem;
  return disk.low ? `the disk of this server is almost full: ${disk.freeBytes} bytes are free` : undefined;
}

function json(status: number, body: object): HttpTextResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}

function problem(status: number, message: string): HttpTextResponse {
  return json(status, { error: message });
}
