/**
 * The process in which a mutant lives: makes its changes while the built product is loaded, attempts one seed after another, and
 * reports. Nothing of the product may be imported here but by the detector, after the hooks are in place.
 */

import { writeSync } from 'node:fs';
import { register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';

import { unexpectedFailure, type Detector } from './attempt.ts';
import type { EditsByUrl } from '../patches/product.ts';
import { REPORT_FD, type WorkerReport, type WorkerRequest } from './worker-protocol.ts';

// Before a simulated world forbids real time.
const wallMs = performance.now.bind(performance);

function report(message: WorkerReport): void {
  writeSync(REPORT_FD, `${JSON.stringify(message)}\n`);
}

/** Returns what names the files that the mutant changes and that were not loaded. */
function installHooks(edits: EditsByUrl): () => string[] {
  const { port1, port2 } = new MessageChannel();
  register('../patches/load-hooks.js', import.meta.url, { data: { edits, port: port2 }, transferList: [port2] });
  const missing = new Set(Object.keys(edits));
  return () => {
    for (let note = receiveMessageOnPort(port1); note !== undefined; note = receiveMessageOnPort(port1)) {
      missing.delete(String(note.message));
    }
    return [...missing];
  };
}

async function loadDetector({ detector, shownBy, runs }: WorkerRequest): Promise<Detector> {
  switch (detector) {
    case 'simulation':
      return (await import('./detectors/simulation.ts')).simulationOf(shownBy);
    case 'properties':
      return (await import('./detectors/properties.ts')).propertiesOf(runs);
    case 'churn':
      return (await import('./detectors/churn.ts')).churn;
    case 'recovery':
      return (await import('./detectors/recovery.ts')).recovery;
  }
}

async function attemptAll(request: WorkerRequest): Promise<WorkerReport> {
  const missing = request.edits === undefined ? () => [] : installHooks(request.edits);
  let detector: Detector;
  try {
    detector = await loadDetector(request);
  } catch (error) {
    const { name, message } = unexpectedFailure(error);
    return { type: 'broken', message: `the changed product does not load: ${name}: ${message}` };
  }
  for (const seed of request.seeds) {
    report({ type: 'begin', seed });
    const startedMs = wallMs();
    const { failure, simulatedMs } = await detector(seed).catch((error: unknown) => {
      return { failure: unexpectedFailure(error), simulatedMs: 0 };
    });
    report({ type: 'attempt', seed, failure, simulatedMs, wallMs: wallMs() - startedMs });
    const unloaded = missing();
    if (unloaded.length > 0) return { type: 'broken', message: `never loaded: ${unloaded.join(', ')}` };
    if (failure?.kind === 'promise') break;
  }
  return { type: 'end' };
}

const request = JSON.parse(process.argv[2] ?? '') as WorkerRequest;
report(await attemptAll(request));
// Whatever a mutant has left running must not keep the process.
process.exit();
