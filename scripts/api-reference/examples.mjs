// What the examples of the doc comments take for granted, so that they can be compiled.

/** @type {Record<string, string>} by library: what is imported beside it and declared before its examples */
const GIVEN = {
  '@holdfast/client': `
    import { subscribe } from 'node:diagnostics_channel';
    import type { ClientRuntime as Runtime, OperatorClient as Operator, AcquireMessage as Acquiring } from '@holdfast/client';
    declare const client: import('@holdfast/client').Client;
    declare const nodes: import('@holdfast/client').Nodes;
    declare const held: import('@holdfast/client').HeldLock;
    declare const lock: import('@holdfast/client').Lock;
    declare const operator: Operator;
    declare const runtime: Runtime;
    declare const message: Acquiring;
    declare const servers: readonly string[];
    declare const server: { close(): void };
    declare const value: string;
    declare const election: import('@holdfast/client').Election;
    declare const queue: import('@holdfast/client').Queue;
    declare const stop: AbortController;
    declare const error: unknown;
    declare const waitsGivenUp: { add(count: number): void };
    declare const store: { put(key: string, value: unknown, options: { token: number }): Promise<void> };
    declare function work(...what: unknown[]): Promise<void>;
    declare function lead(...what: unknown[]): Promise<void>;
    declare function apply(data: unknown): void;
    declare function show(text: string): void;
    declare function pauseBeforeTheNext(): Promise<void>;`,
  '@holdfast/testing': `
    import { connect } from '@holdfast/client';
    declare const ensemble: import('@holdfast/testing').TestEnsemble;`,
  '@holdfast/fenced-kv-client': `
    declare const bucket: import('@holdfast/fenced-kv-client').Bucket;
    declare const held: import('@holdfast/fenced-kv-client').Held;
    declare const error: unknown;`,
  '@holdfast/opentelemetry': `
    declare const tracerProvider: import('@opentelemetry/api').TracerProvider;`,
};

/** A module of all examples of a library, each in a function of its own. Names that an example imports itself are left out of it. */
export function examplesModule(packageName, api) {
  const values = api.map(({ name, kind }) => (kind === 'interface' || kind === 'type' ? `type ${name}` : name));
  const imports = `import {\n${values.join(',\n')}\n} from '${packageName}';`;
  const functions = examplesOf(api).map(({ at, code }) => {
    const body = code.replaceAll(/^import .*;\n+/gm, '');
    return `// ${at}\nexport async function* example_${at.replaceAll(/\W/g, '_')}(): AsyncGenerator<unknown, unknown> {\n${body}\nreturn;\n}`;
  });
  return [imports, GIVEN[packageName], ...functions, ''].join('\n');
}

/** @returns {{ at: string, code: string }[]} */
export function examplesOf(api) {
  return api.flatMap(({ name, doc, members }) => [
    ...(doc?.example === undefined ? [] : [{ at: name, code: doc.example }]),
    ...members.flatMap((member, place) =>
      member.doc?.example === undefined ? [] : [{ at: `${name}.${member.name}.${place}`, code: member.doc.example }],
    ),
  ]);
}
