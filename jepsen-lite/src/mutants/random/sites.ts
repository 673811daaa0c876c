/**
 * Where a built file could be wrong in a small way, by rule: every place at which one comparison, bound, statement or order of arguments
 * could have been another. What says that something is wrong is left alone (invariants, messages of errors, logging): to weaken it
 * changes nothing while the rest is right.
 */

import { parseSync, Visitor } from 'oxc-parser';

export const RULES = [
  'comparison',
  'min-max',
  'dropped-statement',
  'dropped-guard',
  'swapped-arguments',
  'off-by-one',
  'logical',
] as const;
export type Rule = (typeof RULES)[number];

export interface Site {
  readonly rule: Rule;
  /** Offsets in the text, in UTF-16 units; `end` is not included. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const COMPARISONS = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
]);
const SIGNS = new Map([
  ['+', '-'],
  ['-', '+'],
]);
const LOGICAL = new Map([
  ['&&', '||'],
  ['||', '&&'],
]);
/** `this.#logger.warn(...)`, `invariant(...)`, `observer?.stepped(...)`. */
const REPORTS = /^(this\.)?#?(\w+\.)*#?(invariant|logger|log|observer|trace)\b/;
const SIMPLE_ARGUMENTS = new Set(['Identifier', 'MemberExpression', 'PrivateFieldExpression']);

/** In the order of their places. @throws Error for a text that is no module */
export function sitesOf(file: string, text: string): Site[] {
  const { program, errors } = parseSync(file, text, { sourceType: 'module' });
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const sites: Site[] = [];
  const skipped: Span[] = [];
  const source = ({ start, end }: Span): string => text.slice(start, end);
  const add = (rule: Rule, { start, end }: Span, replacement: string): void => {
    sites.push({ rule, start, end, replacement });
  };
  const swapOperator = (
    rule: Rule,
    { left, right, operator }: { left: Span; right: Span; operator: string },
    others: ReadonlyMap<string, string>,
  ): void => {
    const other = others.get(operator);
    const start = text.indexOf(operator, left.end);
    if (other !== undefined && start < right.start) add(rule, { start, end: start + operator.length }, other);
  };
  new Visitor({
    BinaryExpression(node) {
      swapOperator('comparison', node, COMPARISONS);
      if (node.right.type === 'Literal' && node.right.value === 1) swapOperator('off-by-one', node, SIGNS);
    },
    LogicalExpression(node) {
      swapOperator('logical', node, LOGICAL);
    },
    CallExpression(node) {
      const callee = source(node.callee);
      if (REPORTS.test(callee)) {
        skipped.push(node);
        return;
      }
      const [first, second] = node.arguments;
      if (callee === 'Math.min' || callee === 'Math.max') {
        add('min-max', node.callee, callee === 'Math.min' ? 'Math.max' : 'Math.min');
      } else if (/^(min|max)[A-Z]\w*$/.test(callee) && first !== undefined) {
        // The opposite may not be imported: a bound that does not bind comes to the same.
        add('min-max', node, `(${source(first)})`);
      } else if (first !== undefined && second !== undefined) {
        const [before, after] = [source(first), source(second)];
        const simple = SIMPLE_ARGUMENTS.has(first.type) && SIMPLE_ARGUMENTS.has(second.type);
        if (simple && before !== after) {
          const between = text.slice(first.end, second.start);
          add('swapped-arguments', { start: first.start, end: second.end }, `${after}${between}${before}`);
        }
      }
    },
    ThrowStatement(node) {
      skipped.push(node);
    },
    // Without its fields no object works at all, which says nothing about the tests.
    MethodDefinition(node) {
      if (node.kind === 'constructor') skipped.push(node);
    },
    ExpressionStatement(node) {
      const { type } = node.expression;
      if (type === 'CallExpression' || type === 'AssignmentExpression' || type === 'UpdateExpression') {
        add('dropped-statement', node, ';');
      } else if (type === 'AwaitExpression' || type === 'UnaryExpression') {
        add('dropped-statement', node, ';');
      }
    },
    IfStatement(node) {
      const { consequent, alternate } = node;
      const only =
        consequent.type === 'BlockStatement' && consequent.body.length === 1 ? consequent.body[0] : consequent;
      const leaves = only?.type === 'ReturnStatement' || only?.type === 'ContinueStatement';
      if (leaves && alternate === null) add('dropped-guard', node, ';');
    },
  }).visit(program);
  const reports = ({ start, end }: Site): boolean => skipped.some((span) => span.start <= start && end <= span.end);
  const says = (site: Site): boolean => site.rule === 'dropped-statement' && REPORTS.test(text.slice(site.start));
  return sites.filter((site) => !reports(site) && !says(site)).toSorted((a, b) => a.start - b.start || a.end - b.end);
}
