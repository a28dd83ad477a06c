// The site in a real browser, served on loopback: nothing is asked of other machines, the search finds pages, dark is dark, pictures are there,
// and nothing is wider than a phone.
//
// usage: node tests/site/browser_test.mjs SITE_FOLDER

import assert from 'node:assert/strict';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { startBrowser } from '../report/browser.mjs';

const kTypes = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml' };
const site = process.argv[2];

const server = createServer((request, response) => {
  const file = join(site, normalize(new URL(request.url, 'http://x').pathname));
  if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': kTypes[extname(file)] ?? 'application/octet-stream' });
  return createReadStream(file).pipe(response);
}).listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));
const base = `http://127.0.0.1:${server.address().port}/`;

const browser = await startBrowser();
async function open(path, options, body) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const faults = [];
  const page = await context.newPage();
  page.on('request', (request) => request.url().startsWith(base) || /^(data|blob):/.test(request.url()) || faults.push(request.url()));
  page.on('response', (response) => response.status() < 400 || faults.push(`${response.status()} ${response.url()}`));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(base + path, { waitUntil: 'load' });
  await body(page);
  assert.deepEqual(faults, [], path);
  await context.close();
}

try {
  await open('index.html', {}, async (page) => {
    await page.click('label.md-header__button[for=__search], .md-search__form label').catch(() => page.focus('input.md-search__input'));
    await page.locator('.md-search-result__meta', { hasText: 'Type to start' }).waitFor({ state: 'attached', timeout: 30_000 });
    await page.locator('input.md-search__input').type('oversubscription', { delay: 20 });
    await page.locator('.md-search-result__link').first().waitFor({ state: 'attached', timeout: 30_000 });
    const sizes = await page.$$eval('article img', (all) => all.map((one) => one.naturalWidth));
    assert.equal(sizes.length, 3);
    assert.ok(sizes.every((width) => width > 100), `pictures are ${sizes} wide`);
  });
  const bright = async (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0));
  await open('install.html', { colorScheme: 'light' }, async (page) => assert.ok((await bright(page)) > 600));
  await open('install.html', { colorScheme: 'dark' }, async (page) => assert.ok((await bright(page)) < 250));
  for (const path of ['index.html', 'tutorials/operator.html', 'reference/commands.html', 'notebooks/your-own-cluster.html']) {
    await open(path, { viewport: { width: 390, height: 800 } }, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${path} is wider than a phone`);
    });
  }
  console.log('the site in a browser: ok');
} finally {
  await browser.close();
  server.close();
}
