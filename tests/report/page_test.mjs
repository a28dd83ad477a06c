// The report page in a real browser, from disk: node --test tests/report/page_test.mjs
//
// STRACK_REPORT_PAGE names the page that build.mjs made; without it the page is built first. CHROMIUM names the browser,
// otherwise /usr/bin/chromium. STRACK_SCREENSHOTS names a folder, and then pictures are left there to be looked at.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { csvRows, data, download, kSpace, labelPlace, pixels, shoot, shots, shownCells, startBrowser, web, withFile } from './browser.mjs';
import { emptyReport, fillPage, heatReport, hostileReport, largeReport, longFlowReport, lyingReport, partialReport, richReport } from './fixtures.mjs';

let folder;
let template;
let browser;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'strack-report-'));
  let page = process.env.STRACK_REPORT_PAGE;
  if (!page) {
    page = join(folder, 'report_page.html');
    execFileSync(process.execPath, [join(web, 'build.mjs'), '--out', page], { stdio: 'pipe' });
  }
  template = readFileSync(page, 'utf8');
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

const figuresOf = (report) => report.sections.flatMap((one) => one.figures);
const figureOf = (report, id) => figuresOf(report).find((one) => one.id === id);

describe('the template', () => {
  test('has one place for the data, names no host and stays small', () => {
    assert.equal(template.split('/*REPORT_DATA*/').length, 2);
    assert.ok(template.includes('<script id="report-data" type="application/json">/*REPORT_DATA*/</script>'));
    assert.doesNotMatch(template, /<(script|link|img)[^>]+(src|href)=["']?https?:/i);
    assert.equal(template.match(/<\/script/gi).length, 2);
    assert.ok(template.length < 1_000_000, `${template.length} bytes`);
  });

  // Whatever fonts a machine has, the same names take the same room.
  test('brings its own fonts, and has them before it measures', async () => {
    await withPage(emptyReport(), {}, async (page) => {
      const fonts = await page.evaluate(() => [...document.fonts].map((font) => [font.family.replaceAll('"', ''), font.status]));
      assert.deepEqual(fonts.sort(), [['Report Mono', 'loaded'], ['Report Sans', 'loaded'], ['Report Serif', 'loaded']]);
      const widths = await page.evaluate(() => ['400 100px "Report Sans"', '600 100px "Report Sans"', '600 100px "Report Serif"', '100px "Report Mono"'].map((font) => {
        const canvas = document.createElement('canvas').getContext('2d');
        canvas.font = font;
        return Math.round(canvas.measureText('Sphinx of black quartz, 0123456789 µs').width);
      }));
      assert.deepEqual(widths, [1588, 1639, 1817, 2220]);
    });
  });
});

describe('a rich report', () => {
  const report = richReport();

  test('opens without errors and requests, and draws every figure', async () => {
    await withPage(report, {}, async (page) => {
      assert.equal(await page.title(), report.title);
      for (const figure of figuresOf(report)) {
        const frame = page.locator(`[id="${figure.id}"]`);
        assert.equal(await frame.evaluate((e) => e.tagName), 'FIGURE');
        assert.equal(await frame.locator('figcaption').innerText(), figure.caption);
        assert.equal(await frame.locator('[role=img]').first().getAttribute('aria-label'),
          figure.kind === 'flow' ? `${figure.caption} ${figure.flows[0].name}` : figure.caption);
        assert.equal(await frame.locator('.no-data:visible').count(), 0, figure.id);
        const drawn = await frame.evaluate((e) => {
          const svg = e.querySelectorAll('.chart svg path').length;
          const inked = [...e.querySelectorAll('canvas')].some((c) => {
            const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });
            copy.drawImage(c, 0, 0);
            return new Uint32Array(copy.getImageData(0, 0, c.width, c.height).data.buffer).some((word) => word !== 0);
          });
          return { svg, inked };
        });
        assert.ok(drawn.svg > 5 || drawn.inked, `${figure.id} is empty: ${JSON.stringify(drawn)}`);
        await shoot(page, `figure-${figure.id}`, `[id="${figure.id}"]`);
      }
      await shoot(page, 'light');
    });
  });

  test('hands exactly the numbers of the file to the charts', async () => {
    await withPage(report, {}, async (page) => {
      for (const figure of figuresOf(report)) {
        const held = await data(page, figure.id);
        if (figure.kind === 'xy') {
          assert.deepEqual(held.series, figure.series.map(({ name, points }) => ({ name, points })), figure.id);
        } else if (figure.kind === 'bars') {
          assert.deepEqual(held, { categories: figure.categories, series: figure.series.map(({ name, values }) => ({ name, values })) });
        } else if (figure.kind === 'fabric') {
          for (const shown of held.shown) {
            const variant = figure.variants.find((v) => v.name === shown.name);
            const bytes = Buffer.from(variant.layers.find((l) => l.id === held.layer).data, 'base64');
            const links = variant.tors * variant.spines;
            assert.deepEqual(shown.bytes, [...bytes.subarray(shown.frame * links, (shown.frame + 1) * links)]);
          }
          assert.equal(held.shown.length, figure.variants.length);
        } else {
          const { samples, events, kinds } = figure.flows[0];
          const zip = (t, y) => t.map((at, i) => [at, y[i]]);
          const of = (id) => held.series.find((one) => one.id === id)?.data;
          const pick = (kind, y, more = () => true) => events.t.flatMap((t, i) =>
            kinds[events.kind[i]] === kind && y[i] !== null && more(i) ? [[t, y[i]]] : []);
          assert.deepEqual(of('0-cwnd'), zip(samples.t, samples.cwnd));
          assert.deepEqual(of('1-RTT'), zip(samples.t, samples.rtt));
          assert.deepEqual(of('1-ECN-marked ack'), pick('ack', events.rtt, (i) => events.ecn[i] === 1));
          assert.deepEqual(of('2-throughput'), zip(samples.t, samples.gbps));
          assert.deepEqual(of('3-sent'), pick('sent', events.path));
          assert.deepEqual(of('3-resent'), pick('resent', events.path));
          assert.deepEqual(of('3-ECN-marked ack'), pick('ack', events.path, (i) => events.ecn[i] === 1));
          for (const kind of ['loss', 'timeout', 'probe']) {
            assert.deepEqual(of(`0-rule-${kind}`), events.t.flatMap((t, i) => (kinds[events.kind[i]] === kind ? [[t]] : [])));
          }
        }
      }
    });
  });

  // The SVG itself: a line passes through its points where the axes say they are.
  test('draws the points of a line at the places of their values', async () => {
    await withPage(report, {}, async (page) => {
      const figure = figureOf(report, 'P400-fct');
      const strack = figure.series[0];
      const spots = await page.locator('#P400-fct .chart svg path').evaluateAll((paths) => paths
        .filter((p) => p.getAttribute('fill') === '#0072b2' && /matrix|translate/.test(p.getAttribute('transform') ?? ''))
        .map((p) => { const box = p.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }));
      assert.equal(spots.length, strack.points.length);
      // The labels of the axes say where a value stands; a value between two of them is found by its logarithm.
      const middle = (label) => labelPlace(page, 'P400-fct', label);
      const [[left], [right]] = [await middle('4.KB'), await middle('16.MB')];
      const [[, low], [, high]] = [await middle('10.µs'), await middle('10.ms')];
      const share = (v, from, to) => Math.log(v / from) / Math.log(to / from);
      spots.forEach(([x, y], i) => {
        const [px, py] = strack.points[i];
        assert.ok(Math.abs(x - (left + share(px, 4096, 16777216) * (right - left))) < 1.5, `x of point ${i}`);
        assert.ok(Math.abs(y - (low + share(py, 10, 10000) * (high - low))) < 1.5, `y of point ${i}`);
      });
    });
  });

  test('labels message sizes and large times as people do', async () => {
    await withPage(report, {}, async (page) => {
      const texts = await page.locator('#P400-fct .chart svg text').allTextContents();
      for (const size of ['4 KB', '128 KB', '512 KB', '2 MB', '16 MB', '64 MB', '100 MB', '100 µs', '1 ms', '10 ms']) {
        assert.ok(texts.includes(size.replace(' ', kSpace)), `${size} in ${texts.join('|')}`);
      }
    });
  });

  test('shows the verdicts as words and signs, with our number beside the paper’s', async () => {
    await withPage(report, {}, async (page) => {
      const rows = await page.locator('.overview-table tbody tr').evaluateAll((all) => all.map((r) => r.innerText.replace(/\s+/g, ' ')));
      assert.equal(rows.length, report.sections.reduce((sum, one) => sum + (one.verdict ? one.checks.length : 0), 0));
      for (const word of ['P400', 'Permutation, 400 Gb/s', 'Reproduced', '6.3x', '5.7x', '5.6x to 5.9x']) assert.ok(rows[0].includes(word), rows[0]);
      assert.deepEqual(await page.locator('.overview-table .verdict').allInnerTexts(), ['Reproduced', 'Partly', 'Not reproduced', 'Reproduced', 'Open']);
      assert.equal(await page.locator('.overview-table .verdict svg').count(), 5);
      assert.deepEqual(await page.locator('.nav-group').evaluateAll((all) => all.map((e) => e.textContent)),
        ['Synthetic traffic', 'Incast', 'Collectives', 'Beyond the paper']);
      assert.ok((await page.locator('.notice-warning').innerText()).includes('the run was interrupted'));
      assert.ok((await page.locator('.notice-warning').boundingBox()).y < 600, 'a warning stands at the top');
    });
  });

  test('shows the data of a figure as a table, and says when it is cut', async () => {
    await withPage(report, {}, async (page) => {
      const cells = async (id) => {
        const shown = await shownCells(page, id);
        assert.equal(await page.locator(`#${id} button[aria-expanded]`).getAttribute('aria-expanded'), 'true');
        return shown;
      };
      const str = (v) => (v === null || v === undefined ? '' : String(v));
      const fct = figureOf(report, 'P400-fct');
      assert.deepEqual(await cells('P400-fct'), fct.series.flatMap((s) => s.points.map((p) => [s.name, ...[0, 1, 2, 3].map((k) => str(p[k]))])));
      const ar = figureOf(report, 'AR-bars');
      assert.deepEqual(await cells('AR-bars'), ar.categories.flatMap((c, i) =>
        ar.series.map((s) => [c, s.name, str(s.values[i]), str(s.low[i]), str(s.high[i])])));
      assert.equal((await cells('ISLQ-scatter')).length, 1000);
      assert.match(await page.locator('#ISLQ-scatter .table-note').innerText(), /first 1,000 of 9,000 rows/);
    });
  });

  test('saves CSV, PNG and SVG', async () => {
    await withPage(report, {}, async (page) => {
      const file = await download(page, () => page.locator('#P400-fct').getByRole('button', { name: /as CSV/ }).click());
      assert.equal(file.name, 'P400-fct.csv');
      const rows = csvRows(file.bytes.toString());
      const fct = figureOf(report, 'P400-fct');
      assert.deepEqual(rows[0], ['series', 'message size (bytes)', 'max FCT (us)', 'low', 'high']);
      assert.deepEqual(rows.slice(1), fct.series.flatMap((s) => s.points.map((p) =>
        [s.name, ...[0, 1, 2, 3].map((k) => (p[k] === undefined ? '' : String(p[k])))])));

      const heat = await download(page, () => page.locator('#ISLQ-fabric').getByRole('button', { name: /as CSV/ }).click());
      const lines = heat.bytes.toString().trimEnd().split('\n');
      const fabric = figureOf(report, 'ISLQ-fabric');
      assert.equal(lines.length - 1, fabric.variants.reduce((sum, v) => sum + v.times.length * v.tors * v.spines, 0));
      const bytes = Buffer.from(fabric.variants[0].layers[0].data, 'base64');
      assert.equal(lines[1 + 17 * 1024 + 40], `STrack,${fabric.variants[0].times[17]},1,8,${Number((bytes[17 * 1024 + 40] / 255).toPrecision(6))}`);

      for (const id of ['P400-fct', 'AR-bars', 'ISLQ-fabric', 'SIG-flow']) {
        const png = await download(page, () => page.locator(`#${id}`).getByRole('button', { name: /as PNG/ }).click());
        assert.equal(png.name, `${id}.png`);
        assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
        assert.ok(png.bytes.length > 10_000, `${id}: ${png.bytes.length} bytes`);
        if (shots) writeFileSync(join(shots, `saved-${id}.png`), png.bytes);
      }
      const svg = await download(page, () => page.locator('#P400-fct').getByRole('button', { name: /as SVG/ }).click());
      const text = svg.bytes.toString();
      assert.match(text, /^<svg/);
      for (const word of ['STrack', 'RoCEv2', fct.title]) assert.ok(text.includes(word), word);
      assert.equal(await page.locator('#SIG-flow').getByRole('button', { name: /as SVG/ }).count(), 0);
    });
  });

  test('hides and shows a series from its legend', async () => {
    await withPage(report, {}, async (page) => {
      const item = page.locator('#P400-fct .legend-item', { hasText: 'RoCEv2' });
      await item.focus();
      await page.keyboard.press('Enter');
      assert.equal(await item.getAttribute('aria-pressed'), 'false');
      assert.deepEqual((await data(page, 'P400-fct')).series.map((s) => s.name), ['STrack', 'STrack, oblivious spray', 'ideal']);
      await page.keyboard.press('Enter');
      assert.equal((await data(page, 'P400-fct')).series.length, 4);
    });
  });

  test('says in a tooltip what is under the pointer, with units', async () => {
    await withPage(report, {}, async (page) => {
      await page.locator('#P400-fct .chart').scrollIntoViewIfNeeded();
      const tick = page.locator('#P400-fct .chart svg text', { hasText: /^16.MB$/ });
      const at = await tick.boundingBox();
      await page.mouse.move(at.x + at.width / 2, at.y - 120);
      await page.waitForSelector('#P400-fct .tip');
      const text = await page.locator('#P400-fct .tip').innerText();
      const [, y, low, high] = figureOf(report, 'P400-fct').series[0].points[4];
      assert.ok(text.includes(`message size: 16${kSpace}MB`), text);
      const people = (v) => `${v >= 1000 ? Number((v / 1000).toFixed(3)) : Number(v.toFixed(1))}${kSpace}${v >= 1000 ? 'ms' : 'µs'}`;
      assert.ok(text.includes(`${people(y)} (${people(low)} to ${people(high)})`), text);
      await shoot(page, 'tooltip', '#P400-fct');
    });
  });

  test('zooms a figure by buttons and by the wheel', async () => {
    await withPage(report, {}, async (page) => {
      const before_ = await page.locator('#INT-rate .chart svg text').allTextContents();
      await page.locator('#INT-rate').getByRole('button', { name: 'Zoom in' }).click();
      await page.waitForFunction((old) => [...document.querySelectorAll('#INT-rate .chart svg text')].map((t) => t.textContent).join() !== old, before_.join());
      await page.locator('#INT-rate').getByRole('button', { name: 'Reset zoom' }).click();
      await page.waitForFunction((old) => [...document.querySelectorAll('#INT-rate .chart svg text')].map((t) => t.textContent).join() === old, before_.join());
      const box = await page.locator('#INT-rate .chart').boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.keyboard.down('Control');
      await page.mouse.wheel(0, -400);
      await page.keyboard.up('Control');
      await page.waitForFunction((old) => [...document.querySelectorAll('#INT-rate .chart svg text')].map((t) => t.textContent).join() !== old, before_.join());
    });
  });

  test('sorts and filters the runs', async () => {
    await withPage(report, {}, async (page) => {
      const column = (k) => page.locator(`#runs tbody tr td:nth-child(${k})`).allInnerTexts();
      const head = page.locator('#runs th', { hasText: 'Max' });
      await head.getByRole('button').click();
      assert.equal(await head.getAttribute('aria-sort'), 'ascending');
      const files_ = await page.locator('#runs tbody tr td.mono:nth-last-child(2)').allInnerTexts();
      const sorted = [...report.runs].sort((a, b) => (a.max_us ?? Infinity) - (b.max_us ?? Infinity)).map((r) => r.file);
      assert.deepEqual(files_, sorted);
      await head.getByRole('button').click();
      assert.equal(await head.getAttribute('aria-sort'), 'descending');
      assert.equal((await column(7))[9], 'n/a', 'what is not known comes last either way');
      await page.getByRole('searchbox').fill('rocev2');
      assert.equal((await column(1)).length, 3);
      assert.equal(await page.locator('#runs tr.partial').count(), 1);
      assert.ok((await page.locator('#runs tr.partial').innerText()).includes('interrupted, partial'));
    });
  });
});

describe('the replay', () => {
  const report = richReport();
  const figure = figureOf(report, 'ISLQ-fabric');

  test('moves with the slider, by keyboard too', async () => {
    await withPage(report, {}, async (page) => {
      const slider = page.locator('#ISLQ-fabric input[type=range]');
      await slider.fill('0');
      const first = await pixels(page, '#ISLQ-fabric canvas');
      assert.equal((await data(page, 'ISLQ-fabric')).frame, 0);
      await slider.focus();
      await page.keyboard.press('ArrowRight');
      assert.equal((await data(page, 'ISLQ-fabric')).frame, 1);
      assert.notEqual(await pixels(page, '#ISLQ-fabric canvas'), first);
      assert.match(await slider.getAttribute('aria-valuetext'), /28.µs, frame 2 of 40/);
      assert.equal((await page.locator('#ISLQ-fabric .clock').innerText()).replace(kSpace, ' '), '28 µs');
      // Both runs stand at one time, whatever their frames: STrack's are of 5 us, so 28 us is in its sixth.
      const held = await data(page, 'ISLQ-fabric');
      assert.deepEqual(held.shown.map((v) => v.frame), [5, 1]);
      await page.keyboard.press('ArrowLeft');
      assert.equal(await pixels(page, '#ISLQ-fabric canvas'), first);
      await page.keyboard.press('End');
      assert.equal((await data(page, 'ISLQ-fabric')).frame, 39);
      assert.match(await page.locator('#ISLQ-fabric .heat-panel.over').innerText(), /STrack has ended/);
    });
  });

  test('plays, pauses and stops at the end', async () => {
    await withPage(report, {}, async (page) => {
      const box = page.locator('#ISLQ-fabric');
      await box.scrollIntoViewIfNeeded();
      await box.locator('input[type=range]').fill('0');
      await box.getByRole('button', { name: 'Play', exact: true }).click();
      await page.waitForFunction(() => window.strackReport.data('ISLQ-fabric').frame > 2);
      await box.getByRole('button', { name: 'Pause' }).click();
      const at = (await data(page, 'ISLQ-fabric')).frame;
      await page.waitForTimeout(300);
      assert.equal((await data(page, 'ISLQ-fabric')).frame, at);
      await box.getByLabel('Speed of the replay').selectOption('4');
      await box.getByRole('button', { name: 'Play', exact: true }).click();
      await page.waitForFunction(() => window.strackReport.data('ISLQ-fabric').frame === 39);
      await box.getByRole('button', { name: 'Play', exact: true }).waitFor();
    });
  });

  test('switches runs, layers and colour scale, and paints each link in its colour', async () => {
    await withPage(report, {}, async (page) => {
      const box = page.locator('#ISLQ-fabric');
      await box.getByRole('radio', { name: 'STrack' }).check();
      let held = await data(page, 'ISLQ-fabric');
      assert.deepEqual(held.shown.map((v) => v.name), ['STrack']);
      const use = await pixels(page, '#ISLQ-fabric canvas');
      await box.getByLabel('Layer').selectOption('up-queue');
      held = await data(page, 'ISLQ-fabric');
      assert.deepEqual([held.layer, held.shown[0].max, held.shown[0].full], ['up-queue', 9.5, 250]);
      const common = await pixels(page, '#ISLQ-fabric canvas');
      assert.notEqual(common, use);
      await box.getByLabel('Own colour scale').check();
      held = await data(page, 'ISLQ-fabric');
      assert.equal(held.shown[0].full, 9.5);
      assert.notEqual(await pixels(page, '#ISLQ-fabric canvas'), common);
      await shoot(page, 'fabric-queue', '#ISLQ-fabric');

      // Darker means more: the order of the links by lightness is the order by value.
      await box.getByRole('radio', { name: 'RoCEv2' }).check();
      held = await data(page, 'ISLQ-fabric');
      const [run] = held.shown;
      const light = await page.evaluate(({ tors, spines }) => {
        const canvas = document.querySelector('#ISLQ-fabric canvas');
        const ratio = canvas.width / canvas.clientWidth;
        const to = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
        to.drawImage(canvas, 0, 0);
        const cellW = (canvas.clientWidth - 62) / spines;
        const cellH = (canvas.clientHeight - 46) / tors;
        const out = [];
        for (let t = 0; t < tors; ++t) {
          for (let s = 0; s < spines; ++s) {
            const [r, g, b] = to.getImageData((52 + (s + 0.5) * cellW) * ratio, (6 + (t + 0.5) * cellH) * ratio, 1, 1).data;
            out.push(0.3 * r + 0.6 * g + 0.1 * b);
          }
        }
        return out;
      }, run);
      const down = new Set(figure.variants[1].down.map(([t, s]) => t * run.spines + s));
      const pairs = run.bytes.map((byte, i) => [byte, light[i]]).filter((_, i) => !down.has(i)).sort((a, b) => a[0] - b[0]);
      for (let i = 1; i < pairs.length; ++i) {
        if (pairs[i][0] > pairs[i - 1][0] + 2) assert.ok(pairs[i][1] < pairs[i - 1][1] + 1, `${pairs[i - 1]} then ${pairs[i]}`);
      }
      // A layer that a run lacks is not drawn for it.
      await box.getByRole('radio', { name: 'Side by side' }).check();
      await box.getByLabel('Layer').selectOption('down-use');
      assert.deepEqual((await data(page, 'ISLQ-fabric')).shown.map((v) => v.name), ['STrack']);
    });
  });

  test('names the link under the pointer', async () => {
    await withPage(report, {}, async (page) => {
      const canvas = page.locator('#ISLQ-fabric canvas').first();
      await canvas.scrollIntoViewIfNeeded();
      const size = await canvas.boundingBox();
      const cellW = (size.width - 62) / 32;
      const cellH = (size.height - 46) / 32;
      const point = (tor, spine) => ({ position: { x: 52 + (spine + 0.5) * cellW, y: 6 + (tor + 0.5) * cellH } });
      await canvas.hover(point(10, 20));
      const held = (await data(page, 'ISLQ-fabric')).shown[0];
      const share = Number(((held.bytes[10 * 32 + 20] / 255) * 100).toFixed(1));
      const text = await page.locator('#ISLQ-fabric .heat-tip').innerText();
      assert.ok(text.includes('ToR 10, spine 20') && text.includes(`${share}${kSpace}%`), text);
      await canvas.hover(point(3, 4));
      assert.match(await page.locator('#ISLQ-fabric .heat-tip').innerText(), /link down/);
    });
  });

  test('shows each of 80 frames of 128 x 64 links', async () => {
    await withPage(largeReport(), {}, async (page) => {
      const frames = await page.evaluate(() => {
        const slider = document.querySelector('#big-fabric input[type=range]');
        const seen = new Set();
        for (let i = 0; i < 80; ++i) {
          slider.value = String(i);
          slider.dispatchEvent(new Event('input'));
          seen.add(window.strackReport.data('big-fabric').frame);
        }
        return seen.size;
      });
      assert.equal(frames, 80);
      await shoot(page, 'large');
    });
  });
});

describe('the inspector', () => {
  const report = richReport();

  test('changes flows, counts what is shown and shares its zoom', async () => {
    await withPage(report, {}, async (page) => {
      const box = page.locator('#SIG-flow');
      const { events, kinds } = figureOf(report, 'SIG-flow').flows[0];
      const count = (kind, from = -1, to = Infinity) => events.kind.filter((k, i) => kinds[k] === kind && events.t[i] >= from && events.t[i] <= to).length;
      const stats = () => box.locator('.flow-stats').innerText();
      assert.match(await stats(), /Counted from the events shown/);
      assert.ok((await stats()).includes(`${count('sent').toLocaleString('en-US')} packets sent, ${count('resent')} resent`), await stats());
      const whole = await pixels(page, '#SIG-flow canvas');
      await box.getByRole('button', { name: 'Zoom in' }).click();
      const held = await data(page, 'SIG-flow');
      assert.deepEqual(held.zoom, { start: 25, end: 75 });
      const end = Math.max(...events.t);
      assert.ok((await stats()).includes(`${count('sent', end / 4, (end * 3) / 4)} packets sent`), await stats());
      assert.notEqual(await pixels(page, '#SIG-flow canvas'), whole);
      await box.getByRole('button', { name: 'Move right' }).click();
      assert.deepEqual((await data(page, 'SIG-flow')).zoom, { start: 45, end: 95 });
      await shoot(page, 'flow-zoomed', '#SIG-flow');

      await box.getByLabel('Flow shown').selectOption('1');
      const roce = figureOf(report, 'SIG-flow').flows[1];
      const other = await data(page, 'SIG-flow');
      assert.equal(other.flow, roce.name);
      assert.deepEqual(other.zoom, { start: 0, end: 100 });
      assert.deepEqual(other.series.find((s) => s.name === 'rate').data, roce.samples.t.map((t, i) => [t, roce.samples.rate[i]]));
      assert.match(await stats(), /No events of this flow/);
      await shoot(page, 'flow-roce', '#SIG-flow');

      await box.getByLabel('Flow shown').selectOption('2');
      assert.ok(await box.getByText('The recording of this flow was cut').isVisible());
    });
  });

  test('says in a tooltip what happened at a time', async () => {
    await withPage(report, {}, async (page) => {
      const chart = page.locator('#SIG-flow .chart');
      await chart.scrollIntoViewIfNeeded();
      await chart.hover({ position: { x: 300, y: 80 } });
      await page.waitForSelector('#SIG-flow .tip');
      const text = await page.locator('#SIG-flow .tip').innerText();
      for (const word of ['time:', 'cwnd', 'KB', 'RTT', 'µs', 'throughput', 'Gb/s']) assert.ok(text.includes(word), text);
      await shoot(page, 'flow-tooltip', '#SIG-flow');
    });
  });

  test('gives all samples and events as CSV in the order of time', async () => {
    await withPage(report, {}, async (page) => {
      const file = await download(page, () => page.locator('#SIG-flow').getByRole('button', { name: /as CSV/ }).click());
      const rows = csvRows(file.bytes.toString());
      const flow = figureOf(report, 'SIG-flow').flows[0];
      assert.equal(rows.length - 1, flow.samples.t.length + flow.events.t.length);
      assert.deepEqual(rows[0].slice(0, 2), ['t (us)', 'what']);
      const times = rows.slice(1).map((r) => Number(r[0]));
      assert.deepEqual(times, [...times].sort((a, b) => a - b));
      assert.equal(rows.filter((r) => r[1] === 'loss').length, 3);
    });
  });
});

describe('many points', () => {
  const report = longFlowReport();

  /// Of the columns of a chart's canvas where a colour like this stands: the leftmost and the rightmost, in shares of its width.
  const reach = (page, id) => page.evaluate((figure) => {
    const canvases = document.querySelectorAll(`#${figure} canvas`);
    const [first] = canvases;
    const copy = new OffscreenCanvas(first.width, first.height).getContext('2d', { willReadFrequently: true });
    for (const canvas of canvases) copy.drawImage(canvas, 0, 0);
    // The lowest third: of the inspector that is within the panel of paths.
    const top = Math.floor(first.height * 0.68);
    const { data: rgba } = copy.getImageData(0, top, first.width, Math.floor(first.height * 0.2));
    let [left, right] = [Infinity, -Infinity];
    for (let i = 0; i < rgba.length; i += 4) {
      const blue = rgba[i + 3] > 60 && rgba[i + 2] > rgba[i] + 60;
      if (!blue) continue;
      const x = (i / 4) % first.width;
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
    return [left / first.width, right / first.width];
  }, id);

  // ECharts would draw 400 in each animation frame: a picture taken at once would show a flow that ends early.
  for (const id of ['long-flow', 'long-points']) {
    test(`${id} is whole as soon as it says that it is drawn`, async () => {
      await withPage(report, { hash: `#export=${id}`, viewport: { width: 960, height: 600 } }, async (page) => {
        const [left, right] = await reach(page, id);
        assert.ok(left < 0.12 && right > 0.85, `from ${left} to ${right}`);
        const now = await pixels(page, `#${id} canvas`);
        await page.waitForTimeout(1000);
        assert.equal(await pixels(page, `#${id} canvas`), now, 'nothing is added later');
        await shoot(page, `export-${id}`);
      });
    });
  }

  test('events of every kind are drawn, listed and counted', async () => {
    await withPage(report, {}, async (page) => {
      const { events, kinds } = figureOf(report, 'long-flow').flows[0];
      const held = await data(page, 'long-flow');
      const of = (id) => held.series.find((one) => one.id === id)?.data;
      for (const kind of ['loss', 'timeout', 'probe', 'probe answer', 'nak', 'cnp', 'eclipse']) {
        const times = events.t.flatMap((t, i) => (kinds[events.kind[i]] === kind ? [[t]] : []));
        assert.deepEqual(of(`0-rule-${kind}`), times, kind);
        assert.equal(await page.locator('#long-flow .legend-item', { hasText: new RegExp(`^${kind}$`) }).count(), 1, kind);
      }
      assert.deepEqual(of('3-resent'), [[100, 7]]);
      assert.match(await page.locator('#long-flow .flow-stats').innerText(),
        /9,000 packets sent, 1 resent, 3,000 acks of which 10.% marked, 64 paths used, 2 losses, 1 timeout, 1 probe, 1 probe answer, 1 NAK, 300 CNPs, 1 eclipse\./);
      const hidden = await pixels(page, '#long-flow canvas');
      await page.locator('#long-flow .legend-item', { hasText: /^cnp$/ }).click();
      assert.notEqual(await pixels(page, '#long-flow canvas'), hidden, 'the ticks of 300 CNPs were drawn');
      await shoot(page, 'long-flow', '#long-flow');
    });
  });
});

describe('a heat map', () => {
  const report = heatReport();
  const figure = figureOf(report, 'heat');
  const fill = (page, text) => page.locator('#heat .heat-cell', { hasText: text }).first().locator('rect').getAttribute('fill');

  test('has a cell for every row and column, the larger the darker', async () => {
    await withPage(report, { viewport: { width: 1440, height: 900 } }, async (page) => {
      assert.deepEqual((await data(page, 'heat')).cells, figure.cells);
      assert.equal(await page.locator('#heat .heat-cell').count(), 14 * 20);
      const light = async (text) => Math.max(...(await fill(page, text)).match(/\d+/g).slice(1).map(Number));
      assert.ok(await light('1.00') > await light('2.50') && await light('2.50') > await light('9.75'), 'three steps');
      assert.match(await fill(page, '>590'), /^url\(/, 'hatched: there is no value');
      const said = await page.locator('#heat .heat-cell title', { hasText: 'flows left' }).textContent();
      assert.equal(said, 'transport 13, case number 4: time limit; 3 of 128 flows left');
      const seen = await page.locator('#heat .heat-scroll').evaluate((e) => e.scrollWidth <= e.clientWidth + 1);
      assert.ok(seen, 'all of it is seen at once');
      await shoot(page, 'heat', '#heat');
    });
  });

  test('scrolls on a narrow screen beside its names, and makes pictures', async () => {
    await withPage(report, { viewport: { width: 390, height: 844 } }, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390));
      assert.ok(await page.locator('#heat .heat-scroll').evaluate((e) => e.scrollWidth > e.clientWidth));
      await shoot(page, 'narrow-heat', '#heat');
      const png = await download(page, () => page.locator('#heat').getByRole('button', { name: /as PNG/ }).click());
      assert.equal(png.bytes.readUInt32BE(16), 1920);
    });
    const height = 300 + 26 * 14;
    await withPage(report, { hash: '#export=heat', viewport: { width: 960, height } }, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), '1');
      assert.ok(await page.evaluate((h) => document.querySelector('figcaption').getBoundingClientRect().bottom <= h, height));
      await shoot(page, 'export-heat');
    });
  });
});

describe('bars that lie', () => {
  const report = lyingReport();
  const figure = figureOf(report, 'overview');
  const texts = (page) => page.locator('#overview .chart svg text').evaluateAll((all) => all.map((e) => {
    const box = e.getBoundingClientRect();
    return { text: e.textContent, x: box.x, right: box.right, y: box.y + box.height / 2 };
  }));

  test('have whole names, numbers at their ends, and 34 pixels each', async () => {
    await withPage(report, {}, async (page) => {
      assert.deepEqual(await data(page, 'overview'), { categories: figure.categories, series: figure.series.map(({ name, values }) => ({ name, values })) });
      const all = await texts(page);
      const said = all.map((one) => one.text);
      for (const name of ['4:1 oversubscribed', 'Incast', 'statement 18']) assert.ok(said.includes(name), name);
      assert.ok(said.some((text) => text.endsWith('…')), 'the longest name is cut');
      assert.equal(said.filter((text) => /^[\d.]+x$/.test(text)).length >= 2 * 18, true);
      const chart = await page.locator('#overview .chart').boundingBox();
      for (const one of all) assert.ok(one.x >= chart.x - 1 && one.right <= chart.x + chart.width + 1, `${one.text} is cut off`);
      const place = (text) => all.find((one) => one.text === text).y;
      assert.ok(Math.abs(place('statement 18') - place('statement 8') - 340) < 8, 'ten names further down');
      assert.ok(place('4:1 oversubscribed') < place('Incast'), 'from top to bottom');
      await shoot(page, 'lying', '#overview');
      await page.locator('#overview .chart').hover({ position: { x: chart.width * 0.6, y: 26 + 34 * 4.5 } });
      await page.waitForSelector('#overview .tip');
      assert.ok((await page.locator('#overview .tip').innerText()).includes(figure.categories[4]), 'the whole name');
    });
  });

  test('end where their values are', async () => {
    await withPage(report, {}, async (page) => {
      const [zero] = await labelPlace(page, 'overview', '0x');
      const [six] = await labelPlace(page, 'overview', '6x');
      const bars = (fill) => page.locator(`#overview .chart svg path[fill="${fill}"]`).evaluateAll((all) => all.map((e) => {
        const box = e.getBoundingClientRect();
        return { left: box.x, right: box.right, y: box.y, height: box.height };
      }));
      const ours = await bars('#0072b2');
      const paper = await bars('#b4bec6');
      assert.equal(ours.length, 18);
      assert.equal(paper.length, 18);
      figure.series[1].values.forEach((v, i) => {
        assert.ok(Math.abs(ours[i].right - (zero + ((six - zero) * v) / 6)) < 1.5, `bar ${i}`);
        assert.ok(paper[i].y < ours[i].y && ours[i].y < paper[i].y + 16, 'the paper stands above ours');
      });
    });
  });

  test('make a picture as high as they need', async () => {
    const height = 200 + 34 * 18;
    await withPage(report, { hash: '#export=overview', viewport: { width: 960, height } }, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), '1');
      assert.deepEqual(await page.locator('figure').boundingBox(), { x: 0, y: 0, width: 960, height });
      assert.ok(await page.evaluate((h) => document.querySelector('figcaption').getBoundingClientRect().bottom <= h, height));
      const all = await texts(page);
      assert.ok(all.some((one) => one.text === 'times as fast' && one.y < height - 30), 'the axis is in the picture');
      await shoot(page, 'export-lying');
    });
  });

  test('fit a narrow screen, and a saved picture', async () => {
    await withPage(report, { viewport: { width: 390, height: 844 } }, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390));
      await shoot(page, 'narrow-lying', '#overview');
      const png = await download(page, () => page.locator('#overview').getByRole('button', { name: /as PNG/ }).click());
      assert.deepEqual([png.bytes.readUInt32BE(16), png.bytes.readUInt32BE(20)], [1920, 2 * (130 + 34 * 18)]);
      if (shots) writeFileSync(join(shots, 'saved-lying.png'), png.bytes);
    });
  });
});

describe('names of standing bars', () => {
  test('are broken into lines that keep them apart', async () => {
    const report = richReport();
    const bars = figureOf(report, 'MOT-bars');
    bars.categories = ['allreduce-ring', 'allreduce-dbt', 'allreduce-hd', 'a name of several words'];
    await withPage(report, { viewport: { width: 390, height: 844 } }, async (page) => {
      const texts = await page.locator('#MOT-bars .chart svg text').evaluateAll((all) => all.map((e) => e.textContent));
      for (const word of ['ring', 'dbt', 'hd', 'sever']) assert.ok(texts.some((text) => text.includes(word)), `${word} in ${texts.join('|')}`);
      await shoot(page, 'narrow-bars', '#MOT-bars');
    });
  });
});

describe('how it looks', () => {
  const report = richReport();
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  test('follows the system into the dark, and the toggle', async () => {
    await withPage(report, { colorScheme: 'dark' }, async (page) => {
      const dark = await ground(page);
      assert.equal(dark, 'rgb(15, 19, 23)');
      assert.ok(await page.locator('#P400-fct .chart svg [stroke="#4fb0ee"]').count() > 0, 'lines are light on dark ground');
      const heat = await pixels(page, '#ISLQ-fabric canvas');
      await shoot(page, 'dark');
      await shoot(page, 'dark-fct', '#P400-fct');
      await shoot(page, 'dark-flow', '#SIG-flow');
      await page.getByRole('button', { name: 'Light colours' }).click();
      assert.notEqual(await ground(page), dark);
      assert.ok(await page.locator('#P400-fct .chart svg [stroke="#0072b2"]').count() > 0);
      assert.notEqual(await pixels(page, '#ISLQ-fabric canvas'), heat);
      await page.getByRole('button', { name: 'Dark colours' }).click();
      assert.equal(await ground(page), dark);
    });
  });

  test('prints light, without controls, as wide as the paper', async () => {
    await withPage(report, { colorScheme: 'dark', viewport: { width: 680, height: 900 } }, async (page) => {
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      await page.waitForFunction(() => document.querySelector('#P400-fct .chart svg [stroke="#0072b2"]'));
      assert.equal(await ground(page), 'rgb(255, 255, 255)');
      for (const selector of ['.side', '.toolbar', '.theme-toggle', '.time-slider', '.play', '.filter']) {
        assert.equal(await page.locator(`${selector}:visible`).count(), 0, selector);
      }
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 680), 'nothing leaves the page');
      assert.equal(await page.locator('#P400-fct').evaluate((e) => getComputedStyle(e).breakInside), 'avoid');
      await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
      await page.waitForFunction(() => document.querySelector('#P400-fct .chart svg [stroke="#4fb0ee"]'));
      const pdf = await page.pdf({ format: 'A4' });
      assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'the screen is as it was');
    });
  });

  test('folds the contents away on a narrow screen', async () => {
    await withPage(report, { viewport: { width: 390, height: 844 } }, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), 'no sideways scrolling');
      const link = page.locator('.side a', { hasText: 'Ablations' });
      assert.equal(await link.isVisible(), false);
      const toggle = page.getByRole('button', { name: 'Contents' });
      await toggle.click();
      assert.equal(await toggle.getAttribute('aria-expanded'), 'true');
      await shoot(page, 'narrow-contents');
      await link.click();
      assert.equal(await link.isVisible(), false);
      assert.match(page.url(), /#ABL$/);
      await shoot(page, 'narrow-flow', '#SIG-flow');
      await shoot(page, 'narrow-fct', '#P400-fct');
    });
  });

  test('draws again when the window changes', async () => {
    await withPage(report, {}, async (page) => {
      const width = () => page.locator('#P400-fct .chart svg').evaluate((e) => e.getBoundingClientRect().width);
      const wide = await width();
      await page.setViewportSize({ width: 700, height: 900 });
      await page.waitForFunction((old) => document.querySelector('#P400-fct .chart svg').getBoundingClientRect().width < old - 100, wide);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 700));
    });
  });
});

describe('export', () => {
  const report = richReport();

  for (const id of ['P400-fct', 'AR-bars', 'ISLQ-fabric', 'SIG-flow']) {
    test(`shows ${id} alone`, async () => {
      await withPage(report, { hash: `#export=${id}`, viewport: { width: 960, height: 600 }, colorScheme: 'dark' }, async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), '1');
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
        assert.equal(await page.locator('figure').count(), 1);
        assert.deepEqual(await page.locator('figure').boundingBox(), { x: 0, y: 0, width: 960, height: 600 });
        assert.ok(await page.evaluate(() => document.querySelector('figcaption').getBoundingClientRect().bottom <= 600));
        assert.equal(await page.locator('.toolbar:visible, .play:visible, input:visible').count(), 0);
        await shoot(page, `export-${id}`);
      });
    });
  }

  test('says which figures there are when it is none of them', async () => {
    await withPage(report, { hash: '#export=nothing' }, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), 'error');
      assert.equal(await page.evaluate(() => document.documentElement.dataset.error), 'the report has no figure "nothing"');
      assert.match(await page.locator('main').innerText(), /no figure "nothing"[\s\S]*P400-fct/);
    });
  });
});

describe('an exported figure that cannot be read', () => {
  test('is an error, not a picture', async () => {
    await withPage(partialReport(), { hash: '#export=p-short' }, async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.ready), 'error');
      assert.match(await page.evaluate(() => document.documentElement.dataset.error), /holds 2 values/);
    });
  });
});

describe('what can be wrong with a report', () => {
  test('partial data: the notice is there, and empty figures say so', async () => {
    const report = partialReport();
    await withPage(report, {}, async (page) => {
      assert.match(await page.locator('.notice-warning').innerText(), /3 of 64 flows finished/);
      for (const id of ['p-xy', 'p-null', 'p-bars', 'p-fabric', 'p-flow', 'p-none']) {
        assert.equal(await page.locator(`#${id} .no-data`).innerText(), 'No data in this result file.', id);
      }
      assert.match(await page.locator('#p-short .no-data').innerText(), /holds 2 values; 1 frames of 2 x 2 links need 4/);
      assert.match(await page.locator('#p-new .no-data').innerText(), /does not know figures of the kind "hologram"/);
      assert.deepEqual((await data(page, 'p-one')).series, [{ name: 'STrack', points: [[4096, 9.1]] }]);
      assert.equal(await page.locator('.overview').count(), 0, 'no claims, no verdicts');
      await shoot(page, 'partial');
    });
  });

  test('an empty report opens', async () => {
    await withPage(emptyReport(), {}, async (page) => {
      assert.match(await page.locator('main').innerText(), /no sections and no runs/);
    });
  });

  test('zeros on a logarithmic axis are named', async () => {
    await withPage(richReport(), {}, async (page) => {
      assert.match(await page.locator('#LOG-zero .figure-notice').innerText(), /2 points at zero or below/);
    });
  });

  test('hostile names stay text', async () => {
    const report = hostileReport();
    await withPage(report, {}, async (page) => {
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator('img').count(), 0);
      assert.equal(await page.title(), report.title);
      await page.locator('#P400-fct .chart').hover({ position: { x: 400, y: 100 } });
      await page.waitForSelector('#P400-fct .tip');
      await page.locator('#AR-bars .chart').hover({ position: { x: 200, y: 200 } });
      await page.locator('#SIG-flow .chart').hover({ position: { x: 300, y: 80 } });
      await page.locator('#ISLQ-fabric canvas').first().hover({ position: { x: 100, y: 100 } });
      await page.locator('button[aria-controls$="-data"]').evaluateAll((all) => all.forEach((b) => b.click()));
      const svg = await download(page, () => page.locator('#P400-fct').getByRole('button', { name: /as SVG/ }).click());
      assert.ok(!svg.bytes.toString().includes('<img'));
      const file = await download(page, () => page.locator('#P400-fct').getByRole('button', { name: /as CSV/ }).click());
      assert.equal(csvRows(file.bytes.toString())[1][0], report.sections[0].figures[0].series[0].name);
      assert.equal(await page.locator('img').count(), 0);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      await shoot(page, 'hostile');
    });
  });

  for (const [name, text, says] of [
    ['JSON that was cut off', '{"format": 1, "title": "x", "sections": [', /cannot be read[\s\S]*not valid JSON/],
    ['text that is no object', '42', /cannot be read[\s\S]*which format/],
    ['a newer format', '{"format": 2, "title": "x"}', /newer version of STrack[\s\S]*format 2[\s\S]*knows format 1/],
    ['the empty template', '/*REPORT_DATA*/', /holds no data/],
  ]) {
    test(`${name} gets a message`, async () => {
      await withPage(text, {}, async (page) => {
        assert.match(await page.locator('main[role=alert]').innerText(), says);
      });
    });
  }

  test('a link with a broken escape still opens the page', async () => {
    await withPage(emptyReport(), { hash: '#%E0%A4%A' }, async (page) => {
      assert.equal(await page.locator('h1').innerText(), 'Nothing');
    });
  });
});

describe('for everyone', () => {
  const report = richReport();

  test('every control has a name, headings are in order, ids are unique', async () => {
    await withPage(report, {}, async (page) => {
      await page.locator('button[aria-controls$="-data"]').evaluateAll((all) => all.forEach((b) => b.click()));
      const faults = await page.evaluate(() => {
        const out = [];
        for (const e of document.querySelectorAll('button, input, select, a[href]')) {
          const labels = e.labels ? [...e.labels].map((l) => l.textContent).join('') : '';
          const name = e.getAttribute('aria-label') || labels || e.textContent;
          if (!name.trim()) out.push(`no name: ${e.outerHTML.slice(0, 120)}`);
        }
        let last = 0;
        for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
          const level = Number(e.tagName[1]);
          if (level > last + 1) out.push(`h${last} is followed by h${level}: ${e.textContent}`);
          last = level;
        }
        if (document.querySelectorAll('h1').length !== 1) out.push('not one h1');
        const ids = [...document.querySelectorAll('[id]')].map((e) => e.id).filter((id) => !/^zr/.test(id));
        for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) out.push(`id twice: ${id}`);
        for (const e of document.querySelectorAll('[aria-labelledby], [aria-controls]')) {
          for (const id of [e.getAttribute('aria-labelledby'), e.getAttribute('aria-controls')]) {
            if (id && !document.getElementById(id)) out.push(`names a missing element: ${id}`);
          }
        }
        for (const e of document.querySelectorAll('figure')) {
          if (!e.querySelector('figcaption')) out.push(`no figcaption: ${e.id}`);
        }
        for (const e of document.querySelectorAll('table')) {
          if (!e.querySelector('th[scope]')) out.push('a table without heads');
        }
        if (document.documentElement.lang !== 'en') out.push('no language');
        return out;
      });
      assert.deepEqual(faults, []);
    });
  });

  test('text stands out from its ground, in light and dark', async () => {
    for (const colorScheme of ['light', 'dark']) {
      await withPage(report, { colorScheme }, async (page) => {
        const weak = await page.evaluate(() => {
          const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const groundOf = (e) => {
            for (let at = e; at; at = at.parentElement) {
              const color = rgb(getComputedStyle(at).backgroundColor);
              if (color.length === 3 || color[3] === 1) return color;
            }
            return [255, 255, 255];
          };
          const out = [];
          for (const e of document.querySelectorAll('p, td, th, h1, h2, h3, figcaption, button, .verdict span, a, code, .tip, label, legend, option, .spark-head span, .clock')) {
            if (!e.textContent.trim() || e.classList.contains('sr') || e.classList.contains('skip') || e.closest('[hidden]')) continue;
            const [a, b] = [light(rgb(getComputedStyle(e).color)), light(groundOf(e))].sort((x, y) => y - x);
            const contrast = (a + 0.05) / (b + 0.05);
            if (contrast < 4.5) out.push(`${contrast.toFixed(2)}: ${e.tagName} ${e.className} ${e.textContent.slice(0, 40)}`);
          }
          return out;
        });
        assert.deepEqual(weak, [], colorScheme);
      });
    }
  });

  test('the keyboard reaches everything, and the focus is seen', async () => {
    await withPage(report, {}, async (page) => {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
      assert.ok((await page.locator('.skip').boundingBox()).y >= 0, 'the skip link appears');
      const reached = new Set();
      const total = await page.evaluate(() => {
        let n = 0;
        for (const e of document.querySelectorAll('button, input, select, a[href], [tabindex="0"]')) {
          if (e.offsetParent === null || e.tabIndex < 0) continue;
          // Of a group of radio buttons one is reached by Tab, the others by arrows.
          if (e.type === 'radio' && !e.checked) continue;
          e.dataset.stop = String(n++);
        }
        return n;
      });
      for (let i = 0; i < total + 5; ++i) {
        const stop = await page.evaluate(() => {
          const e = document.activeElement;
          if (!e?.dataset?.stop) return null;
          // A radio button is hidden behind its label, which shows the focus in its place.
          const seen = e.type === 'radio' ? e.nextElementSibling : e;
          return { stop: e.dataset.stop, outline: getComputedStyle(seen).outlineStyle };
        });
        if (stop) {
          reached.add(stop.stop);
          assert.notEqual(stop.outline, 'none', `focus of ${stop.stop}`);
        }
        await page.keyboard.press('Tab');
      }
      const missed = await page.evaluate((seen) => [...document.querySelectorAll('[data-stop]')]
        .filter((e) => !seen.includes(e.dataset.stop)).map((e) => e.outerHTML.slice(0, 100)), [...reached]);
      assert.deepEqual(missed, []);
    });
  });

  test('a link to a section opens there', async () => {
    await withPage(report, { hash: '#AR' }, async (page) => {
      await page.waitForFunction(() => Math.abs(document.getElementById('AR').getBoundingClientRect().top) < 60);
      await page.waitForFunction(() => document.querySelector('.side [aria-current]')?.dataset.for === 'AR');
    });
  });
});
