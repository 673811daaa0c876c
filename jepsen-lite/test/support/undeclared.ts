/** Names that a file uses and nowhere declares: what would end a program at that line, or keep it from loading. */

import { parseSync } from 'oxc-parser';

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Where a name is no reference: the field of such a node, unless it is computed. */
const NAMING_FIELDS: Readonly<Record<string, string>> = {
  MemberExpression: 'property',
  Property: 'key',
  MethodDefinition: 'key',
  PropertyDefinition: 'key',
};
/** Nodes that declare what stands in these fields. */
const DECLARING_FIELDS: Readonly<Record<string, readonly string[]>> = {
  VariableDeclarator: ['id'],
  FunctionDeclaration: ['id', 'params'],
  FunctionExpression: ['id', 'params'],
  ArrowFunctionExpression: ['params'],
  ClassDeclaration: ['id'],
  ClassExpression: ['id'],
  CatchClause: ['param'],
  ImportSpecifier: ['local'],
  ImportDefaultSpecifier: ['local'],
  ImportNamespaceSpecifier: ['local'],
};

/** Wherever in the file a name is declared, it counts for all of it. */
export function undeclaredNames(file: string, source: string): string[] {
  const declared = new Set<string>(Object.getOwnPropertyNames(globalThis));
  const used = new Set<string>();
  const visit = (node: unknown, declares: boolean): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, declares);
    if (!isNode(node)) return;
    if (node.type === 'Identifier') (declares ? declared : used).add(String(node['name']));
    if (node.type === 'PrivateIdentifier') (declares ? declared : used).add(`#${String(node['name'])}`);
    const naming = node['computed'] === true ? undefined : NAMING_FIELDS[node.type];
    for (const [field, value] of Object.entries(node)) {
      if (field === naming && !isPrivate(value)) continue;
      const declaresIt =
        (DECLARING_FIELDS[node.type]?.includes(field) ?? false) ||
        (field === naming && node.type !== 'MemberExpression') ||
        // Patterns: what is to the right of "=" in one is a use.
        (declares && field !== 'right' && field !== 'init');
      visit(value, declaresIt);
    }
  };
  visit(parseSync(file, source).program, false);
  return [...used].filter((name) => !declared.has(name) && !GIVEN.has(name)).sort();
}

/** Of Node's, which are no properties of the global object, and of the language. */
const GIVEN: ReadonlySet<string> = new Set(['arguments', 'undefined', 'meta', 'import', 'new', 'target']);

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { readonly type?: unknown }).type === 'string';
}

function isPrivate(value: unknown): boolean {
  return isNode(value) && value.type === 'PrivateIdentifier';
}
