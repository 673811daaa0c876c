/**
 * The histograms of the stages of consensus, as Prometheus wants them. They are counted by the replica, whether somebody asks or not, and
 * put in this form when somebody does.
 */

import { DURATION_BOUNDS_MS, type StageHistograms } from '@holdfast/raft';
import { Histogram } from 'prom-client';

const NAME = 'holdfast_batch_stage_seconds';
const MS_PER_SECOND = 1_000;

type Label = 'stage' | 'le';
type Values = Awaited<ReturnType<Histogram<Label>['get']>>;

export class StageMetric extends Histogram<Label> {
  readonly #read: () => StageHistograms | undefined;
  /** Counts nothing; name, help and type are this one's. */
  readonly #empty: Histogram<Label>;

  constructor(read: () => StageHistograms | undefined) {
    const about = {
      name: NAME,
      help: 'Seconds from the proposal of a batch to each stage, as leader. Of a sample of the batches',
      labelNames: ['stage'] as const,
      registers: [],
    };
    super(about);
    this.#empty = new Histogram<Label>(about);
    this.#read = read;
  }

  override async get(): Promise<Values> {
    return { ...(await this.#empty.get()), values: [...this.#values()] };
  }

  /** What the registry asks for when it writes text. */
  getForPromString(): Promise<Values> {
    return this.get();
  }

  *#values(): Generator<Values['values'][number]> {
    for (const [stage, { counts, count, sumMs }] of Object.entries(this.#read() ?? {})) {
      let upToBound = 0;
      for (const [position, boundMs] of DURATION_BOUNDS_MS.entries()) {
        upToBound += counts[position] ?? 0;
        yield { metricName: `${NAME}_bucket`, labels: { stage, le: boundMs / MS_PER_SECOND }, value: upToBound };
      }
      yield { metricName: `${NAME}_bucket`, labels: { stage, le: '+Inf' }, value: count };
      yield { metricName: `${NAME}_sum`, labels: { stage }, value: sumMs / MS_PER_SECOND };
      yield { metricName: `${NAME}_count`, labels: { stage }, value: count };
    }
  }
}
