/** What `GET /metrics` of lockd has, from the registry that it serves. Nothing is read from the machine until somebody asks. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

import { createMetrics } from '../../packages/lockd/dist/http/metrics.js';
import { code, page, table } from './markdown.mjs';
import { firstSentence } from './source.mjs';

const INTRO = `Every sample has the label \`server\`. Beside these there are those of the process (\`process_*\`, \`nodejs_*\`), made by prom-client.`;

export const metricsPage = {
  file: 'metrics.md',
  render(root) {
    // The server's own copy: its metrics are instances of these.
    const { Counter, Gauge, Histogram } = createRequire(join(root, 'packages/lockd/package.json'))('prom-client');
    const types = { counter: Counter, gauge: Gauge, histogram: Histogram };
    const typeOf = (metric) => Object.keys(types).find((name) => metric instanceof types[name]) ?? '';
    const silent = new Proxy({}, { get: () => silent });
    const options = { id: 1, ofProcess: false, renderings: () => 0, load: () => undefined };
    const registry = createMetrics(options, silent, () => undefined);
    const metrics = registry.getMetricsAsArray().sort((left, right) => (left.name < right.name ? -1 : 1));
    const rows = metrics.map((metric) => [
      code(metric.name),
      typeOf(metric),
      (metric.labelNames ?? []).map(code).join(', '),
      firstSentence(metric.help),
    ]);
    return page('Metrics of lockd', INTRO, table(['metric', 'type', 'labels', 'meaning'], rows));
  },
};
