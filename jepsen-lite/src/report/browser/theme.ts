/** Light or dark: as the reader's system has it, until the button says otherwise. The colours of canvases come from the style. */

import { maybe } from './elements.ts';

const NAMES = [
  'page',
  'panel',
  'sunk',
  'ink',
  'muted',
  'line',
  'strong',
  'rule',
  'ok',
  'ok-ink',
  'fail',
  'info',
  'open',
  'holder',
  'holder-alt',
  'holder-ink',
  'belief',
  'stale',
  'leader',
  'leader-alt',
  'leader-ink',
  'fault',
  'fault-ink',
  'witness',
  'witness-wash',
] as const;

export type Palette = Readonly<Record<(typeof NAMES)[number], string>>;

export function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])) as Palette;
}

export function setUpTheme(changed: () => void): void {
  const button = maybe('theme', HTMLButtonElement);
  const system = matchMedia('(prefers-color-scheme: dark)');
  const root = document.documentElement;
  const isDark = (): boolean => (root.dataset['theme'] ?? (system.matches ? 'dark' : 'light')) === 'dark';
  const show = (): void => {
    if (button !== undefined) button.textContent = isDark() ? 'Light' : 'Dark';
    changed();
  };
  button?.removeAttribute('hidden');
  button?.addEventListener('click', () => {
    root.dataset['theme'] = isDark() ? 'light' : 'dark';
    show();
  });
  system.addEventListener('change', show);
  show();
}
