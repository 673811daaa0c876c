/** The harness as a library. The command is main.ts. */

export * from './history/history.ts';
export * from './history/recorder.ts';
export * from './checkers/verdict.ts';
export * from './history/json-lines.ts';
export * from './checkers/check.ts';
export * from './campaigns/shrink.ts';
export { drawScenario, type DrawOptions } from './scenario/draw/draw.ts';
export { runScenario, runSeed, type SeedResult } from './targets/sim/run.ts';
export type { Fault, FaultKind } from './nemeses/index.ts';
export type { ReportRun } from './report/run.ts';
export { writeIndex, writeReport, type Index, type IndexedRun } from './report/write-report.ts';
export type { Scenario } from './scenario/scenario.ts';
export * from './properties/index.ts';
