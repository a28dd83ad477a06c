// What the tests of the page share: a real browser that opens a file from disk and takes note of whatever must not happen.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const web = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src', 'report', 'web');
export const kSpace = '\u00a0';  // between a number and its unit
export const shots = process.env.STRACK_SCREENSHOTS;

const kFlags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
                '--disable-component-update', '--disable-sync'];

/// Debian's Chromium, or the one that CHROMIUM names.
export async function startBrowser() {
  if (!existsSync(join(web, 'node_modules', 'playwright-core'))) {
    throw new Error(`${web}/node_modules has no playwright-core: build the program, or run npm ci there`);
  }
  const program = process.env.CHROMIUM || '/usr/bin/chromium';
  if (!existsSync(program)) {
    throw new Error(`there is no browser ${program}: tools/setup installs Debian's chromium; another one is named by CHROMIUM`);
  }
  if (shots) mkdirSync(shots, { recursive: true });
  const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');
  // A launch without a profile named makes a fresh one and removes it.
  return chromium.launch({ executablePath: program, args: kFlags });
}

/// Opens a page from disk. `faults` collects errors, warnings, and requests that leave the disk.
export async function openFile(browser, file, { hash = '', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, ...options });
  const faults = [];
  await context.route((url) => url.protocol !== 'file:' && url.protocol !== 'data:' && url.protocol !== 'blob:', (route) => {
    faults.push(`request: ${route.request().url()}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('request', (request) => {
    if (request.url() !== pathToFileURL(file).href && !/^(data|blob):/.test(request.url())) {
      faults.push(`request: ${request.url()}`);
    }
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.stack}`));
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector('html[data-drawn], html[data-ready]', { state: 'attached', timeout: 60_000 });
  return { page, faults, close: () => context.close() };
}

export async function withFile(browser, file, options, body) {
  const opened = await openFile(browser, file, options);
  try {
    await body(opened.page, opened);
    assert.deepEqual(opened.faults, []);
  } finally {
    await opened.close();
  }
}

/// What a figure's chart holds.
export const data = (page, id) => page.evaluate((figure) => window.strackReport.data(figure), id);

/// A number that differs when any pixel of a canvas does. Read from copies: the page's own canvases are not made for that.
export const pixels = (page, selector) => page.evaluate((where) => {
  let sum = 0;
  for (const canvas of document.querySelectorAll(where)) {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const words = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    for (let i = 0; i < words.length; ++i) sum = (Math.imul(sum, 31) + words[i]) | 0;
  }
  return sum;
}, selector);

export async function download(page, click) {
  const [file] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/// A picture to be looked at, where STRACK_SCREENSHOTS names a folder.
export async function shoot(page, name, selector) {
  if (!shots) return;
  const path = join(shots, `${name}.png`);
  if (selector) await page.locator(selector).screenshot({ path });
  else await page.screenshot({ path });
}

export function csvRows(text) {
  const cell = (raw) => (raw.startsWith('"') ? raw.slice(1, -1).replace(/""/g, '"') : raw);
  return text.trimEnd().split('\n').map((line) => [...`,${line}`.matchAll(/,("(?:[^"]|"")*"|[^,]*)/g)].map((m) => cell(m[1])));
}

/// The cells of a figure's table of data, which is opened.
export async function shownCells(page, id) {
  const show = page.locator(`[id="${id}"]`).getByRole('button', { name: 'Show data' });
  if (await show.count() > 0) await show.click();
  return page.locator(`[id="${id}"] table.data tbody tr`).evaluateAll((all) => all.map((r) => [...r.children].map((c) => c.textContent)));
}

/// Where a number stands along an axis of an SVG chart: found from two labels of it.
export async function labelPlace(page, id, label) {
  const box = await page.locator(`[id="${id}"] .chart svg text`).filter({ hasText: new RegExp(`^${label}$`) }).first().boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}
