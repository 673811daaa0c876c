/**
 * The pages in a real browser: what failed is in view and stands out, nothing is fetched, nothing overflows, the statuses differ in shape,
 * and the keyboard does all that the mouse does. The screenshots go to $HOLDFAST_SCREENSHOTS, if that is set.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CommandType, encodeCommand } from '@holdfast/protocol';
import { EntryType, logIndex, term, type Entry } from '@holdfast/raft';
import { encodeEntry } from '@holdfast/state';
import { resultOf, type RunResult } from '../../src/campaigns/live/result.ts';
import { checkRegisters } from '../../src/checkers/registers/registers.ts';
import type { History } from '../../src/history/history.ts';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { encodeHistory } from '../../src/history/json-lines.ts';
import { writeIndex, writeReport } from '../../src/report/write-report.ts';
import { manyCalls, reported } from '../report/support/reported-runs.ts';

const CHROMIUM = '/usr/bin/chromium';
const MAIN = join(import.meta.dirname, '../../dist/main.js');
const WINDOW = { width: 1280, height: 900 };
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** On a machine that does much else. */
const REDRAW_MS = 1_500;

const missing = existsSync(CHROMIUM) ? undefined : 'needs chromium';
// Not every reporter names what was skipped.
if (missing !== undefined) process.stderr.write(`report.test.ts is skipped: ${missing}\n`);
const unless = missing === undefined ? '' : ` (skipped: ${missing})`;

/** Of a live run, whose judge alone knows the faults that struck, and the log. */
function keptResult(history: History): RunResult {
  const registers = checkRegisters(history);
  const committed = Array.from({ length: 2_000 }, (_, n): Entry => {
    const { session, lock } = { session: 1 + (n % 24), lock: `lock-${n % 6}` };
    const header = { command: CommandType.acquire, generation: 1, session, number: n + 1, ackedUpTo: n };
    const data = encodeEntry(header, encodeCommand({ type: 'acquire', lock, kind: 0, wait: true }));
    return { index: logIndex(n + 1), term: term(3), type: EntryType.command, data };
  });
  return resultOf({
    target: 'live',
    scenario: drawScenario(1),
    failure: undefined,
    history,
    verdicts: [registers],
    begun: new Map([['kill', 3]]),
    leftOut: new Map(),
    idle: [],
    struck: new Map([['host-killed', 3]]),
    committed,
    leaderChanges: 2,
    wallMs: 1,
  });
}

describe.skipIf(missing !== undefined)(`the report in a browser${unless}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-report-'));
  const screenshots = process.env['HOLDFAST_SCREENSHOTS'] ?? join(directory, 'screenshots');
  let browser: BrowserContext;

  beforeAll(async () => {
    mkdirSync(screenshots, { recursive: true });
    for (const failing of [true, false]) {
      const run = join(directory, failing ? 'failing' : 'passing');
      mkdirSync(run);
      writeFileSync(join(run, 'history.jsonl'), encodeHistory(reported({ failing })));
      // As a reader gets them: from the built program.
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'report', run]);
      expect(stdout).toBe(`${failing ? 'failed' : 'unknown'}: ${join(run, 'report.html')}\n`);
    }
    // What the run itself has found counts, though its history alone would be judged otherwise.
    const kept = join(directory, 'kept');
    mkdirSync(kept);
    const history = reported({ failing: true });
    writeFileSync(join(kept, 'history.jsonl'), encodeHistory(history));
    writeFileSync(join(kept, 'result.json'), JSON.stringify(keptResult(history)));
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'report', kept]);
    expect(stdout).toBe(`failed: ${join(kept, 'report.html')}\n`);
    browser = await chromium.launchPersistentContext(join(directory, 'profile'), {
      executablePath: CHROMIUM,
      args: ARGS,
      viewport: WINDOW,
      colorScheme: 'light',
    });
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Opens a page; whatever it complains of, and whatever it asks for beside itself, is a problem. */
  async function open(file: string): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
    const page = await browser.newPage();
    const problems: string[] = [];
    const url = pathToFileURL(join(directory, file)).href;
    page.on('console', (message) => problems.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    page.on('request', (request) => {
      if (request.url() !== url && !request.url().startsWith('data:')) problems.push(`request: ${request.url()}`);
    });
    await page.goto(url);
    await drawn(page);
    return { page, problems };
  }

  const drawn = (page: Page): Promise<void> =>
    page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))');

  async function shoot(page: Page, name: string): Promise<void> {
    await page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  /** How many pixels of the tracks have the colour in which what failed is drawn. */
  const highlighted = (page: Page): Promise<number> =>
    page.evaluate(`(() => {
      const canvas = document.getElementById('tracks');
      const probe = document.createElement('canvas').getContext('2d');
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--witness');
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === r && data[at + 1] === g && data[at + 2] === b && data[at + 3] === 255) count += 1;
      }
      return count;
    })()`);

  const pins = async (page: Page): Promise<readonly { readonly number: string; readonly inView: boolean }[]> =>
    page.evaluate(`[...document.querySelectorAll('.pin')].map((pin) => {
      const { left, top, right, bottom } = pin.getBoundingClientRect();
      const stage = document.getElementById('stage').getBoundingClientRect();
      const within = left >= stage.left && right <= stage.right && top >= stage.top - 1 && bottom <= stage.bottom + 1;
      const shown = document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === pin;
      return { number: pin.textContent, inView: within && shown && top >= 0 && bottom <= innerHeight };
    })`);

  /** What sticks out of the window, but for what lies in a box that scrolls. */
  const overflowing = (page: Page): Promise<readonly string[]> =>
    page.evaluate(`document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth && element.closest('.scroll, #stage, pre') === null)
      .map((element) => element.outerHTML.slice(0, 80))`);

  it('opens with what failed in view, highlighted, and told in words', async () => {
    const { page, problems } = await open('failing/report.html');
    await shoot(page, 'failing');
    const steps = await page.locator('.finding').first().locator('.step').allTextContents();
    expect(steps.length).toBeGreaterThanOrEqual(2);
    expect(steps.length).toBeLessThanOrEqual(6);
    expect(await pins(page)).toEqual(steps.map((_, n) => ({ number: String(n + 1), inView: true })));
    expect(await highlighted(page)).toBeGreaterThan(150);
    // So near that the steps stand well apart, though they take a fortieth of the run.
    const [first, last] = [page.locator('.pin').first(), page.locator('.pin').last()];
    const apart = ((await last.boundingBox())?.x ?? 0) - ((await first.boundingBox())?.x ?? 0);
    expect(apart).toBeGreaterThan(WINDOW.width / 4);
    expect(await page.locator('.badge').first().textContent()).toContain('failed');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('scrolls the page and the timeline to what failed, in a window that is too low for both', async () => {
    const page = await browser.newPage();
    await page.setViewportSize({ width: 1280, height: 560 });
    await page.goto(pathToFileURL(join(directory, 'failing/report.html')).href);
    await drawn(page);
    expect(await page.evaluate("document.getElementById('stage').scrollTop")).toBeGreaterThan(0);
    expect((await pins(page)).map(({ inView }) => inView)).toEqual([true, true, true]);
    await page.close();
  });

  it('highlights nothing in a run in which nothing failed', async () => {
    const { page, problems } = await open('passing/report.html');
    await shoot(page, 'passing');
    expect(await page.locator('.pin, .step').count()).toBe(0);
    expect(await highlighted(page)).toBe(0);
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each(['failing/report.html', 'passing/report.html'])('fits a window of 1,280 pixels: %s', async (file) => {
    const { page } = await open(file);
    expect(await overflowing(page)).toEqual([]);
    await page.close();
  });

  it('tells the statuses of calls apart by shape, in grey', async () => {
    const { page } = await open('failing/report.html');
    await page.evaluate("document.documentElement.style.filter = 'grayscale(1)'");
    await shoot(page, 'failing-in-grey');
    const shapes: Readonly<Record<string, readonly boolean[]>> = await page.evaluate(`Object.fromEntries(
      [...document.querySelectorAll('#legend canvas')].map((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const ink = [];
        const page = document.createElement('canvas').getContext('2d');
        page.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--panel');
        page.fillRect(0, 0, 1, 1);
        const back = page.getImageData(0, 0, 1, 1).data;
        const grey = (of, at) => 0.2126 * of[at] + 0.7152 * of[at + 1] + 0.0722 * of[at + 2];
        for (let at = 0; at < data.length; at += 4) {
          ink.push(data[at + 3] > 127 && Math.abs(grey(data, at) - grey(back, 0)) > 40);
        }
        return [canvas.dataset.status, ink];
      }),
    )`);
    const names = Object.keys(shapes);
    expect(names).toEqual(['ok', 'fail', 'info', 'open', 'belief']);
    for (const [place, name] of names.entries()) {
      const own = shapes[name] ?? [];
      expect(own.filter(Boolean).length, name).toBeGreaterThan(own.length / 20);
      for (const other of names.slice(place + 1)) {
        const different = own.filter((ink, at) => ink !== shapes[other]?.[at]).length;
        expect(different / own.length, `${name} and ${other}`).toBeGreaterThan(0.12);
      }
    }
    await page.close();
  });

  it('can be used with the keyboard alone', async () => {
    const { page, problems } = await open('failing/report.html');
    const selected = (): Promise<string | null> => page.locator('#selected').textContent();
    await page.locator('#stage').focus();
    expect(await selected()).toContain('Step 1');
    await page.keyboard.press('.');
    expect(await selected()).toContain('Step 2');
    expect(await page.locator('.step[aria-current]').getAttribute('data-step')).toBe('1');
    for (const key of ['0', '+', '+', '+', 'ArrowLeft', 'ArrowDown']) await page.keyboard.press(key);
    await drawn(page);
    expect((await pins(page)).some(({ inView }) => inView)).toBe(false);
    await page.keyboard.press('f');
    await drawn(page);
    expect((await pins(page)).every(({ inView }) => inView)).toBe(true);
    await page.keyboard.press('j');
    expect(await selected()).toMatch(/^c\d+: .* event \d+$/);
    await page.locator('.step').nth(1).focus();
    await page.keyboard.press('Enter');
    expect(await selected()).toContain('Step 2');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows behind a finding how far an order came and the log around it, from its link, its steps and its discs', async () => {
    const { page, problems } = await open('kept/report.html');
    expect(await page.locator('.chips').nth(1).textContent()).toContain('host-killed 3');
    const order = page.locator('[data-panel=order]');
    await page.locator('.to-evidence').first().focus();
    await page.keyboard.press('Enter');
    const bottom = "document.querySelector('[data-panel=order]').getBoundingClientRect().bottom";
    expect(await page.evaluate(`${bottom} > 0 && ${bottom} <= innerHeight`)).toBe(true);
    await shoot(page, 'evidence');
    expect((await order.textContent()) ?? '').toMatch(
      /1\. call \d+ of c24 created it[^]*there is no place for\n {2}✗ call \d+ of c24 read "first"/,
    );
    expect(((await page.locator('[data-panel=log]').textContent()) ?? '').split('\n')).toHaveLength(17);
    expect(await overflowing(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();

    const failing = await open('failing/report.html');
    const shown = (): Promise<readonly string[]> =>
      failing.page.evaluate("[...document.querySelectorAll('.evidence:not([hidden])')].map(({ id }) => id)");
    expect(await shown()).toEqual([]);
    const ofRegisters = failing.page.locator('.finding', { hasText: '/configuration' });
    await failing.page.locator('.others > summary').click();
    await ofRegisters.locator('.step').last().click();
    expect(await shown()).toEqual([
      await failing.page.locator('.evidence', { hasText: '/configuration' }).getAttribute('id'),
    ]);
    expect(failing.problems).toEqual([]);
    await failing.page.close();
  });

  it('says what lies under the pointer, and keeps what is clicked', async () => {
    const { page, problems } = await open('failing/report.html');
    const at = await page.locator('.pin').first().boundingBox();
    // Just behind the pin, the call that it marks begins.
    const [x, y] = [(at?.x ?? 0) + (at?.width ?? 0) + 6, (at?.y ?? 0) + (at?.height ?? 0) / 2];
    await page.mouse.move(x, y);
    await page.locator('#tip').waitFor();
    const tip = (await page.locator('#tip b').textContent()) ?? '';
    expect(tip).toMatch(/^c\d+: /);
    await page.mouse.down();
    await page.mouse.up();
    expect(await page.locator('#selected b').textContent()).toBe(tip);
    await page.mouse.move(x, y - 400);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('is light or dark as the system is, until its button is pressed', async () => {
    const { page, problems } = await open('failing/report.html');
    const back = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await back();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await back();
    expect(dark).not.toBe(light);
    await drawn(page);
    expect(await highlighted(page)).toBeGreaterThan(150);
    await shoot(page, 'failing-dark');
    await page.locator('#theme').click();
    expect(await back()).toBe(light);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('stays usable with a hundred thousand calls', async () => {
    const history = manyCalls(100_000);
    await writeReport(directory, { title: 'large', target: 'made up', history, verdicts: [] }, 'large.html');
    const { page, problems } = await open('large.html');
    await shoot(page, 'large');
    await page.locator('#stage').focus();
    for (const key of ['+', '+', 'ArrowRight', '-', '0']) {
      const startedAt = performance.now();
      await page.keyboard.press(key);
      await drawn(page);
      expect(performance.now() - startedAt, key).toBeLessThan(REDRAW_MS);
    }
    expect(await overflowing(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('leads from the index to the page of a run', async () => {
    const run = { calls: 1, struck: 1, durationMs: 60_000 };
    await writeIndex(directory, {
      title: 'all workloads',
      runs: ['none', 'pause', 'partition', 'clocks', 'disks', 'members', 'all at once'].flatMap((faults) => [
        {
          ...run,
          workload: 'critical-sections',
          faults,
          valid: true,
          href: 'passing/report.html',
          title: `sections, ${faults}`,
        },
        {
          ...run,
          workload: 'registers',
          faults,
          valid: faults !== 'pause',
          href: 'failing/report.html',
          title: `registers, ${faults}`,
        },
      ]),
    });
    const { page, problems } = await open('index.html');
    await shoot(page, 'index');
    expect(await overflowing(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.locator('td.failed a').first().click();
    expect(await page.locator('h1').textContent()).toBe('failing');
    await page.close();
  });
});
