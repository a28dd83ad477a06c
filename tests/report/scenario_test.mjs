// What a section begins with (its network, words and settings), failures on time axes, and what the reader can choose: in a
// real browser, from disk: node --test tests/report/scenario_test.mjs. The environment is as for page_test.mjs.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { data, download, kSpace, shoot, startBrowser, withFile } from './browser.mjs';
import { dragonfly, fillPage, leafSpine, networkReport } from './fixtures.mjs';

let folder;
let template;
let browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'strack-scenario-'));
  template = readFileSync(process.env.STRACK_REPORT_PAGE, 'utf8');
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

let files = 0;

async function withPage(report, options, body) {
  const file = join(folder, `report-${++files}.html`);
  writeFileSync(file, fillPage(template, report));
  await withFile(browser, file, options, body);
}

const option = (page, id, pick) => page.evaluate(([figure, what]) => {
  const { series } = window.strackReport.data(figure);
  return what === 'first' ? series.map((one) => one.points[0]?.[0]) : series.map((one) => one.name);
}, [id, pick]);

describe('the scenario', () => {
  test('comes first: words, the drawing, the settings', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const order = await page.locator('#net').evaluate((e) => [...e.children].map((one) => one.id || one.className));
      assert.deepEqual(order.slice(0, 5), ['section-head', 'explanation', 'net-network', 'settings', 'net-bars']);
      assert.equal(await page.locator('#net > .explanation').innerText(), '128 hosts in 8 racks of 16.');
      const held = await data(page, 'net-network');
      assert.equal(held.switches.length, 8 + 8);
      assert.equal(held.bad, 2);
      assert.deepEqual(await page.locator('.troubles li').allInnerTexts(), ['spine 3: down from 20 us to 60 us',
        'tor 2 to spine 1: down', 'tor 5 to spine 4: 25 % of its rate']);
      assert.equal(await page.locator('.settings summary').innerText(), 'Settings that were given (2)');
      assert.deepEqual(await page.locator('.settings td').allInnerTexts(), ['topology.hosts', '128', 'workload.size', '2 MB']);
      await shoot(page, 'scenario');
    });
  });

  test('of 8192 hosts what is broken is drawn, and what fits', async () => {
    for (const width of [1400, 390]) {
      await withPage(networkReport({ racks: 128, uppers: 64, hosts: 8192, hosts_per_rack: 64 }), { viewport: { width, height: 900 } }, async (page) => {
        const { switches } = await data(page, 'net-network');
        assert.ok(switches.length <= 2 * 16, `${switches.length}`);
        for (const one of width > 500 ? ['spine 3', 'spine 4', 'spine 63', 'ToR 2', 'ToR 5', 'ToR 127'] : ['S3', 'S63', 'ToR 2', 'ToR 127']) {
          assert.ok(switches.includes(one), `${one} of ${switches}`);
        }
        assert.ok((await page.locator('.topology svg').innerHTML()).includes('+'));
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await shoot(page, `scenario-8192-${width}`);
      });
    }
  });

  test('pods are drawn below cores', async () => {
    const troubles = [{ down: true, from: 'agg 13', to: 'core 7', text: 'agg 13 to core 7: down' },
                      { down: false, from: 'tor 30', to: 'agg 13', text: 'slow' }];
    await withPage(networkReport({ hosts: 1024, racks: 64, pods: 8, uppers: 4, cores_per_agg: 4, troubles }), {}, async (page) => {
      const { switches, bad } = await data(page, 'net-network');
      for (const one of ['C7', 'A13', 'T30']) assert.ok(switches.includes(one), one);
      assert.equal(bad, 2);
      await shoot(page, 'scenario-pods');
    });
  });

  const kSizes = [1440, 390].flatMap((width) => ['light', 'dark'].map((colorScheme) => ({ viewport: { width, height: 900 }, colorScheme })));
  const noRacks = { hosts: 72, racks: 0, uppers: 0 };

  test('a network from a file is drawn in rows, hosts counted', async () => {
    const troubles = [{ down: true, from: 'leaf1', to: 'a-spine-with-a-long-name-1', text: 'leaf1-a-spine-with-a-long-name-1: down' },
                      { down: true, from: 'a-spine-with-a-long-name-2', to: '', text: 'a-spine-with-a-long-name-2: down' },
                      { down: false, from: 'gpu17', to: 'leaf1', text: 'gpu17-leaf1: 50 % of its rate' }];
    for (const options of kSizes) {
      await withPage(networkReport({ ...noRacks, graph: leafSpine(6, 4), troubles }), options, async (page) => {
        const held = await data(page, 'net-network');
        const wide = options.viewport.width > 500;
        assert.deepEqual(held.switches, wide ? ['leaf0', 'leaf1', 'leaf2', 'leaf3', 'leaf4', 'leaf5', 'a-spin…name-0', 'a-spin…name-1', 'a-spin…name-2', 'a-spin…name-3']
          : ['leaf0', 'leaf1', 'leaf2', 'leaf3', 'leaf5', 'a-s…e-0', 'a-s…e-1', 'a-s…e-2', 'a-s…e-3']);
        assert.equal(held.bad, 1);
        assert.equal(await page.locator('.topology svg text', { hasText: 'gpu17' }).count(), 1);
        assert.equal(await page.locator('.topology svg text', { hasText: '16 hosts' }).count(), wide ? 5 : 4);
        assert.equal(await page.locator('.topology-rates').innerText(), 'host links 100 Gbps to 400 Gbps');
        const titles = await page.locator('.topology svg path title').allTextContents();
        assert.ok(titles.includes(`leaf0 and a-spine-with-a-long-name-0, 2 x 800${kSpace}Gb/s`), titles[0]);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await shoot(page, `scenario-graph-${options.viewport.width}-${options.colorScheme}`);
      });
    }
  });

  test('a dragonfly is drawn in a ring, with its failures', async () => {
    const troubles = [{ down: true, from: 'g8r3', to: '', text: 'g8r3: down from 20 us on' },
                      { down: true, from: 'g0r1', to: 'g0r0', text: 'g0r0-g0r1: down' },
                      { down: false, from: 'g1r0', to: 'g1r1', text: 'g1r0-g1r1: 25 % of its rate' }];
    for (const options of kSizes) {
      await withPage(networkReport({ ...noRacks, graph: dragonfly(9, 4), troubles }), options, async (page) => {
        const { switches, bad } = await data(page, 'net-network');
        assert.equal(bad, 2);
        for (const one of ['g8r3', 'g0r0', 'g0r1', 'g1r0', 'g1r1']) assert.ok(switches.includes(one), `${one} of ${switches}`);
        if (options.viewport.width > 500) assert.equal(switches.length, 36);
        const boxes = await page.locator('.topology svg rect[rx="5"]').evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom]));
        const overlap = boxes.some((a, i) => boxes.some((b, j) => i < j && a[0] < b[2] - 1 && b[0] < a[2] - 1 && a[1] < b[3] - 1 && b[1] < a[3] - 1));
        assert.equal(overlap, false, 'boxes beside each other');
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
        await shoot(page, `scenario-ring-${options.viewport.width}-${options.colorScheme}`);
      });
    }
  });

  test('of a large network from a file what is broken is drawn, and how many are left out', async () => {
    const troubles = [{ down: true, from: 'leaf33', to: '', text: 'leaf33: down' }];
    await withPage(networkReport({ ...noRacks, graph: leafSpine(500, 8, 120), troubles }), {}, async (page) => {
      const { switches } = await data(page, 'net-network');
      for (const one of ['leaf0', 'leaf33', 'leaf499']) assert.ok(switches.includes(one), `${one} of ${switches}`);
      assert.match(await page.locator('.topology svg').innerHTML(), /\+465/);
    });
  });

  test('the drawing can be saved', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const frame = page.locator('#net-network');
      const svg = await download(page, () => frame.getByRole('button', { name: /as SVG/ }).click());
      assert.match(svg.bytes.toString(), /^<svg[^>]*xmlns=.*spine 3/s);
      const png = await download(page, () => frame.getByRole('button', { name: /as PNG/ }).click());
      assert.equal(png.bytes.readUInt32BE(16), 1920);
      const csv = await download(page, () => frame.getByRole('button', { name: /as CSV/ }).click());
      assert.match(csv.bytes.toString(), /failure,tor 2 to spine 1,tor 2 to spine 1: down/);
    });
    await withPage(networkReport(), { hash: '#export=net-network', viewport: { width: 960, height: 600 } }, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), '1');
    });
  });
});

describe('what the reader chooses', () => {
  test('failures are seen behind time, and only there', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const words = (id) => page.locator(`[id="${id}"] .chart svg text`).allTextContents();
      assert.ok((await words('net-rate')).includes('spine 3 down'));
      assert.ok(!(await words('net-cdf')).includes('spine 3 down'));
      assert.equal(await page.locator('.spark-span').count(), 1);
    });
  });

  test('time axes begin later everywhere when asked', async () => {
    await withPage(networkReport(), {}, async (page) => {
      assert.deepEqual(await option(page, 'net-rate', 'first'), [0, 0]);
      const field = page.locator('#net-rate').getByLabel('Microseconds to ignore at the beginning');
      await field.fill('30');
      await field.press('Enter');
      assert.deepEqual(await option(page, 'net-rate', 'first'), [30, 30]);
      assert.equal(await page.locator('#net-flows').getByLabel('Microseconds to ignore at the beginning').inputValue(), '30');
      await field.fill('');
      await field.press('Enter');
      assert.deepEqual(await option(page, 'net-rate', 'first'), [0, 0]);
    });
  });

  test('axes are logarithmic when asked, and back', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const toggle = page.locator('#net-rate').getByRole('button', { name: 'Log y' });
      assert.equal(await toggle.getAttribute('aria-pressed'), 'false');
      const before = await page.locator('#net-rate .chart svg').innerHTML();
      await toggle.click();
      assert.equal(await toggle.getAttribute('aria-pressed'), 'true');
      assert.notEqual(await page.locator('#net-rate .chart svg').innerHTML(), before);
      assert.equal(await page.locator('#net-rate .axis-note').innerText(), '2 points at zero or below cannot be on a logarithmic axis.');
      await toggle.click();
      assert.equal(await page.locator('#net-rate .axis-note').isVisible(), false);
      await page.locator('#net-bars').getByRole('button', { name: 'Log y' }).click();
      await page.locator('#net-cdf').getByRole('button', { name: 'Log x' }).click();
    });
  });

  test('a run that is hidden in one figure is hidden in its section', async () => {
    await withPage(networkReport(), {}, async (page) => {
      await page.locator('#net-bars .legend').getByRole('button', { name: 'RoCEv2' }).click();
      assert.deepEqual(await option(page, 'net-cdf'), ['STrack']);
      assert.equal(await page.locator('#net-cdf .legend').getByRole('button', { name: 'RoCEv2' }).getAttribute('aria-pressed'), 'false');
    });
  });

  test('a click on a link opens it, and so do its numbers', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const frame = page.locator('#net-fabric');
      await frame.locator('canvas').first().click({ position: { x: 52 + 3, y: 10 } });
      assert.equal(await frame.locator('.opened strong').innerText(), 'ToR 0 and spine 0, up and down');
      const first = await frame.locator('.opened .chart').first().elementHandle();
      const alive = () => first.evaluate((box) => Boolean(box.getAttribute('_echarts_instance_')));
      assert.equal(await alive(), true);
      await frame.getByLabel('ToR of the link').fill('1');
      await frame.getByLabel('Spine of the link').fill('2');
      await frame.getByRole('button', { name: 'Open' }).click();
      assert.equal(await alive(), false, 'a chart that is shown no more is gone');
      assert.equal(await frame.locator('.opened strong').innerText(), 'ToR 1 and spine 2, up and down');
      assert.ok(await frame.locator('.opened .chart svg path').count() > 5);
      await frame.getByLabel('Spine of the link').fill('99');
      await frame.getByRole('button', { name: 'Open' }).click();
      assert.equal(await frame.locator('.opened strong').innerText(), 'There is no link of ToR 1 and spine 99.');
      await frame.getByRole('button', { name: 'Close' }).click();
      assert.equal(await frame.locator('.opened').isVisible(), false);
    });
  });

  test('a click on a flow opens it in the inspector', async () => {
    await withPage(networkReport(), {}, async (page) => {
      await page.evaluate(() => document.querySelector('#net-rate .chart-body').dispatchEvent(new CustomEvent('open-flow', { bubbles: true, detail: 'flow 1' })));
      assert.equal((await data(page, 'net-flows')).flow, 'flow 1, STrack');
    });
  });

  test('of single runs the chosen one is shown; a link to another shows that', async () => {
    await withPage(networkReport(), {}, async (page) => {
      const shown = () => page.locator('.choice > section:visible').evaluateAll((all) => all.map((one) => one.id));
      assert.deepEqual(await shown(), ['net-a']);
      assert.deepEqual(await data(page, 'net-b-rate'), { series: [] });
      await page.getByLabel('Single run shown').selectOption('1');
      assert.deepEqual(await shown(), ['net-b']);
      assert.equal((await data(page, 'net-b-rate')).series.length, 2);
      await page.locator('nav a[href="#net-a"]').click();
      await page.waitForFunction(() => !document.getElementById('net-a').hidden);
      assert.deepEqual(await shown(), ['net-a']);
    });
  });
});
