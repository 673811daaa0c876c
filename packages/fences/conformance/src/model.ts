/** The rule as a small model, and whether outcomes of calls that overlapped are possible under it: some order must explain all of them. */

export interface Model {
  readonly floor: number;
  readonly value: string | null;
}

export const EMPTY: Model = { floor: 0, value: null };

export type Step =
  | { readonly kind: 'install'; readonly token: number; readonly floor: number; readonly accepted: boolean }
  | {
      readonly kind: 'write';
      readonly token: number;
      readonly floor: number;
      readonly value: string;
      readonly accepted: boolean;
    }
  | { readonly kind: 'read'; readonly value: string | null };

/** What the model is after the step; undefined where the step cannot have had this outcome. */
export function after(model: Model, step: Step): Model | undefined {
  if (step.kind === 'read') return step.value === model.value ? model : undefined;
  const accepted = step.token >= model.floor;
  if (accepted !== step.accepted) return undefined;
  if (!accepted) return model;
  const floor = Math.max(model.floor, step.floor);
  return { floor, value: step.kind === 'write' ? step.value : model.value };
}

/** All models that some order of the steps leads to, from any of those before. None: the outcomes are impossible. */
export function afterAll(models: readonly Model[], steps: readonly Step[]): readonly Model[] {
  const found = new Map<string, Model>();
  const search = (model: Model, rest: readonly Step[]): void => {
    if (rest.length === 0) {
      found.set(JSON.stringify([model.floor, model.value]), model);
      return;
    }
    for (const [place, step] of rest.entries()) {
      const next = after(model, step);
      if (next !== undefined) search(next, rest.toSpliced(place, 1));
    }
  };
  for (const model of models) search(model, steps);
  return [...found.values()];
}

export function stepText(step: Step): string {
  if (step.kind === 'read') return `read ${String(step.value)}`;
  const what = step.kind === 'write' ? `write ${step.value}` : 'install';
  return `${what} under ${step.token} with the floor ${step.floor}: ${step.accepted ? 'accepted' : 'refused'}`;
}
