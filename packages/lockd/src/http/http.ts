/** Plain HTTP on the client port: whether the server is of use, what it knows, and its metrics. Read only. */

import type { HttpRequest, HttpResponse } from '@holdfast/runtime';
import type { Registry } from 'prom-client';
import type { LockMachine } from '../lock-machine.ts';
import { statusReport } from './status-report.ts';

export interface HttpOptions {
  readonly id: number;
  readonly clusterId: string;
}

export function createHttpHandler(
  options: HttpOptions,
  machine: LockMachine,
  metrics: () => Promise<Registry>,
): (request: HttpRequest) => Promise<HttpResponse> {
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return problem(405, `${request.method} is not supported here; use GET`);
    }
    const [path = ''] = request.target.split('?', 1);
    switch (path) {
      case '/health':
        return machine.availability.healthy
          ? json(200, { status: 'ok', role: machine.status.role, warning: diskWarning(machine) })
          : json(503, { status: 'unavailable', reason: machine.availability.unhealthyReason });
      case '/ready':
        return machine.availability.acceptsSessions
          ? json(200, { status: 'ready' })
          : json(503, { status: 'not ready', reason: machine.availability.unreadyReason });
      case '/metrics':
        return text(await metrics());
      case '/status':
        return json(200, statusReport(options, machine));
      default:
        return problem(404, `nothing is at ${path}; there are /health, /ready, /metrics and /status`);
    }
  };
}

async function text(registry: Registry): Promise<HttpResponse> {
  return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
}

/** Left out while there is nothing to warn of. */
function diskWarning({ disk, diskGuard }: LockMachine): string | undefined {
  if (diskGuard.problem !== undefined) return diskGuard.problem;
  return disk.low ? `the disk of this server is almost full: ${disk.freeBytes} bytes are free` : undefined;
}

function json(status: number, body: object): HttpResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}

function problem(status: number, message: string): HttpResponse {
  return json(status, { error: message });
}
