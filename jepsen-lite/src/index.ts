/** The harness as a library. The command is main.ts. */

export * from './history/history.ts';
export * from './history/recorder.ts';
export * from './checkers/verdict.ts';
export * from './history/json-lines.ts';
export * from './checkers/check.ts';
export * from './sim/shrink.ts';
export { drawScenario, type DrawOptions } from './sim/draw.ts';
export { runScenario, runSeed, type SeedResult } from './sim/run.ts';
export type { Fault, FaultKind, Scenario } from './sim/scenario.ts';
export * from './properties/index.ts';
