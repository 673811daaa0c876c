/** Buttons and keys, and what each of them does. */

const KEYS = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  '+': 'in',
  '=': 'in',
  '-': 'out',
  '0': 'all',
  Home: 'all',
  f: 'focus',
  '.': 'nextStep',
  ',': 'previousStep',
  j: 'nextCall',
  k: 'previousCall',
  Escape: 'hideTip',
} as const;

export type Action = (typeof KEYS)[keyof typeof KEYS];

/** @param goTo a step of a finding, from both their numbers */
export function listenToControls(
  stage: HTMLElement,
  actions: Readonly<Record<Action, () => void>>,
  goTo: (finding: number, step: number) => void,
): void {
  for (const button of document.querySelectorAll<HTMLElement>('[data-tool]')) {
    button.addEventListener('click', () => actions[button.dataset['tool'] as Action]());
  }
  for (const button of document.querySelectorAll<HTMLElement>('.step')) {
    const { finding, step } = button.dataset;
    button.addEventListener('click', () => goTo(Number(finding), Number(step)));
  }
  // Shown before the browser goes there.
  for (const link of document.querySelectorAll<HTMLElement>('.to-evidence')) {
    link.addEventListener('click', () => goTo(Number(link.dataset['finding']), 0));
  }
  stage.addEventListener('keydown', (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!Object.hasOwn(KEYS, key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[KEYS[key as keyof typeof KEYS]]();
  });
}
