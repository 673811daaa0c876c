/** The promises of the replicated state machine, checked on random commands. */

export type { Coverage } from './coverage.ts';
export { PROMISES } from './promises.ts';
export {
  describeFailure,
  runProperties,
  type PropertyFailure,
  type PropertyOptions,
  type PropertyReport,
} from './run-properties.ts';
